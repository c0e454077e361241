#!/usr/bin/env bash
# jobs/sweep.slurm with a sweep from a file, in a real Slurm of seven virtual nodes: time limits, requeues, cancelled jobs,
# lost nodes, two jobs on one file. What each job's file must hold comes from unbroken runs outside of Slurm.
# timeout: 600
export SANDBOX_GPU_NODES=6 SANDBOX_SLURMD_TIMEOUT=10
. "$(dirname "$0")/common.sh"
cluster=${SLURM_CONF%/etc/slurm.conf}
case $("$LIBRAS_PROGRAM" info 2>/dev/null | grep '^yaml') in '' | *none*) skip_all "the program has no libyaml" ;; esac

# The first start of a job trains with the plain reference, some 20 times slower than the second one: so the first is long
# enough to be interrupted on any machine, and the test does not take long. The bits are the same. A job with a file
# idle.ID has a second start whose first step does nothing and ends 0, as srun does where it could not launch a step.
mv libras_mpi real
cat >libras_mpi <<'END'
#!/bin/sh
real=$(dirname "$0")/real
case $1:${SLURM_RESTART_COUNT:-0}:${SLURM_JOB_ID:-} in
sweep:0:[1-9]*) exec "$real" "$@" --device "${SLOW-cpu-ref}" ;;
sweep:1:[1-9]*) [ "$SLURM_STEP_ID" != 1 ] || [ ! -e "idle.$SLURM_JOB_ID" ] || exit 0 ;;
esac
exec "$real" "$@"
END
chmod +x libras_mpi
specification() { # SEEDS
    printf '%s\n' 'parameters:' '  learning_rate: {from: 0.01, to: 0.1, scale: log, count: 8}' '  epochs: 60' \
        "  seed: {from: 1, to: $1}" 'keep_weights: all'
}
specification 10 >short.yaml
specification 40 >long.yml
for name in short.yaml long.yml; do
    expect_exit 0 mpirun --oversubscribe -np 2 ./real sweep "$name" --out "whole ${name%.*}.h5" -q
done
# What verify says of such a file, it must say of a job's, too.
expect_exit 0 one_rank verify "whole short.h5" -q

cpu=(--parsable -p merry_cpu --gres=none --ntasks=2)
gpu=(--parsable --gres=none --nodes=2 --ntasks=2 --ntasks-per-node=1)
log_of() { echo "slurm-libras-$1.out"; }
file_of() { echo "results/libras_$1.h5"; }
is_in() { [ "$(state "$1")" = "JobState=$2" ]; }
has_restarted() { scontrol show job "$1" | grep -q ' Restarts=1 '; }
has_trained() { grep -qE ': [1-9][0-9]* of ' "$(file_of "$1").status"; } # one training at least has ended
begins() { check "$1 trains" wait_for 60 has_trained "$1"; }
ends() { # JOB STATE
    wait_for 120 has_ended "$1"
    check "is $2 in the end" is_in "$1" "$2"
    is_in "$1" "$2" || grep '^sweep.slurm: ' "$(log_of "$1")" | sed 's/^/# /'
    is_in "$1" "$2" || tail -n 30 "$(log_of "$1")" | sed 's/^/# /'
}
first_number() { sed -nE "s/.*$1.*/\\1/p" "$(log_of "$2")" | head -n 1; } # the first match of a line's first (...)

# same_answer JOB NAME TRIALS: two starts, of which the second went on where the first one stopped, and no bit differs.
same_answer() {
    local log file
    log=$(log_of "$1") file=$(file_of "$1")
    ends "$1" COMPLETED
    check "the log has both starts" test "$(grep -c '^sweep.slurm: job' "$log")" = 2
    expect_text "$log" "^sweep.slurm: start 2 of job $1\$"
    check "the same bits as an unbroken run" one_rank verify "whole $2.h5" "$file"
    check "$3 trials, each once" test "$(./real export "$file" --table trials | tail -n +2 | cut -d, -f1 | sort -nu | wc -l)" = "$3"
    check "nothing is left beside the file" test "$(echo "$file"*)" = "$file"
}
# no_training_twice JOB TRIALS: the program's own lines: what the first start had, and what the second one did (its rate
# times its seconds), are all. The rate is of a somewhat longer time, so the product may be low, but not high.
no_training_twice() {
    local had known rate seconds
    had=$(first_number 'stopped by [^:]*: ([0-9]+) of [0-9]+ trainings' "$1")
    known=$(first_number "going on: ([0-9]+) of $2 trainings" "$1")
    rate=$(first_number ' trainings_per_s=([0-9.e+]+) ' "$1")
    seconds=$(first_number '^train +([0-9.]+) ' "$1")
    check "the second start knows what the first one had: $had, $known" test "${had:-0}" -gt 0 -a "$had" = "$known"
    check "trainings of both together: $had + $rate * $seconds" awk -v a="$had" -v r="$rate" -v s="$seconds" -v all="$2" \
        'BEGIN { d = a + r * s - all; exit !(d > -0.5 - 0.02 * all && d < 0.5) }'
}

