#!/usr/bin/env bash
# The job scripts in a real Slurm: three virtual nodes on this machine, started and stopped by slurm-sandbox.
# timeout: 600
. "$(dirname "$0")/common.sh"
quick=(--epochs 2 --block "32,64")

files=()
# trained TEXT SBATCH_ARGUMENTS...: a job that succeeds, whose log says TEXT.
trained() {
    local text=$1
    shift
    job 0 "$@" jobs/sweep.slurm "${quick[@]}"
    expect_text "$log" "$text"
    check "its file is there" test -s "results/libras_$id.h5"
    files+=("results/libras_$id.h5")
}

about "srun"
trained '4 tasks on 1 node.* gpu[12] of merry_gpu, GPUs 0,1,2,3, by srun --mpi=pmix'
trained '4 tasks on 2 node.* gpu\[1-2\] of merry_gpu' --nodes=2 --ntasks-per-node=2
trained '4 tasks on 1 node.* cpu1 of merry_cpu, GPUs none' -p merry_cpu --gres=none
trained '4 tasks on 1 node' --export=NONE

about "mpirun"
export LIBRAS_LAUNCHER=mpirun
trained '4 tasks on 1 node.* gpu[12] of merry_gpu, GPUs 0,1,2,3, by mpirun'
trained '4 tasks on 2 node.* gpu\[1-2\] of merry_gpu' --nodes=2 --ntasks-per-node=2
trained '4 tasks on 1 node.* cpu1 of merry_cpu' -p merry_cpu --gres=none
unset LIBRAS_LAUNCHER

about "--ntasks-per-node alone"
sed '/--ntasks=/d' jobs/sweep.slurm >jobs/per-node.slurm # as somebody who trusts a template writes it
for launcher in srun mpirun; do
    job 0 --export="ALL,LIBRAS_LAUNCHER=$launcher" --ntasks-per-node=4 jobs/per-node.slurm "${quick[@]}"
    expect_text "$log" ' ranks=4 '
    files+=("results/libras_$id.h5")
done
job 0 --nodes=2 jobs/sweep.slurm "${quick[@]}"
expect_text "$log" '4 tasks on 2 node'
expect_text "$log" ' ranks=4 '

about "launcher, nodes and partition"
for file in "${files[@]:1}"; do
    check "do not change the answer: $file" one_rank verify "${files[0]}" "$file"
done
expect_exit 0 one_rank verify "${files[1]}"

about "a job that fails"
job 2 jobs/sweep.slurm --data "$scratch/no such folder"
expect_text "$log" 'no such folder'
check "is FAILED" test "$(state "$id")" = JobState=FAILED
check_not "leaves no file" test -e "results/libras_$id.h5"
job 2 --export=ALL,LIBRAS_LAUNCHER=mpirun jobs/sweep.slurm --data "$scratch/no such folder"
expect_text "$log" 'no such folder'
job 2 --export=ALL,LIBRAS_LAUNCHER=aprun jobs/sweep.slurm
expect_text "$log" "LIBRAS_LAUNCHER is srun or mpirun, not 'aprun'"
begin=$SECONDS
job 2 --export=ALL,LIBRAS_SRUN_MPI=none jobs/sweep.slurm "${quick[@]}"
check "srun without --mpi is told, once" test "$(grep -c 'srun has started 4 processes without telling them' "$log")" = 1
check "and soon" test $((SECONDS - begin)) -le 60
check_not "and leaves no file" test -e "results/libras_$id.h5"
job 1 -p merry_cpu jobs/sweep.slurm
check "a CPU partition has no GPUs to ask for" grep -q 'Requested node configuration is not available' "$scratch/sbatch"
mv libras_mpi real
# shellcheck disable=SC2016 # expands in the job
printf '#!/bin/sh\n[ "$1" != verify ] || exit 3\nexec "%s" "$@"\n' "$home/real" >libras_mpi
chmod +x libras_mpi
job 3 jobs/sweep.slurm "${quick[@]}"
check "when its file is not valid: FAILED" test "$(state "$id")" = JobState=FAILED
rm libras_mpi
job 4 jobs/sweep.slurm
expect_text "$log" 'build it first'
mv real libras_mpi

about "an explicit --out"
job 0 jobs/sweep.slurm "${quick[@]}" --out "results/meu resultado.h5"
check "is what is made" test -s "results/meu resultado.h5"
job 2 jobs/sweep.slurm "${quick[@]}" "--out=results/meu resultado.h5"
expect_text "$log" 'meu resultado.h5'

about "an array"
job 0 --array=0-3 jobs/sweep.slurm "${quick[@]}" --device cpu
for k in 0 1 2 3; do
    check "task $k has its file" test -s "results/libras_${id}_$k.h5"
done
check "and its log" test "$(grep -lE '^verdict +VALID' slurm-libras-*.out | xargs grep -lE "libras_${id}_[0-3].h5" | wc -l)" = 4
check "all have the same bits" one_rank verify "results/libras_${id}_0.h5" "results/libras_${id}_3.h5"

about "twin jobs on one file"
twins=()
for k in 1 2; do
    twins+=("$(sbatch --parsable --nodes=1 jobs/sweep.slurm --epochs 100 --block 32 --seed 1:40 --device cpu --out results/twin.h5)")
