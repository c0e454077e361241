# shellcheck shell=bash
# job.sh: what every job script does before its work. Sourced by them, once they know the project's folder; not run.
#
# The script has set: name (its own, for messages) and home (the project). It gets: the working folder, the site's
# settings, program, launch (all ranks) and launch_one (one rank); and, by `read_out "$@"`, out (the results file), add_out
# (what to add to the arguments) and verify (yes, no).
# shellcheck disable=SC2034,SC2154 # what is set here is used there, and the other way round

stop() { # CODE REASON: the codes are those of libras_mpi
    echo "$name: $2" >&2
    exit "$1"
}

# Relative paths in the arguments start where the job was submitted, or, within the project, at its root.
case $SLURM_SUBMIT_DIR/ in
"$home"/*) cd "$home" || exit 4 ;;
*) cd "$SLURM_SUBMIT_DIR" || exit 4 ;;
esac

site=${LIBRAS_SITE:-$home/jobs/site.sh}
if [ -f "$site" ]; then
    set +u # module systems read variables that are not set
    # shellcheck source=site.example.sh
    . "$site"
    set -u
elif [ -n "${LIBRAS_SITE:-}" ]; then
    stop 2 "LIBRAS_SITE=$site is not there"
fi

program=
for file in "$home/libras_mpi" "$home/../../bin/libras_mpi"; do # a checkout; installed in PREFIX/share/libras_mpi/jobs
    if [ -x "$file" ]; then
        program=$file
        break
    fi
done
[ -n "$program" ] || stop 4 "no $home/libras_mpi: build it first (cd '$home' && make)"

# ---- How ranks are started -------------------------------------------------------------------------------------------
# The environment goes along even after sbatch --export=NONE. No --kill-on-bad-exit: it ends the other ranks by a signal,
# whose code (143) would hide the program's own. A rank that dies takes the others with it all the same (PMIx).
[ -z "${SLURM_CPUS_PER_TASK:-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
nodes=$SLURM_JOB_NUM_NODES
case ${LIBRAS_LAUNCHER:-srun} in
srun)
    launch=(srun "--mpi=${LIBRAS_SRUN_MPI:-pmix}" --export=ALL --wait=30)
    launch_one=("${launch[@]}" --nodes=1 --ntasks=1 --ntasks-per-node=1)
    ;;
mpirun)
    launch=(mpirun)
    launch_one=(mpirun -np 1)
    ;;
*) stop 2 "LIBRAS_LAUNCHER is srun or mpirun, not '$LIBRAS_LAUNCHER'" ;;
esac

# read_out ARGUMENTS...: which results file the arguments name, and whether there will be one.
read_out() {
    local word before=
    out=results/libras_${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}.h5
    add_out=(--out "$out")
    verify=yes
    for word in "$@"; do
        case $before in --out | -o) out=$word add_out=() ;; esac
        case $word in
        --out=*) out=${word#--out=} add_out=() ;;
        -o?*) out=${word#-o} add_out=() ;;
        --help | -h | --dry-run) verify=no add_out=() ;;
        esac
        before=$word
    done
}

# restarted: is this another start of the job, after a requeue?
restarted() {
    [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || return 1
    echo "$name: start $((SLURM_RESTART_COUNT + 1)) of job $SLURM_JOB_ID"
}

# done_before: after a requeue, is the file of the first start there? It is complete, or it would not be.
done_before() {
    restarted || return 1
    [ "$verify" = yes ] && [ -e "$out" ] || return 1
    echo "$name: $out is complete, and is verified once more"
}

# ---- Before the start ------------------------------------------------------------------------------------------------
echo "$name: job $SLURM_JOB_ID, ${SLURM_NTASKS:-?} tasks on $nodes node(s) $SLURM_JOB_NODELIST of" \
    "$SLURM_JOB_PARTITION, GPUs ${CUDA_VISIBLE_DEVICES:-none}, by ${launch[*]}, in $PWD"
"$program" --version

# Each node must have the program and its libraries: better one line now than N ranks that cannot start.
# shellcheck disable=SC2016 # expands on the nodes
misses=$(srun --mpi=none --export=ALL --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 sh -c '
    [ -x "$1" ] || { echo "$SLURMD_NODENAME: there is no $1"; exit 0; }
    ldd "$1" | sed -n "s/^[[:space:]]*\(.*not found.*\)/$SLURMD_NODENAME: \1/p"' sh "$program")
[ -z "$misses" ] || stop 4 "the nodes lack what the program needs:"$'\n'"$misses"
