#!/usr/bin/env bash
# The runner itself: a test that fails in any way must not pass for one that succeeds.
. "$(dirname "$0")/../lib.sh"

# verdict NAME STATUS LAST_LINE: runs the script on standard input as a test, and looks at the runner's verdict.
verdict() {
    local test=$scratch/test_case.sh got
    { echo '#!/usr/bin/env bash' && cat; } >"$test"
    chmod +x "$test"
    tests/run "$test" >"$scratch/out" 2>&1
    got=$?
    [ "$got" = "$2" ] && [ "$(tail -n 1 "$scratch/out")" = "$3" ]
    report $? "$1"
    [ "$got" = "$2" ] || sed 's/^/#   /' "$scratch/out"
}

about "a test that"
verdict "passes" 0 "2 passed, 0 failed, 0 skipped" <<<'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
verdict "has its plan first" 0 "1 passed, 0 failed, 0 skipped" <<<'echo 1..1; echo "ok 1 - a"'
verdict "has two groups, as cmocka writes them" 0 "2 passed, 0 failed, 0 skipped" \
    <<<'echo 1..1; echo "ok 1 - a"; echo 1..1; echo "ok 1 - b"'
verdict "skips one of two" 0 "1 passed, 0 failed, 1 skipped" <<<'echo "ok 1"; echo "ok 2 - b # SKIP no GPU"; echo 1..2'
check "its reason is shown" grep -q 'b: no GPU' "$scratch/out"
verdict "skips as cmocka writes it" 0 "1 passed, 0 failed, 1 skipped" <<<'echo 1..2; echo "ok 1"; echo "not ok 2 # SKIP b"'
verdict "skips everything: nothing passed" 1 "0 passed, 0 failed, 1 skipped" <<<'echo "1..0 # SKIP no Slurm"'
verdict "fails" 1 "1 passed, 1 failed, 0 skipped" <<<'echo "ok 1"; echo "not ok 2 - b"; echo 1..2; exit 1'
verdict "fails and ends 0" 1 "0 passed, 1 failed, 0 skipped" <<<'echo "not ok 1 - b"; echo 1..1'
verdict "passes and ends 5" 1 "1 passed, 1 failed, 0 skipped" <<<'echo "ok 1"; echo 1..1; exit 5'
verdict "dies of a signal" 1 "1 passed, 1 failed, 0 skipped" <<<'echo 1..1; echo "ok 1"; kill -SEGV $$'
verdict "ends early" 1 "1 passed, 1 failed, 0 skipped" <<<'echo 1..2; echo "ok 1"; exit 0; echo "ok 2"'
verdict "ends before its plan" 1 "1 passed, 1 failed, 0 skipped" <<<'echo "ok 1"; exit 0; echo 1..1'
verdict "has more results than planned" 1 "2 passed, 1 failed, 0 skipped" <<<'echo 1..1; echo "ok 1"; echo "ok 2"'
verdict "says nothing" 1 "0 passed, 1 failed, 0 skipped" <<<'true'
verdict "promises nothing" 1 "0 passed, 1 failed, 0 skipped" <<<'echo 1..0'
verdict "is no TAP" 1 "0 passed, 1 failed, 0 skipped" <<<'echo "All tests passed."'
verdict "hangs" 1 "0 passed, 2 failed, 0 skipped" <<<'# timeout: 1
sleep 60'
verdict "leaves a child behind" 0 "1 passed, 0 failed, 0 skipped" <<<"sleep 600 >/dev/null 2>&1 & echo \$! >'$scratch/child'; echo 1..1; echo 'ok 1'"
check_not "which is ended" grep -sE '^State:\s+[RSD]' "/proc/$(cat "$scratch/child")/status"

about "several tests"
# pair FOLDER: two tests there, of the script on standard input; $k is the number of each. Runs both.
pair() {
    local k
    mkdir -p "$scratch/$1"
    cat >"$scratch/script"
    for k in 1 2; do
        { printf '#!/usr/bin/env bash\nk=%d\n' $k && cat "$scratch/script"; } >"$scratch/$1/test_$k.sh"
        chmod +x "$scratch/$1/test_$k.sh"
    done
    tests/run "$scratch/$1"/test_{1,2}.sh >"$scratch/out" 2>&1
}
pair any <<END
touch '$scratch/here.'\$k
for _ in {1..300}; do [ ! -e '$scratch/here.'\$((3 - k)) ] || break; sleep 0.1; done
[ -e '$scratch/here.'\$((3 - k)) ] || printf 'not '
echo ok; echo 1..1
END
check "run at once: each has seen the other" grep -qx '2 passed, 0 failed, 0 skipped' "$scratch/out"
pair slurm <<END
mkdir '$scratch/taken' || printf 'not '
echo ok; echo 1..1
sleep 0.5; rmdir '$scratch/taken'
END
check "of Slurm run one after the other" grep -qx '2 passed, 0 failed, 0 skipped' "$scratch/out"
if env --default-signal=INT true 2>/dev/null; then
    begin=$SECONDS
    # shellcheck disable=SC2016 # expands in the test
    printf '#!/usr/bin/env bash\necho $$ >"%s"\nkill -INT $PPID\nsleep 200\n' "$scratch/child" >"$scratch/test_long.sh"
    chmod +x "$scratch/test_long.sh"
    expect_exit 130 env --default-signal=INT tests/run "$scratch/test_long.sh"
    check "Ctrl-C does not wait for them" test $((SECONDS - begin)) -lt 100
    check_not "and ends them" grep -sE '^State:\s+[RSD]' "/proc/$(cat "$scratch/child")/status"
else
    skip "Ctrl-C" "env has no --default-signal"
fi

about "lib.sh"
library=". '$LIBRAS_ROOT/tests/lib.sh'"
verdict "a failing check fails the test" 1 "1 passed, 1 failed, 0 skipped" <<<"$library
check good true; check bad false; finish"
verdict "an exit before finish fails the test" 1 "1 passed, 1 failed, 0 skipped" <<<"$library
check good true; exit 0; check bad false; finish"
verdict "expect_exit wants the very code" 1 "2 passed, 2 failed, 0 skipped" <<<"$library
expect_exit 3 bash -c 'echo hello; exit 3'; expect_text stdout '^hel+o$'
expect_exit 3 bash -c 'exit 2'; expect_text stdout '^hello$'; finish"
verdict "expect_no_text" 1 "1 passed, 1 failed, 0 skipped" <<<"$library
bash -c 'echo hello' >\"\$scratch/stdout\"; expect_no_text stdout bye; expect_no_text stdout hell; finish"
verdict "skip_all" 1 "0 passed, 0 failed, 1 skipped" <<<"$library
skip_all 'no reason at all'"

about "selection"
expect_exit 1 tests/run no_such_folder
expect_text stderr 'no_such_folder is neither a test nor one of the folders .*unit'
expect_exit 2 tests/run --fast
printf 'echo 1..1; echo ok 1\n' >"$scratch/test_plain.sh"
expect_exit 1 tests/run "$scratch/test_plain.sh"
expect_text stdout 'cannot be started: Permission denied'

finish