done
both_end() { has_ended "${twins[0]}" && has_ended "${twins[1]}"; }
check "both end" wait_for 200 both_end
states="$(state "${twins[0]}") $(state "${twins[1]}")"
check "one is COMPLETED, the other FAILED: $states" test "$(tr ' ' '\n' <<<"$states" | sort | tr '\n' ' ')" = \
    "JobState=COMPLETED JobState=FAILED "
check "the loser says why" grep -qE "another run \(.*\) is writing|twin.h5. exists" "slurm-libras-${twins[0]}.out" "slurm-libras-${twins[1]}.out"
expect_exit 0 one_rank verify results/twin.h5 -q
check "nothing is left beside it" test "$(echo results/twin.h5*)" = results/twin.h5

about "infer.slurm"
cp "${files[0]}" "results/os pesos.h5"
job 0 jobs/infer.slurm "results/os pesos.h5"
expect_text "$log" '^weights +results/os pesos.h5, trial 0$'
check "its file is there" test -s "results/libras_$id.h5"
one_rank synth "$scratch/many.pack" -n 300 --packed u8 -q
for launcher in srun mpirun; do
    job 0 --nodes=2 --ntasks-per-node=2 --export="ALL,LIBRAS_LAUNCHER=$launcher" jobs/infer.slurm "results/os pesos.h5" \
        --data "$scratch/many.pack" -o "results/de $launcher.h5"
    expect_text "$log" ' ranks=4 .*status=VALID$'
done
check "the launcher does not change the answer" one_rank verify "results/de srun.h5" "results/de mpirun.h5"
job 2 jobs/infer.slurm
expect_text "$log" "'infer' needs RESULTS.h5"
check "is FAILED" test "$(state "$id")" = JobState=FAILED
job 2 jobs/infer.slurm results/nowhere.h5
expect_text "$log" 'nowhere.h5'

about "an ordinary user"
if command -v setpriv >/dev/null && getent passwd nobody >/dev/null; then
    chmod 755 "$scratch"
    mkdir -p "$scratch/de ninguém" && cp -RL jobs "$home/libras_mpi" "$scratch/de ninguém" &&
        chown -R nobody "$scratch/de ninguém"
    cd "$scratch/de ninguém" || exit 1
    sbatch() { command setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$PWD" sbatch "$@"; }
    for launcher in srun mpirun; do
        job 0 --export="ALL,LIBRAS_LAUNCHER=$launcher" jobs/sweep.slurm "${quick[@]}"
        check "the file is theirs ($launcher)" test "$(stat -c %U "results/libras_$id.h5")" = nobody
    done
    mkdir "$scratch/of root" && chmod 755 "$scratch/of root"
    job 2 jobs/sweep.slurm "${quick[@]}" --out "$scratch/of root/x.h5"
    expect_text "$log" "cannot write in folder '.*of root': Permission denied"
    unset -f sbatch
    cd "$home" || exit 1
else
    skip "sweep.slurm" "no setpriv, or no user nobody"
fi

about "submitted from jobs/"
cd "$home/jobs" || exit 1
job 0 sweep.slurm "${quick[@]}"
check "the file is in the project's results" test -s "$home/results/libras_$id.h5"
check "the log is where it was submitted" test -s "$home/jobs/$log"

about "submitted from elsewhere"
cd "$scratch/elsewhere" || exit 1
job 0 "$home/jobs/sweep.slurm" "${quick[@]}"
check "the file is there" test -s "$scratch/elsewhere/results/libras_$id.h5"
expect_text "$log" ', in .*/elsewhere$'
cp "$home/jobs/sweep.slurm" copy.slurm
job 2 copy.slurm
expect_text "$log" 'submit from its folder, or set LIBRAS_HOME'
job 2 --export="ALL,LIBRAS_HOME=$scratch" copy.slurm
expect_text "$log" "LIBRAS_HOME=$scratch has no jobs/job.sh"
echo "export LIBRAS_DATA='$scratch/of the site'" >site.sh
job 2 --export="ALL,LIBRAS_HOME=$home,LIBRAS_SITE=site.sh" copy.slurm
expect_text "$log" 'of the site'

about "a job that is requeued while it runs"
cd "$home" || exit 1
id=$(sbatch --parsable jobs/sweep.slurm --epochs 100 --block 32 --seed 1:120 --device cpu) log=slurm-libras-$id.out
check "it trains" wait_for 60 test -s "results/libras_$id.h5.part"
scontrol requeue "$id"
has_restarted() { scontrol show job "$id" | grep -q 'Restarts=1'; }
ended_again() { has_restarted && has_ended "$id"; }
wait_for 200 ended_again
check "is COMPLETED in the end" test "$(state "$id")" = JobState=COMPLETED
expect_text "$log" '^sweep.slurm: start 2 of job'
check "its log has both starts" test "$(grep -c '^sweep.slurm: job' "$log")" = 2
check "each trial is there once" test "$(one_rank export "results/libras_$id.h5" --table trials | tail -n +2 | cut -d, -f1 | sort -nu | wc -l)" = 120
check "nothing is left beside the file" test "$(echo "results/libras_$id".h5*)" = "results/libras_$id.h5"

about "a requeued job"
cd "$home" || exit 1
id=$(basename "${files[0]}" .h5) && id=${id#libras_} log=slurm-libras-$id.out
scontrol requeue "$id"
wait_for 200 ended_again
check "is COMPLETED" test "$(state "$id")" = JobState=COMPLETED
expect_text "$log" 'results/libras_[0-9]*.h5 is complete, and is verified once more'
check "the log of its first start is kept" test "$(grep -c 'sweep.slurm: job' "$log")" = 2

finish
