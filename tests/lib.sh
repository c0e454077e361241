# shellcheck shell=bash
# lib.sh: for tests written in bash. They speak TAP.
#
#   . "$(dirname "$0")/../lib.sh"      sets scratch, an empty folder that is removed at the end
#   check NAME COMMAND...              ok if COMMAND succeeds
#   check_not NAME COMMAND...          ok if COMMAND fails
#   expect_exit CODE COMMAND...        ok if it ends with CODE; its output is then in $scratch/stdout and $scratch/stderr
#   expect_text stdout|stderr|FILE ERE ok if a line of the last command's output (or of FILE) matches
#   expect_no_text ...                 ok if none does
#   about TEXT                         goes before the names of the results that follow
#   skip NAME REASON, skip_all REASON  one result, or the whole file
#   finish                             the last line of every test: prints the plan. A test that ends before it has no
#                                      plan, and the runner counts that as a failure.
set -u
: "${LIBRAS_ROOT:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
: "${LIBRAS_BUILD:=$LIBRAS_ROOT/build}" "${LIBRAS_PROGRAM:=$LIBRAS_ROOT/libras_mpi}" "${MPIRUN:=mpirun --oversubscribe}"
export LIBRAS_ROOT LIBRAS_BUILD LIBRAS_PROGRAM MPIRUN
cd "$LIBRAS_ROOT" || exit 1

scratch=$(mktemp -d "${TMPDIR:-/tmp}/libras.XXXXXX") || exit 1
cleanup() { rm -rf "$scratch"; } # a test with more to tidy up defines its own, and calls rm itself
trap cleanup EXIT
# Open MPI's own files: launchers that start and end at once make and remove one folder, and one of them fails. Here it
# is never empty, so nobody removes it; and what a killed launcher leaves goes with scratch. (Slurm's nodes have theirs.)
if [ -z "${OMPI_MCA_orte_tmpdir_base:-}" ]; then
    mkdir -p "$scratch/mpi/ompi.${HOSTNAME%%.*}.$UID/keep" && chmod 1777 "$scratch/mpi" || exit 1
    export OMPI_MCA_orte_tmpdir_base=$scratch/mpi
fi
trap 'exit 143' TERM INT HUP

results=0 failures=0 subject=

report() { # STATUS NAME
    results=$((results + 1))
    if [ "$1" = 0 ]; then
        echo "ok $results - $subject$2"
    else
        failures=$((failures + 1))
        echo "not ok $results - $subject$2"
    fi
}

about() { subject="$1: "; }

# A command's own output goes to stderr, where the runner shows it after a failure.
check() {
    local name=$1
    shift
    "$@" >&2
    report $? "$name"
}

check_not() {
    local name=$1
    shift
    ! "$@" >&2
    report $? "$name"
}

expect_exit() {
    local code=$1 got
    shift
    "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
    got=$?
    [ "$got" = "$code" ]
    report $? "exit $code: ${*/#$LIBRAS_ROOT\//}"
    [ "$got" = "$code" ] || {
        echo "# it ended $got; its last words:"
        tail -n 10 "$scratch/stdout" "$scratch/stderr" | sed 's/^/#   /'
    }
}

output_file() { case $1 in stdout | stderr) echo "$scratch/$1" ;; *) echo "$1" ;; esac }

expect_text() {
    grep -qE -e "$2" "$(output_file "$1")"
    report $? "$1 says: $2"
}

expect_no_text() {
    ! grep -E -e "$2" "$(output_file "$1")" >&2
    report $? "$1 does not say: $2"
}

skip() {
    results=$((results + 1))
    echo "ok $results - $subject$1 # SKIP $2"
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

finish() {
    echo "1..$results"
    [ "$failures" = 0 ]
    exit
}
