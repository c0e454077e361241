#!/usr/bin/env bash
# Our C against the real libstdc++: shuffles, bounded draws and uniform floats, element for element (by digests).
set -euo pipefail

bin=${LIBRAS_BUILD:-build}/tests
kinds=(shuffle drawn below uniform nearly_one)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/libras_test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

echo "1..$((${#kinds[@]} + 1))"

if [[ ! -x $bin/libstdcxx_reference || ! -x $bin/libstdcxx_ours ]]; then
    for ((i = 1; i <= ${#kinds[@]} + 1; i++)); do
        echo "ok $i - libstdc++ ${kinds[i - 1]:-all} # SKIP $bin/libstdcxx_reference and libstdcxx_ours are not both built"
    done
    exit 0
fi

failed=0
"$bin/libstdcxx_reference" >"$scratch/reference" || failed=1
"$bin/libstdcxx_ours" >"$scratch/ours" || failed=1

# verdict NUMBER NAME CONDITION...
verdict() {
    local number=$1 name=$2
    shift 2
    if "$@"; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        failed=1
    fi
}

# The lines of one kind are there, and the same. Both are checked: two empty outputs would agree as well.
same() {
    grep "^$1 " "$scratch/reference" >"$scratch/a" || return 1
    grep "^$1 " "$scratch/ours" >"$scratch/b" || return 1
    diff "$scratch/a" "$scratch/b" | sed 's/^/# /' | head -n 20
    cmp -s "$scratch/a" "$scratch/b"
}

number=0
for kind in "${kinds[@]}"; do
    number=$((number + 1))
    verdict "$number" "libstdc++ $kind" same "$kind"
done

complete() {
    [[ $(wc -l <"$scratch/reference") -eq $(wc -l <"$scratch/ours") && $(wc -l <"$scratch/ours") -gt 1000 ]] &&
        cmp -s "$scratch/reference" "$scratch/ours"
}
verdict $((number + 1)) "libstdc++ all lines" complete
exit "$failed"
