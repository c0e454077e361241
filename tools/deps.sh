#!/usr/bin/env bash
# deps.sh run|check: makes sure that this machine has what `make run` or `make check` needs.
#
# It looks for the things themselves, not for packages, so that a cluster's modules count. Where all is there it prints
# nothing. What is missing it installs on Debian and Ubuntu, as root or through sudo, saying which; where it cannot, or
# with NO_INSTALL=1, it names what is missing and ends 2.
set -u
what=${1:?usage: deps.sh run|check}
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/sbin:/sbin

packages=() # what to install
missing=()  # what it is wanted for
wished=()   # what can be done without, but is installed where that is possible

# need PACKAGES THING COMMAND...: the packages bring the thing; the command finds it.
need() {
    local bring=$1 thing=$2
    shift 2
    "$@" >/dev/null 2>&1 && return
    missing+=("$thing")
    # shellcheck disable=SC2206 # package names are words
    packages+=($bring)
}
# wish PACKAGES THING COMMAND...: the same, and nobody is told where it cannot be installed.
wish() {
    "${@:3}" >/dev/null 2>&1 && return
    wished+=("$2")
    packages+=("$1")
}
have() { command -v "$1"; }
compiles() { "$@" -x c -E - <<<'#include <stdio.h>'; }
have_cmocka() { "${PKG_CONFIG:-pkg-config}" --exists cmocka; }
have_comma_locale() { # one with a decimal comma, or what it is made from
    [ -e /usr/share/i18n/locales/pt_BR ] || locale -a | grep -qi '^pt_BR\.utf'
}
have_python() { # one python3 with all that the tests import
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} /usr/bin/python3 python3; do
        "$candidate" -c 'import sys, importlib.util as i
sys.exit(not all(map(i.find_spec, ["numpy", "h5py", "xarray", "netCDF4", "h5netcdf", "matplotlib", "pandas", "nbclient",
                                   "ipykernel"])))' && return
    done
    return 1
}
have_r() { Rscript -e 'quit(status = !requireNamespace("hdf5r", quietly = TRUE))'; }

clang_runtime() { # the package of the sanitizers' and libFuzzer's libraries, which has the compiler's number in its name
    local number
    number=$(apt-cache depends clang 2>/dev/null | grep -oE 'clang-[0-9]+' | head -n 1)
    number=${number#clang-}
    echo "libclang-rt-${number:-14}-dev"
}

need make make have make
need "gcc libc6-dev" "a C compiler" compiles "${CC:-gcc}"
need libopenmpi-dev "${MPICC:-mpicc}" have "${MPICC:-mpicc}"
mpirun=${MPIRUN:-mpirun}
need openmpi-bin "${mpirun%% *}" have "${mpirun%% *}"
need "libhdf5-dev pkg-config" HDF5 tools/find-hdf5.sh
# Pictures for `import` and `predict`, files for `sweep`: the program is built without them, too; its tests want all.
bring=wish
[ "$what" = run ] || bring=need
$bring libjpeg-dev libjpeg tools/find-library.sh jpeg
$bring libpng-dev libpng tools/find-library.sh png
$bring libexpat1-dev expat tools/find-library.sh expat
$bring libyaml-dev libyaml tools/find-library.sh yaml
if [ "$what" = check ]; then
    need g++ "a C++ compiler" have "${CXX:-g++}"
    need "libcmocka-dev pkg-config" cmocka have_cmocka
    need hdf5-tools h5dump have h5dump
    need "python3-numpy python3-h5py python3-xarray python3-netcdf4 python3-h5netcdf python3-matplotlib python3-pandas \
        python3-nbclient python3-ipykernel" \
        "a python3 with numpy, h5py, xarray, netCDF4, h5netcdf, matplotlib, pandas, nbclient and ipykernel" have_python
    need r-cran-hdf5r "R with hdf5r" have_r
    need locales "the locale pt_BR" have_comma_locale
    need shellcheck shellcheck have shellcheck
    need clang-format clang-format have clang-format
    need "clang $(clang_runtime)" "clang with libFuzzer" tests/fuzz/can_fuzz.sh clang
    if [ "$(id -u)" = 0 ]; then # the tests of the job scripts start a Slurm of their own, as root
        need slurm-wlm slurmctld have slurmctld
        need munge munged have munged
        need iproute2 ip have ip
    fi
fi
[ ${#missing[@]} -gt 0 ] || [ ${#wished[@]} -gt 0 ] || exit 0

list=$(printf ', %s' "${missing[@]}" "${wished[@]}")
give_up() {
    [ ${#missing[@]} -gt 0 ] || exit 0 # what is only wished for can be done without
    {
        echo "make $what: missing: ${list:2}."
        echo "  $1"
        echo "  Debian, Ubuntu: apt-get install ${packages[*]}"
        echo "  A cluster: load its modules for a compiler, MPI and HDF5, then try again."
        [ "$what" = run ] || echo "  What can be tested without them: make all tests; tests/run"
    } >&2
    exit 2
}

[ -z "${NO_INSTALL:-}" ] || give_up "NO_INSTALL is set, so nothing is installed."
command -v apt-get >/dev/null || give_up "This system has no apt-get, so nothing is installed."
sudo=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || give_up "Installing needs root or sudo."
    if sudo -n true 2>/dev/null; then
        sudo=(sudo -n)
    elif [ -t 0 ]; then
        sudo=(sudo)
    else
        give_up "Installing needs root, and sudo would ask for a password."
    fi
fi

echo "make $what: missing: ${list:2}. Installing with apt-get: ${packages[*]}" >&2
apt() {
    local try
    for try in 1 2 3; do
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >&2 && return
        echo "make $what: apt-get $1 failed (attempt $try of 3)" >&2
        sleep $((try * 5))
    done
    return 1
}
apt update || echo "make $what: going on with the package lists that are there" >&2
apt install -y --no-install-recommends "${packages[@]}" || give_up "apt-get could not install them."
# Once more: now nothing may be missing.
NO_INSTALL=1 exec "$0" "$what"
