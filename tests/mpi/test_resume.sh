#!/usr/bin/env bash
# A sweep that is stopped, killed, or started twice: nothing is lost but the last moments, no trial is trained twice, and
# the answer is that of an unbroken run, bit for bit. resume_at_random.sh does it at random moments.
. "$(dirname "$0")/common.sh"
data=$scratch/data out=$scratch/r.h5 whole=$scratch/whole.h5
program synth "$data" -n 20 -q
cat >"$scratch/s.yaml" <<'END'
parameters:
  epochs: 400
  seed: {from: 1, to: 300}
END
sweep=(sweep "$scratch/s.yaml" --data "$data" --checkpoint-every 0.2)
expect_exit 0 ranks 2 "${sweep[@]}" -o "$whole" -q

start() { # N ARGUMENTS...: in the background; its launcher is $pid
    local n=$1
    shift
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    $MPIRUN -np "$n" "$LIBRAS_PROGRAM" "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
    pid=$!
}
# until_done N: until the status file speaks of N trainings, or the launcher has ended.
until_done() {
    local k
    for ((k = 0; k < 2400; k++)); do
        [ "$(sed -n 's/.*: \([0-9]*\) of .*/\1/p' "$out.status" 2>/dev/null || echo 0)" -ge "$1" ] 2>/dev/null && return
        kill -0 "$pid" 2>/dev/null || return
        sleep 0.05
    done
}
ends() { # CODE
    wait "$pid"
    local got=$?
    check "it ends $1" test "$got" = "$1"
}
known() { sed -n 's/.*going on: \([0-9]*\) of .*/\1/p' "$scratch/stderr"; }
same_bits() { check "the bits of an unbroken run" program verify "$whole" "$out" -q; }
nothing_beside() { check "nothing is left beside the file" test ! -e "$out.ckpt" -a ! -e "$out.status" -a ! -e "$out.part" -a ! -e "$out.lock"; }

about "USR1"
start 2 "${sweep[@]}" -o "$out"
until_done 5
kill -USR1 "$pid"
ends 75
expect_text stderr 'stopped by USR1: [0-9]+ of 300 trainings are in '
check "there is no file" test ! -e "$out"
check "there is a checkpoint, and no part or lock" test -s "$out.ckpt" -a ! -e "$out.part" -a ! -e "$out.lock"
expect_text "$out.status" '^20[-0-9]+T[0-9:]+Z stopped: [0-9]+ of 300 trainings \(0 diverged, 0 failed\), .* best trial [0-9]+: validation loss '
check "the status is one line" test "$(wc -l <"$out.status")" = 1
expect_exit 2 ranks 2 "${sweep[@]}" -o "$out"
says_once "'$out.ckpt' is there, of a sweep that was not completed: --resume goes on with it, --force drops it"
cp "$out.ckpt" "$scratch/stopped.ckpt"
expect_exit 0 ranks 3 "${sweep[@]}" -o "$out" --resume
expect_text stderr 'going on: [0-9]+ of 300 trainings are known'
check "at least five were known" test "$(known)" -ge 5
same_bits
nothing_beside
expect_exit 0 program verify "$out"

about "resumed once more"
cp "$out" "$scratch/before.h5"
expect_exit 0 ranks 2 "${sweep[@]}" -o "$out" --resume
expect_text stderr "has all 300 trials of .*: nothing to do"
check "the file is not touched" cmp "$out" "$scratch/before.h5"
nothing_beside
expect_exit 2 ranks 2 "${sweep[@]}" -o "$out"
says_once "exists; choose another --out, or replace it with --force"

# What follows needs no time: a small sweep, which is complete. "$whole" is the unbroken run of $out.
about "a specification that has grown"
sed 's/400/40/; s/to: 300/to: 60/' "$scratch/s.yaml" >"$scratch/small.yaml"
small=(sweep "$scratch/small.yaml" --data "$data")
large=$out out=$scratch/small.h5 whole=$scratch/whole.small.h5
expect_exit 0 program "${small[@]}" -o "$whole" -q
expect_exit 0 ranks 2 "${small[@]}" -o "$out" -q
sed 's/to: 60/to: 65/' "$scratch/small.yaml" >"$scratch/grown.yaml"
expect_exit 0 ranks 2 sweep "$scratch/grown.yaml" --data "$data" -o "$out" --resume
expect_text stderr 'going on: 60 of 65 trainings are known'
expect_text stdout 'FOM .* status=VALID'
expect_exit 0 program sweep "$scratch/grown.yaml" --data "$data" -o "$scratch/grown.h5" -q
check "the bits of an unbroken run" program verify "$scratch/grown.h5" "$out" -q
about "one that has lost trials"
expect_exit 2 ranks 2 "${small[@]}" -o "$out" --resume
says_once "has 5 trials that this specification does not have"
check "the file stays" program verify "$scratch/grown.h5" "$out" -q
nothing_beside
expect_exit 0 ranks 2 "${small[@]}" -o "$out" --resume --force
same_bits
about "numbers written in another way"
sed 's/{from: 1, to: 60}/{from: 1, to: 60, step: 1}/' "$scratch/small.yaml" >"$scratch/other.yaml"
sed -i 's/^parameters:/parameters:\n  learning_rate: [2e-2, 0.020]/' "$scratch/other.yaml"
expect_exit 0 ranks 2 sweep "$scratch/other.yaml" --data "$data" -o "$out" --resume
expect_text stderr 'going on: 60 of 60 trainings are known'
same_bits
about "more weights are kept"
sed 's/^parameters:/keep_weights: {top: 25}\nparameters:/' "$scratch/small.yaml" >"$scratch/top.yaml"
expect_exit 0 ranks 2 sweep "$scratch/top.yaml" --data "$data" -o "$out" --resume
expect_exit 0 program sweep "$scratch/top.yaml" --data "$data" -o "$scratch/top.h5" -q
check "the bits of an unbroken run" program verify "$scratch/top.h5" "$out" -q

