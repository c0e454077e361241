#!/usr/bin/env bash
# Every target of build-fuzz for FUZZ_SECONDS (60), two at a time, from the seeds of corpus.sh. What breaks a promise, or
# makes a sanitizer speak, is kept in build-fuzz/fuzz/: mend the fault, then put the input into tests/fuzz/found/NAME.
# timeout: 7200
. "$(dirname "$0")/../lib.sh"
seconds=${FUZZ_SECONDS:-60} build=build-fuzz
if ! tests/fuzz/can_fuzz.sh "${FUZZ_CC:-clang}"; then
    skip_all "no ${FUZZ_CC:-clang} with libFuzzer: apt-get install clang libclang-rt-14-dev"
fi
tests/fuzz/corpus.sh "$LIBRAS_BUILD" "$scratch/corpus" >&2 || exit 1
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$LIBRAS_ROOT/tests/fuzz/leaks.txt:print_suppressions=0

fuzz() { # NAME
    local name=$1 dictionary=$LIBRAS_ROOT/tests/fuzz/$1.dict corpus=$scratch/corpus/$1 more=()
    [ ! -e "$dictionary" ] || more+=("-dict=$dictionary")
    [ -z "${FUZZ_SEED:-}" ] || more+=("-seed=$FUZZ_SEED")
    mkdir -p "$corpus" "$scratch/$name"
    "$build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -malloc_limit_mb=2000 -verbosity=1 \
        -print_final_stats=1 -artifact_prefix="$build/fuzz/$name-" \
        ${more[@]+"${more[@]}"} "$scratch/$name" "$corpus" >"$scratch/$name.log" 2>&1
    echo $? >"$scratch/$name.code"
}
names=()
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c) && name=${name#fuzz_}
    names+=("$name")
done
running=0
for name in ${FUZZ_ONLY:-"${names[@]}"}; do
    [ $running -lt 2 ] || wait -n
    running=$((running + 1))
    fuzz "$name" &
done
wait
for name in ${FUZZ_ONLY:-"${names[@]}"}; do
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$name.log")
    check "$name: nothing found in $seconds s (${runs:-no} runs)" test "$(cat "$scratch/$name.code")" = 0 -a "${runs:-0}" -gt 0
    [ "$(cat "$scratch/$name.code")" = 0 ] || tail -n 40 "$scratch/$name.log" | sed 's/^/# /'
done
finish
