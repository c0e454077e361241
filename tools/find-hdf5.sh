#!/usr/bin/env bash
# find-hdf5.sh: which HDF5 to build with. Prints one line, `NAME VERSION serial|parallel FLAGS...`, or nothing and ends 1.
#
# In this order: the folder in HDF5_DIR, HDF5_ROOT or HDF5_HOME (what modules of clusters set); pkg-config under the
# names that distributions use, serial first; the compiler wrappers h5cc and h5pcc. A parallel HDF5 serves too, but its
# headers want mpi.h: the Makefile then compiles with mpicc.
set -u
pkg_config=${PKG_CONFIG:-pkg-config}

answer() { # NAME VERSION FLAGS...
    local name=$1 version=$2 kind=serial word folder
    shift 2
    for word in "$@"; do
        [[ $word == -I* ]] || continue
        folder=${word#-I}
        [ -n "$version" ] ||
            version=$(sed -n 's/.*H5_VERS_INFO.*version:* \([0-9.]*\).*/\1/p' "$folder/H5public.h" 2>/dev/null)
        ! grep -qsE 'define +H5_HAVE_PARALLEL +1' "$folder"/H5pubconf*.h || kind=parallel
    done
    echo "$name ${version:-unknown} $kind $*"
    exit 0
}

for folder in "${HDF5_DIR:-}" "${HDF5_ROOT:-}" "${HDF5_HOME:-}"; do
    [ -n "$folder" ] || continue
    [ -e "$folder/include/hdf5_hl.h" ] || continue
    lib=$folder/lib
    [ -d "$lib" ] || lib=${lib}64
    answer "$folder" "" "-I$folder/include" "-L$lib" "-Wl,-rpath,$lib" -lhdf5_hl -lhdf5
done

if command -v "$pkg_config" >/dev/null; then
    for name in hdf5-serial hdf5 hdf5-openmpi; do
        "$pkg_config" --exists "$name" 2>/dev/null || continue
        # shellcheck disable=SC2046 # the flags are words
        set -- $("$pkg_config" --cflags --libs "$name")
        answer "$name" "$("$pkg_config" --modversion "$name")" "${@/#-lhdf5/-lhdf5_hl -lhdf5}"
    done
fi

for wrapper in h5cc h5pcc; do
    command -v "$wrapper" >/dev/null || continue
    flags=()
    for word in $("$wrapper" -show 2>/dev/null); do
        case $word in -I* | -L* | -l* | -Wl,* | *.a | *.so) flags+=("$word") ;; esac
    done
    [ ${#flags[@]} -eq 0 ] || answer "$wrapper" "" "${flags[@]}"
done
exit 1
