# shellcheck shell=bash
# common.sh: what the tests of the whole program share. Sourced instead of ../lib.sh, which it sources.
#
#   program ARGUMENTS...    the program without mpirun
#   ranks N ARGUMENTS...    the program on N ranks
#   wrapped N COMMANDS ...  the same, each rank started by a shell that first does COMMANDS
#   within SECONDS COMMAND  its status, or 124 if it takes longer
#   says_once ERE           the program itself, not mpirun, said it in one line of the last stderr
#   no_files PATH...        there is no such results file, nor a part or lock of it
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
[ -x "$LIBRAS_PROGRAM" ] || skip_all "the program is not built"
command -v "${MPIRUN%% *}" >/dev/null || skip_all "no ${MPIRUN%% *}: apt-get install openmpi-bin"
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
unset LIBRAS_DATA "${!SLURM_@}"

patience=240 # seconds: what takes longer hangs, and ends 124; others use the machine, too
# One rank needs no network and no daemon beside it, and both take a while. Where a test starts "$LIBRAS_PROGRAM" itself, it
# has them. Without a daemon all are job 0: those that run at once must not share a folder of Open MPI's.
program() {
    OMPI_MCA_btl=self OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_orte_tmpdir_base=$scratch/mpi/$BASHPID \
        timeout -k 5 "$patience" "$LIBRAS_PROGRAM" "$@"
}
ranks() {
    local n=$1
    shift
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    timeout -k 5 "$patience" $MPIRUN -np "$n" "$LIBRAS_PROGRAM" "$@"
}
# wrapped N COMMANDS ARGUMENTS...: the program on N ranks, each started by a shell that first does COMMANDS; $rank is its
# rank, and "$@" its arguments.
wrapped() {
    local n=$1 commands=$2
    shift 2
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    timeout -k 5 "$patience" $MPIRUN -np "$n" \
        sh -c "rank=\$OMPI_COMM_WORLD_RANK; $commands; exec \"$LIBRAS_PROGRAM\" \"\$@\"" sh "$@"
}
# within SECONDS COMMAND...: it ends within them; its status.
within() {
    local most=$1 begin=$SECONDS status
    shift
    "$@"
    status=$?
    [ $((SECONDS - begin)) -le "$most" ] || status=124
    return $status
}
# own_lines: of the last command's stderr, without mpirun's.
own_lines() { grep -E '^libras_mpi(\[[0-9]+@[^]]+\])?: ' "$scratch/stderr"; }
# says_once ERE: the last command's stderr has exactly one line of the program's that matches.
says_once() { check "says once: $1" test "$(own_lines | grep -cE -e "$1")" = 1; }
no_files() { # PATH...: none is there, nor what is written before it
    local path
    for path; do
        check "leaves no ${path/#$scratch\//}" test ! -e "$path" -a ! -e "$path.part" -a ! -e "$path.lock"
    done
}
