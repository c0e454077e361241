#!/usr/bin/env bash
# What the tree looks like: formatted, free of shellcheck's complaints, short files, nothing tracked that is generated.
. "$(dirname "$0")/../lib.sh"

# clang-format's output changes from version to version; the tree follows 14's (Debian 12).
version=$(clang-format --version 2>/dev/null | grep -oE '[0-9]+\.' | head -n 1)
case $version in
14.) check "clang-format has nothing to change (make format)" make -s lint-c ;;
'') skip "clang-format" "it is not installed" ;;
*) skip "clang-format" "this is version ${version%.}, the tree is formatted by version 14" ;;
esac

if command -v shellcheck >/dev/null; then
    check "shellcheck has nothing to say" make -s lint-shell
else
    skip "shellcheck" "it is not installed"
fi

# tree: the project's files, tracked or about to be; outside git all of them.
if git rev-parse --git-dir >/dev/null 2>&1; then
    tree() { git ls-files --cached --others --exclude-standard | while read -r file; do [ ! -f "$file" ] || echo "$file"; done; }
    generated=$(git ls-files | grep -E '^(build[^/]*/|libras_mpi$)|\.(o|a|d|h5|h5\..*|out|log|pyc)$')
    check "no generated file is tracked" test -z "$generated"
    outputs=(libras_mpi build/x build-asan/x results/libras_1.h5 results/libras_1.h5.ckpt slurm-libras-1.out jobs/site.sh)
    check "outputs are ignored" test "$(git check-ignore "${outputs[@]}" | wc -l)" = ${#outputs[@]}
else
    tree() { find . -type f | sed 's|^\./||'; }
    skip "generated files" "this is no git checkout"
fi

check "the list of files is not empty" test "$(tree | wc -l)" -gt 20
too_long=$(tree | grep -E '\.(c|h|cpp|cu|cuh|sh|py|slurm)$|Makefile$' | xargs -d '\n' wc -l | awk '$1 > 600 && $2 != "total"')
check "no file is over 600 lines${too_long:+: $too_long}" test -z "$too_long"
too_big=$(tree | xargs -d '\n' -I{} find {} -size +1024k)
check "no file is over 1 MiB${too_big:+: $too_big}" test -z "$too_big"
not_text=$(tree | grep -E '\.(c|h|cpp|cu|cuh|sh|py|slurm|md|cff|1)$|Makefile$' | xargs -d '\n' grep -lE $'\r|[ \t]+$')
check "no trailing blanks${not_text:+: $not_text}" test -z "$not_text"
not_runnable=$(tree | grep -E '^tests/[^/]+/test_[^/]*\.(sh|py)$' | while read -r file; do [ -x "$file" ] || echo "$file"; done)
check "tests can be executed${not_runnable:+: $not_runnable}" test -z "$not_runnable"

finish
