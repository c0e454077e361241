#!/usr/bin/env bash
# kill_at_random.sh [N]: N runs (200; make check-kill N=200), each killed whole by SIGKILL at a random moment, launcher and
# ranks at once, half of them while the file is being finished. What lies under the final name afterwards is the old file,
# byte for byte, or the whole new one: compared with the answer of an unbroken run, bit for bit.
. "$(dirname "$0")/common.sh"
n=${1:-200}
RANDOM=${KILL_SEED:-$$}
# Ranks that are killed leave their shared memory behind: in a folder of this test, which goes with it.
shared=$(mktemp -d /dev/shm/libras-kill.XXXXXX 2>/dev/null) || shared=$scratch
export OMPI_MCA_btl_vader_backing_directory=$shared
cleanup() { rm -rf "$scratch" "$shared"; }
data=$scratch/data out=$scratch/r.h5
program synth "$data" -n 20 -q
# shellcheck disable=SC2054 # the commas are the program's
job=(--data "$data" --epochs 40 --block 32 --seed 1:24 --hidden 32x16,64x32 -q)
program --data "$data" --epochs 2 --block 32 -o "$scratch/old.h5" -q >&2
begin=${EPOCHREALTIME/[.,]/}
ranks 2 "${job[@]}" -o "$scratch/new.h5" >&2
whole=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) # ms that a run takes here
check "an unbroken run is made" test -s "$scratch/new.h5"

kill_all() { # LAUNCHER: it and its ranks, which are its children, each in a process group of its own
    local ranks
    ranks=$(pgrep -P "$1")
    # shellcheck disable=SC2086 # numbers
    kill -KILL "$1" $ranks 2>/dev/null
    wait "$1" 2>/dev/null
}
pause() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; } # MS

old=0 new=0 none=0 bad=0 parts=0
for ((k = 0; k < n; k++)); do
    with_old=$((k % 2))
    rm -f "$out" # not the part of the last one: this run must put it away
    [ $with_old = 0 ] || cp "$scratch/old.h5" "$out"
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    $MPIRUN -np 2 "$LIBRAS_PROGRAM" "${job[@]}" -o "$out" --force >/dev/null 2>&1 </dev/null &
    pid=$!
    if ((k / 2 % 2)); then # soon after the part has begun to grow
        for ((t = 0; t < 300; t++)); do
            [ -s "$out.part" ] && break
            sleep 0.01
        done
        pause $((RANDOM % (whole / 2 + 1)))
    else
        pause $((RANDOM % (whole + whole / 5 + 1)))
    fi
    kill_all $pid
    [ ! -e "$out.part" ] || parts=$((parts + 1))
    if [ ! -e "$out" ]; then
        none=$((none + 1))
        [ $with_old = 0 ] || bad=$((bad + 1)) # the old file is gone
    elif cmp -s "$out" "$scratch/old.h5"; then
        old=$((old + 1))
    elif program verify "$scratch/new.h5" "$out" -q >&2 && program verify "$out" -q >&2; then
        new=$((new + 1))
    else
        bad=$((bad + 1))
        cp "$out" "$scratch/bad.$k.h5"
    fi
done
echo "# $n runs killed: under the final name $none times nothing, $old times the old file, $new times the new one, $bad times" \
    "something else; $parts parts left, and put away by the next run"
check "$n runs killed at random moments: the old file, the whole new one, or none" test $bad = 0 -a $((old + new + none)) = "$n"
[ "$n" -lt 100 ] || check "each of the three was seen" test $old -gt 0 -a $new -gt 0 -a $none -gt 0
expect_exit 0 ranks 2 "${job[@]}" -o "$out" --force
check "nothing is left in the end" test ! -e "$out.part" -a ! -e "$out.lock"
finish