# ---- All of these at once; what follows looks at one after the other -------------------------------------------------
limited=$(sbatch "${cpu[@]}" --time=1 --signal=B:USR1@5 jobs/sweep.slurm long.yml)
touch "idle.$limited"
export LIBRAS_LAUNCHER=mpirun
signalled=$(sbatch "${cpu[@]}" jobs/sweep.slurm sweep short.yaml)
lost_mpirun=$(sbatch "${gpu[@]}" -w 'gpu[3-4]' jobs/sweep.slurm short.yaml)
unset LIBRAS_LAUNCHER
lost_srun=$(sbatch "${gpu[@]}" -w 'gpu[1-2]' jobs/sweep.slurm short.yaml)

orphan=$(sbatch --parsable --gres=none --nodes=1 --ntasks=2 -x 'gpu[1-4]' jobs/sweep.slurm long.yml)
plain=$(sbatch "${cpu[@]}" jobs/sweep.slurm --epochs 100 --block 32 --seed 1:100 --device cpu)

about "two jobs on one file"
begins "$signalled"
begin=$SECONDS
job 1 -p merry_cpu --gres=none --ntasks=2 jobs/sweep.slurm short.yaml --out "$(file_of "$signalled")"
expect_text "$log" 'another run .* is writing'
check "the second one ends soon" test $((SECONDS - begin)) -le 15
check "the first one goes on" is_in "$signalled" RUNNING

about "a word on USR2"
begins "$lost_srun"
for id in "$signalled" "$lost_srun"; do
    scancel --signal=USR2 --batch "$id"
    check "is in the log of $id" wait_for 20 grep -qE '^libras_mpi: checkpoint: .* on disk .* s ago' "$(log_of "$id")"
    check "and $id goes on" is_in "$id" RUNNING
done

about "a node is lost"
begins "$lost_mpirun"
begins "$orphan"
node=$(squeue -h -j "$orphan" -o %N)
kill -KILL "$("$sandbox" pid "$cluster" "$node")" # the daemon alone: the job runs on
"$sandbox" off "$cluster" gpu2
"$sandbox" off "$cluster" gpu4

scancel --signal=USR1 --batch "$plain"
about "USR1, by mpirun"
scancel --signal=USR1 --batch "$signalled"
check "is requeued" wait_for 30 has_restarted "$signalled"
expect_text "$(log_of "$signalled")" "^sweep.slurm: start 1 has stopped with a checkpoint; job $signalled is requeued"

about "scancel"
cancelled=$(sbatch "${cpu[@]}" jobs/sweep.slurm short.yaml)
export LIBRAS_LAUNCHER=mpirun
cancelled_mpirun=$(sbatch "${cpu[@]}" jobs/sweep.slurm short.yaml)
unset LIBRAS_LAUNCHER
for id in "$cancelled" "$cancelled_mpirun"; do
    begins "$id"
    scancel "$id"
    ends "$id" CANCELLED
    check "a checkpoint is left" test "$(stat -c %s "$(file_of "$id").ckpt")" -gt 1000
    check_not "no file" test -e "$(file_of "$id")"
    check_not "no requeue" has_restarted "$id"
    expect_text "$(log_of "$id")" ' to go on: sbatch jobs/sweep.slurm short.yaml --out results/libras_'
done

about "to go on by hand"
export SLOW=cpu
# shellcheck disable=SC2046 # the words that the log shows
job 0 -p merry_cpu --gres=none --ntasks=3 $(sed -n 's/.*to go on: sbatch //p' "$(log_of "$cancelled")")
unset SLOW
expect_text "$log" 'going on: [0-9]+ of 80 trainings are known'
check "the same bits" one_rank verify "whole short.h5" "$(file_of "$cancelled")"

