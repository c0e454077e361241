#!/usr/bin/env bash
# The seeds of the fuzz targets and all that fuzzing has ever found, once through every target (make fuzz looks for more).
. "$(dirname "$0")/../lib.sh"
[ -x "$LIBRAS_BUILD/tests/make_results" ] || skip_all "the unit tests are not built"
export LSAN_OPTIONS=suppressions=$LIBRAS_ROOT/tests/fuzz/leaks.txt:print_suppressions=0
check "the seeds are made" tests/fuzz/corpus.sh "$LIBRAS_BUILD" "$scratch/corpus"
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c) && name=${name#fuzz_}
    files=("$scratch/corpus/$name"/*)
    check "$name: there are seeds" test -e "${files[0]}"
    good=("$scratch/corpus/$name"/good-*)
    [ ! -e "${good[0]}" ] ||
        check "$name: ${#good[@]} good inputs are accepted" env FUZZ_GOOD=1 "$LIBRAS_BUILD/fuzz/fuzz_$name" "${good[@]}"
    check "$name: ${#files[@]} inputs keep every promise" "$LIBRAS_BUILD/fuzz/fuzz_$name" "${files[@]}"
done
finish