about "all weights are kept after all"
sed 's/^parameters:/keep_weights: all\nparameters:/' "$scratch/small.yaml" >"$scratch/all.yaml"
expect_exit 0 ranks 2 sweep "$scratch/all.yaml" --data "$data" -o "$out" --resume
expect_exit 0 program sweep "$scratch/all.yaml" --data "$data" -o "$scratch/all.h5" -q
check "the bits of an unbroken run" program verify "$scratch/all.h5" "$out" -q
expect_exit 0 program verify "$out" -q
out=$large whole=$scratch/whole.h5

about "a sweep that has failed altogether"
printf 'parameters: {block: [48, 7], seed: [1, 2]}\n' >"$scratch/bad.yaml"
expect_exit 1 ranks 2 sweep "$scratch/bad.yaml" --data "$data" -o "$scratch/bad.h5"
says_once "no trial has weights: all 4 diverged or failed; the first: block 48 is not a multiple of 32"
expect_exit 1 ranks 2 sweep "$scratch/bad.yaml" --data "$data" -o "$scratch/bad.h5" --resume

about "other data"
program synth "$scratch/others" -n 20 -s 2 -q
expect_exit 2 ranks 2 sweep "$scratch/s.yaml" --data "$scratch/others" -o "$out" --resume
says_once "holds results of other data"
rm "$out"
cp "$scratch/stopped.ckpt" "$out.ckpt"
expect_exit 2 ranks 2 sweep "$scratch/s.yaml" --data "$scratch/others" -o "$out" --resume
says_once "was made with other data"
expect_exit 2 ranks 2 "${sweep[@]}" -o "$out" --resume --split-seed 5
says_once "its split seed is 1337, this one's 5"
check "the checkpoint stays" cmp "$scratch/stopped.ckpt" "$out.ckpt"
expect_exit 0 ranks 2 sweep "$scratch/small.yaml" --data "$scratch/others" -o "$out" --force -q
nothing_beside

for victim in launcher rank0 rank1; do
    about "SIGKILL of $victim"
    rm -f "$out" "$out".*
    start 2 "${sweep[@]}" -o "$out"
    until_done 10
    # The ranks are the launcher's children; the first is rank 0.
    mapfile -t children < <(pgrep -P "$pid")
    case $victim in
    launcher) kill -KILL "$pid" ;;
    rank0) kill -KILL "${children[0]}" ;;
    rank1) kill -KILL "${children[1]}" ;;
    esac
    wait "$pid"
    for ((k = 0; k < 600; k++)); do # without their launcher the ranks end by themselves
        kill -0 "${children[@]}" 2>/dev/null || break
        sleep 0.1
    done
    check "all are gone" test "$k" -lt 600
    check "no file, but a checkpoint" test ! -e "$out" -a -s "$out.ckpt"
    expect_exit 0 ranks 3 "${sweep[@]}" -o "$out" --resume
    check "it goes on" test "$(known)" -ge 5
    same_bits
    nothing_beside
done

about "damaged checkpoint"
rm -f "$out"
cp "$scratch/stopped.ckpt" "$out.ckpt"
printf '\377' | dd of="$out.ckpt" bs=1 seek=400 conv=notrunc status=none
expect_exit 0 ranks 2 "${sweep[@]}" -o "$out" --resume
says_once "damaged records are passed over: their trials are trained again"
same_bits
rm -f "$out"
head -c 5000 "$scratch/stopped.ckpt" >"$out.ckpt"
expect_exit 0 ranks 2 "${sweep[@]}" -o "$out" --resume
says_once "bytes of a record that was not written whole are cut off"
same_bits