about "a job that may not be started again"
export LIBRAS_MAX_RESTARTS=0
most=$(sbatch "${cpu[@]}" jobs/sweep.slurm short.yaml)
unset LIBRAS_MAX_RESTARTS
never=$(sbatch "${cpu[@]}" --no-requeue jobs/sweep.slurm short.yaml)
for id in "$most" "$never"; do
    wait_for 30 grep -q '^sweep.slurm: job' "$(log_of "$id")"
    scancel --signal=USR1 --batch "$id" # at once: no rank is ready for it
done
for id in "$most" "$never"; do
    ends "$id" FAILED
    check "with 75" test "$(exit_code "$id")" = 75
    expect_text "$(log_of "$id")" ' to go on: sbatch jobs/sweep.slurm short.yaml --out results/libras_'
done
expect_text "$(log_of "$most")" '; 0 restarts are LIBRAS_MAX_RESTARTS'
expect_text "$(log_of "$never")" '; Slurm does not requeue this job'

about "a job that fails"
job 2 -p merry_cpu --gres=none jobs/sweep.slurm short.yaml --data "$scratch/no such folder"
check "is FAILED" is_in "$id" FAILED
check_not "leaves no file" test -e "$(file_of "$id")"
job 2 -p merry_cpu --gres=none jobs/sweep.slurm nowhere.yaml
job 2 -p merry_cpu --gres=none --export=ALL,LIBRAS_MAX_RESTARTS=many jobs/sweep.slurm short.yaml
expect_text "$log" "LIBRAS_MAX_RESTARTS is a whole number, not 'many'"
job 0 -p merry_cpu --gres=none jobs/sweep.slurm short.yaml --dry-run
expect_text "$log" '80 trials over 4 ranks'

about "a start that adds nothing"
# shellcheck disable=SC2016 # expands in the job
mkdir idle && cp -R jobs idle && printf '#!/bin/sh\n[ "$1" != sweep ] || exit 75\n' >idle/libras_mpi
chmod +x idle/libras_mpi
job 75 -p merry_cpu --gres=none --export="ALL,LIBRAS_HOME=$home/idle" jobs/sweep.slurm short.yaml
expect_text "$log" 'has added nothing to results/.*: it needs a longer --time'

about "USR1 to a run without a file"
ends "$plain" COMPLETED
expect_text "$(log_of "$plain")" '^sweep.slurm: the time limit is near, and this run has no checkpoints'

about "an array"
export SLOW=cpu
job 0 "${cpu[@]:1}" --array=0-1 jobs/sweep.slurm short.yaml
unset SLOW
for k in 0 1; do
    check "task $k has its file" one_rank verify "whole short.h5" "results/libras_${id}_$k.h5"
done

about "USR1, by mpirun"
same_answer "$signalled" short 80
no_training_twice "$signalled" 80

about "a node is lost, by srun"
check "is requeued" wait_for 60 has_restarted "$lost_srun"
"$sandbox" on "$cluster" gpu2 # its step's socket is still there: the second start cannot launch it at first
same_answer "$lost_srun" short 80

about "a node is lost, by mpirun"
check "is requeued" wait_for 60 has_restarted "$lost_mpirun"
expect_text "$(log_of "$lost_mpirun")" '^sweep.slurm: mpirun has lost a node: waiting for Slurm'
"$sandbox" on "$cluster" gpu4
same_answer "$lost_mpirun" short 80

about "only the slurmd of a node is lost"
still_writes="an earlier copy of this job still writes results/libras_$orphan.h5; job $orphan is requeued"
check "the second copy is put off" wait_for 60 grep -q "^sweep.slurm: $still_writes" "$(log_of "$orphan")"
check "the first one goes on" grep -q ' running: ' "$(file_of "$orphan").status"
"$sandbox" off "$cluster" "$node" # now it ends, too
ends "$orphan" COMPLETED
check "the same bits as an unbroken run" one_rank verify "whole long.h5" "$(file_of "$orphan")"
check "nothing is left beside the file" test "$(echo "$(file_of "$orphan")"*)" = "$(file_of "$orphan")"

about "the time limit, by srun"
check "is requeued" wait_for 90 has_restarted "$limited"
expect_text "$(log_of "$limited")" "^sweep.slurm: start 1 has stopped with a checkpoint; job $limited is requeued"
grep '^sweep.slurm: start' "$(log_of "$limited")" | sed 's/^/# /'
same_answer "$limited" long 320
expect_text "$(log_of "$limited")" '^sweep.slurm: the ranks were not launched \(code 0\); attempt 2'
no_training_twice "$limited" 320

finish
