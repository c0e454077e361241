#!/usr/bin/env bash
# tests/README.md is true: each test and program it names is there and can be run, and no case of the list is missing.
. "$(dirname "$0")/../lib.sh"
page=tests/README.md
# named: the files of tests/ that a page names.
# shellcheck disable=SC2016 # no command: the page's own quotes
named() { grep -oE '`tests/[^` ]+`' "$1" | tr -d '`' | sort -u; }
# missing PAGE: those that are not there, or are scripts that nobody can start.
missing() {
    local file
    named "$1" | while read -r file; do
        if [ ! -e "$file" ]; then
            [[ $file == */NAME* || $file == *fuzz_NAME* || $file == */seeds/* || $file == */found/* ]] || echo "$file"
        elif [[ $file == */test_*.sh || $file == */test_*.py ]] && [ ! -x "$file" ]; then
            echo "$file"
        fi
    done
}
check "it names tests" test "$(named $page | wc -l)" -gt 20
gone=$(missing $page)
check "all of them exist${gone:+: not $gone}" test -z "$gone"
echo "| X-1 | a fault | \`tests/unit/test_of_nothing.c\` |" >"$scratch/page"
check "one that did not would be found" test "$(missing "$scratch/page")" = tests/unit/test_of_nothing.c
without=$(grep -E '^\| [A-Z]+[0-9]*-[0-9]+[a-z]? ' $page | grep -vE '`tests/' | cut -d'|' -f2)
check "each case has a test${without:+: not $without}" test -z "$without"
if [ -e ../shared/field-reports.md ]; then
    absent=
    while read -r case; do
        grep -q "^| $case |" $page || absent="$absent $case"
    done < <(grep -oE '^### [A-Z0-9]+-[0-9]+[a-z]?' ../shared/field-reports.md | cut -c 5-)
    check "no case is missing${absent:+:$absent}" test -z "$absent"
else
    skip "no case is missing" "the list of cases is not beside the project"
fi
finish