about "two at once"
rm -f "$out"
start 1 "${sweep[@]}" -o "$out" --resume
until_done 1
expect_exit 1 within 60 program "${sweep[@]}" -o "$out" --resume
says_once "another run .* is writing '$out'"
kill -USR1 "$pid"
wait "$pid"
expect_exit 0 ranks 2 "${sweep[@]}" -o "$out" --resume
same_bits

about "one long trial"
printf 'parameters: {epochs: 200000}\n' >"$scratch/long.yaml"
rm -f "$out"
long=(sweep "$scratch/long.yaml" --data "$data" --checkpoint-every 0.2 --validate-replicas 0 -o "$out")
start 2 "${long[@]}"
for ((k = 0; k < 2400; k++)); do # until the last state has a tenth of the losses, at least; all of them are 1.6 MB
    [ "$(stat -c %s "$out.ckpt" 2>/dev/null || echo 0)" -gt 2000000 ] && break
    sleep 0.05
done
pkill -KILL -P "$pid"
wait "$pid"
check "its state is in the checkpoint" test "$(stat -c %s "$out.ckpt")" -gt 11000
expect_exit 0 ranks 1 "${long[@]}" --resume
expect_text stderr 'going on: 0 of 1 trainings are known, and the states of 1 more'
# Updates a second times seconds are fewer than all: it did not start anew.
# shellcheck disable=SC2016 # awk's
done_now=$(awk '/^train /{s=$2} /^FOM/{sub(/.*updates_per_s=/,""); print $1*s/(200000*225)}' "$scratch/stdout")
check "it trained less than all of it ($done_now)" awk "BEGIN{exit !($done_now > 0.01 && $done_now < 0.95)}"
expect_exit 0 program "${long[@]/$out/$scratch/long.h5}"
check "the bits of an unbroken run" program verify "$scratch/long.h5" "$out" -q

about "USR1 while the answers are checked"
printf 'parameters: {epochs: 20000, seed: 1}\n' >"$scratch/check.yaml"
rm -f "$out" "$out".*
start 2 sweep "$scratch/check.yaml" --data "$data" -o "$out"
for ((k = 0; k < 2400; k++)); do
    grep -q checking "$out.status" 2>/dev/null && break
    sleep 0.05
done
kill -USR1 "$pid"
ends 75
says_once 'stopped after the training, which is all in the checkpoint'
check "no file, no part, no lock, but the checkpoint" test ! -e "$out" -a ! -e "$out.part" -a ! -e "$out.lock" -a -s "$out.ckpt"
expect_exit 0 ranks 1 sweep "$scratch/check.yaml" --data "$data" -o "$out" --resume --validate-replicas 0
expect_text stderr 'going on: 1 of 1 trainings are known'
about "USR1 before anything"
rm -f "$out"
"$LIBRAS_PROGRAM" "${sweep[@]}" -o "$out" >"$scratch/stdout" 2>"$scratch/stderr" &
pid=$!
# As soon as the program, no more this shell, listens to USR1, the tenth signal: which is before MPI has started.
listens() { [ "/proc/$pid/exe" -ef "$LIBRAS_PROGRAM" ] && grep -qE '^SigCgt:.*[2367abef]..$' "/proc/$pid/status"; }
until listens || ! kill -0 "$pid" 2>/dev/null; do :; done
kill -USR1 "$pid"
ends 75
rm -f "$out".*

about "a word on USR2"
rm -f "$out"
sed 's/to: 300/to: 4000/' "$scratch/s.yaml" >"$scratch/many.yaml"
start 2 sweep "$scratch/many.yaml" --data "$data" -o "$out"
until_done 3
kill -USR2 "$pid"
for ((k = 0; k < 600; k++)); do
    grep -q ': checkpoint: ' "$scratch/stderr" && break
    sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
says_once ' running: [0-9]+ of 4000 trainings .* a second, time left .* best trial '
says_once 'checkpoint: .*, [0-9]+ trials and [0-9]+ states in [0-9.]+ MB, on disk [0-9.]+ s ago'
check "after TERM there is a checkpoint" test -s "$out.ckpt"
about "TERM to the program alone"
rm -f "$out" "$out".*
"$LIBRAS_PROGRAM" "${sweep[@]/s.yaml/many.yaml}" -o "$out" >"$scratch/stdout" 2>"$scratch/stderr" &
pid=$!
until_done 3
kill -TERM "$pid"
ends 75
says_once 'stopped by TERM: [0-9]+ of 4000 trainings are in '
expect_exit 0 ranks 2 "${sweep[@]}" -o "$out" --resume
same_bits

about "no name"
expect_exit 2 ranks 2 "${sweep[@]}" --resume
says_once "--resume: say with --out which file is to be gone on with"

about "a disk that is full"
rm -f "$out"
expect_exit 1 wrapped 2 'ulimit -f 20' "${sweep[@]}" -o "$out"
says_once "'$out.ckpt': cannot write: File too large"
expect_exit 0 ranks 2 "${sweep[@]}" -o "$out" --resume
same_bits
nothing_beside
finish
