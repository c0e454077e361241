# shellcheck shell=bash
# common.sh: what the tests of the job scripts share. Sourced instead of ../lib.sh, which it sources. Outside of Slurm it
# starts a cluster of virtual nodes (slurm-sandbox) and this test once more inside of it, and ends; inside it returns.
#
#   home                          a project of its own, with a blank and an accent in its name; the working folder
#   job CODE ARGUMENTS...         submits, waits, and expects that exit code of the job (of sbatch, if it refuses).
#                                 Sets id and log
#   wait_for SECONDS COMMAND...   until it succeeds
#   state JOB, exit_code JOB      JobState=..., and its number
#   has_ended JOB
#   one_rank ARGUMENTS...         the program on one rank
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
sandbox=$LIBRAS_ROOT/tests/slurm/slurm-sandbox

# ---- Outside: is there a Slurm, and may we start one? Then the test once more, inside ---------------------------------
if [ "${1:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || skip_all "starting a Slurm needs root"
    for command in slurmctld slurmd sbatch munged ip unshare; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null ||
            skip_all "no $command: apt-get install slurm-wlm munge iproute2 util-linux"
    done
    unshare --net --uts --mount --pid --fork --mount-proc true 2>/dev/null || skip_all "namespaces are not allowed here"
    getent hosts "$(hostname)" >/dev/null || skip_all "this machine's host name is not in /etc/hosts"
    [ -x "$LIBRAS_PROGRAM" ] || skip_all "the program is not built"
    # Sockets of Slurm lie there, and their paths are short: not in TMPDIR.
    place=$(mktemp -d /tmp/libras-slurm.XXXXXX) || exit 1
    cleanup() { rm -rf "$scratch" "$place"; }
    "$sandbox" run "$place" "$0" inside
    exit
fi

# ---- Inside ------------------------------------------------------------------------------------------------------------
home="$scratch/São João/libras"
mkdir -p "$home" "$scratch/elsewhere"
cp -R jobs "$home"
rm -f "$home/jobs/site.sh"
ln -s "$(readlink -f "$LIBRAS_PROGRAM")" "$home/libras_mpi"
unset LIBRAS_HOME LIBRAS_SITE LIBRAS_LAUNCHER LIBRAS_SRUN_MPI LIBRAS_DATA LIBRAS_MAX_RESTARTS "${!SBATCH_@}"
cd "$home" || exit 1

# A look every quarter of a second: `sbatch --wait` looks ever more seldom, and may be half a minute late.
wait_for() {
    local k last=$(($1 * 4))
    shift
    for ((k = 0; k < last; k++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.25
    done
    return 1
}
state() { scontrol show job "$1" | grep -oE 'JobState=[A-Z_]+'; }
has_ended() { # all tasks of an array
    local states
    states=$(state "$1") && ! grep -vE '=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$' <<<"$states"
}
# The highest of an array's; 128 more than a signal.
exit_code() {
    scontrol show job "$1" | sed -nE 's/.* ExitCode=([0-9]+):([0-9]+).*/\1 \2/p' |
        awk '{ code = $2 ? 128 + $2 : $1; if (code > most) most = code } END { print most + 0 }'
}
job() {
    local code=$1 got
    shift
    sbatch --parsable "$@" >"$scratch/id" 2>"$scratch/sbatch"
    got=$?
    id=$(cut -d';' -f1 <"$scratch/id")
    if [ "$got" = 0 ]; then
        wait_for 200 has_ended "$id" && got=$(exit_code "$id") || got="not in time"
    fi
    log=$(echo slurm-*-"${id:-none}".out)
    [ "$got" = "$code" ]
    report $? "ends $code${*:+: sbatch ${*/#$scratch/...}}"
    [ "$got" = "$code" ] || {
        echo "# it ended: $got"
        cat "$scratch/sbatch" "$log" 2>/dev/null | tail -n 20 | sed 's/^/# /'
    }
}
one_rank() { mpirun -np 1 "$home/libras_mpi" "$@"; }
