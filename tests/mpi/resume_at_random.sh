#!/usr/bin/env bash
# resume_at_random.sh [N [TRIALS [DEVICE]]]: a sweep of TRIALS trials (2000) that is killed by SIGKILL at N random moments
# (100; make check-resume N=100), each time another victim (the launcher, one rank, or all at once) and then resumed on
# another number of ranks, until it is done. Its answer is that of an unbroken run, bit for bit. The clock of the killer
# starts anew with each start, so that also the first and the last moments of a start are met. Says what was lost.
. "$(dirname "$0")/common.sh"
n=${1:-100} trials=${2:-2000} device=${3:-cpu}
patience=600
RANDOM=${KILL_SEED:-$$}
shared=$(mktemp -d /dev/shm/libras-kill.XXXXXX 2>/dev/null) || shared=$scratch
export OMPI_MCA_btl_vader_backing_directory=$shared
cleanup() { rm -rf "$scratch" "$shared"; }
data=$scratch/data out=$scratch/r.h5
program synth "$data" -n "${KILL_SAMPLES:-40}" -q
cat >"$scratch/s.yaml" <<END
parameters:
  epochs: ${KILL_EPOCHS:-51}
  learning_rate: {from: 0.005, to: 0.1, scale: log, count: 20}
  seed: {from: 1, to: $((trials / 20))}
END
job=(sweep "$scratch/s.yaml" --data "$data" --device "$device" --checkpoint-every 0.2)
begin=${EPOCHREALTIME/[.,]/}
expect_exit 0 ranks 2 "${job[@]}" -o "$scratch/whole.h5" -q
whole=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
pause() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; } # MS

rounds=0 killed=0 finished=0 wrong=0 left_known=0 backwards=0 stuck=0
while ((killed < n)); do
    ranks=$((1 + RANDOM % 4))
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    $MPIRUN -np $ranks "$LIBRAS_PROGRAM" "${job[@]}" -o "$out" --resume >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
    pid=$!
    # Most starts get far enough to train something; some do not even begin.
    if ((RANDOM % 4)); then
        for ((k = 0; k < 400; k++)); do
            [ -s "$out.ckpt" ] && break
            sleep 0.02
        done
        pause $((RANDOM % (whole / 4 + 400)))
    else
        pause $((RANDOM % (whole + 500)))
    fi
    mapfile -t children < <(pgrep -P $pid)
    case $((RANDOM % 3)) in
    0) kill -KILL $pid 2>/dev/null ;;
    1) [ ${#children[@]} = 0 ] || kill -KILL "${children[RANDOM % ${#children[@]}]}" 2>/dev/null ;;
    2) kill -KILL $pid "${children[@]}" 2>/dev/null ;;
    esac
    # A launcher whose rank dies before it has reported can wait for ever (seen with Open MPI 4.1.4; no rank of ours is left
    # then): it is ended, and counted.
    for ((k = 0; k < 200; k++)); do
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    if [ $k = 200 ]; then
        stuck=$((stuck + 1))
        mapfile -t -O ${#children[@]} children < <(pgrep -P $pid)
        kill -KILL $pid "${children[@]}" 2>/dev/null
    fi
    wait $pid 2>/dev/null
    status=$?
    for ((k = 0; k < 200 && ${#children[@]} > 0; k++)); do
        kill -0 "${children[@]}" 2>/dev/null || break
        sleep 0.05
    done
    rounds=$((rounds + 1))
    if [ $status = 0 ]; then # it was done before the killer came
        finished=$((finished + 1))
        program verify "$scratch/whole.h5" "$out" -q >&2 || wrong=$((wrong + 1))
        rm -f "$out"
        left_known=0
        continue
    fi
    killed=$((killed + 1))
    known=$(sed -n 's/.*going on: \([0-9]*\) of .*/\1/p' "$scratch/stderr")
    if [ -n "$known" ]; then
        [ "$known" -ge "$left_known" ] || backwards=$((backwards + 1)) # what was known once is known ever after
        left_known=$known
    fi
    if [ -e "$out" ]; then # killed after the file had its name
        finished=$((finished + 1))
        program verify "$scratch/whole.h5" "$out" -q >&2 || wrong=$((wrong + 1))
        rm -f "$out" "$out".*
        left_known=0
    fi
done
expect_exit 0 ranks 3 "${job[@]}" -o "$out" --resume
program verify "$scratch/whole.h5" "$out" -q >&2 || wrong=$((wrong + 1))
echo "# $killed starts killed of $rounds, a sweep of $trials trials on $device done $((finished + 1)) times: $wrong answers" \
    "with other bits, $backwards times less was known than before; $stuck launchers without ranks had to be ended"
check "$n kills at random moments: every answer has the bits of an unbroken run" test $wrong = 0
check "what was known is never lost" test $backwards = 0
check "nothing is left in the end" test ! -e "$out.ckpt" -a ! -e "$out.part" -a ! -e "$out.lock" -a ! -e "$out.status"
finish
