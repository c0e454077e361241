#!/usr/bin/env bash
# can_fuzz.sh [CLANG]: ends 0 if that compiler can link a libFuzzer program.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n); int LLVMFuzzerTestOneInput(const unsigned char *d,
    unsigned long n) { (void)d; (void)n; return 0; }' >"$folder/a.c"
"${1:-clang}" -fsanitize=fuzzer,address "$folder/a.c" -o "$folder/a" 2>/dev/null
