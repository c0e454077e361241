#!/usr/bin/env bash
# The Makefile and tools/deps.sh, each probe both ways: where the thing is there, and where it is not. Everything is
# tried on a tiny project of the same layout, in a folder with a space and an accent in its name.
. "$(dirname "$0")/../lib.sh"

tree="$scratch/São João/tree"
mkdir -p "$tree"/{src,mpi,man,jobs,tests/unit}
cp -R Makefile tools LICENSE CHANGELOG.md "$tree"
echo 'hello' | tee "$tree/README.md" "$tree/man/libras_mpi.1" "$tree/jobs/sweep.slurm" "$tree/jobs/sweep.yaml" >/dev/null
cd "$tree" || exit 1
cat >src/reference.c <<'END'
#define NAME2(a, b) a##b
#define NAME(a, b) NAME2(a, b)
int NAME(reference_, LM_REFERENCE_SUFFIX)(void);
int NAME(reference_, LM_REFERENCE_SUFFIX)(void)
{
#ifdef __FMA__
    return 2;
#else
    return 1;
#endif
}
END
cat >src/tiny.c <<'END'
#include <H5public.h>
#include "tiny.h"
int tiny(void)
{
    unsigned a, b, c;
    return H5get_libversion(&a, &b, &c) < 0 ? -1 : (int)a;
}
END
echo 'int tiny(void);' >src/tiny.h
cat >mpi/main.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include "tiny.h"
#include "version.h"
int main(void)
{
    int size;
    MPI_Init(0, 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("version %s commit %s hdf5 %d ranks %d\n", LM_VERSION, LM_COMMIT, tiny(), size);
    return MPI_Finalize();
}
END
cat >tests/unit/test_tiny.c <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tiny.h"
static void test_one(void **state)
{
    (void)state;
    assert_true(tiny() > 0);
}
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one)};
    return cmocka_run_group_tests(tests, 0, 0);
}
END
echo 'int main() { return 0; }' >tests/unit/oracle.cpp

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES HDF5_DIR HDF5_ROOT HDF5_HOME CFLAGS CPPFLAGS LDFLAGS
unset PYTHON MPIRUN BUILD V WERROR
export NO_INSTALL=1 # whatever goes wrong below, it installs nothing on this machine

bin=$scratch/commands
# machine COMMAND...: a new PATH, $bin, that has all of this machine's commands but these.
machine() {
    rm -rf "$bin"
    mkdir "$bin"
    cp -sf /usr/local/bin/* /usr/sbin/* /usr/bin/* /sbin/* /bin/* "$bin" 2>/dev/null
    for command in "$@"; do rm -f "$bin/$command"; done
}
# command_of NAME BODY: $bin gets a command of that name.
command_of() {
    rm -f "$bin/$1"
    printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}
# with_pc NAME...: a pkg-config that knows HDF5 under these names only, and nothing else.
with_pc() {
    rm -rf "$scratch/pc"
    mkdir -p "$scratch/pc"
    for name in "$@"; do
        printf 'Name: x\nDescription: x\nVersion: 9.8.7\nCflags: -I%s/inc\nLibs: -L/lib-of-%s -lhdf5\n' "$scratch" \
            "$name" >"$scratch/pc/$name.pc"
    done
}
fake() { PATH="$bin" PKG_CONFIG_LIBDIR="$scratch/pc" PKG_CONFIG_PATH="" "$@"; }

about "HDF5"
machine h5cc h5pcc h5cc.openmpi
for name in hdf5-serial hdf5 hdf5-openmpi; do
    with_pc "$name"
    expect_exit 0 fake tools/find-hdf5.sh
    expect_text stdout "^$name 9.8.7 serial -I.*/inc -L/lib-of-$name -lhdf5_hl -lhdf5$"
    expect_exit 0 fake make info
    expect_text stdout "^HDF5 +9.8.7 +$name, serial"
done
with_pc hdf5-openmpi hdf5 hdf5-serial
expect_exit 0 fake tools/find-hdf5.sh
expect_text stdout '^hdf5-serial '
mkdir "$scratch/inc"
echo '#define H5_HAVE_PARALLEL 1' >"$scratch/inc/H5pubconf.h"
with_pc hdf5-openmpi
expect_exit 0 fake make -n lib MPICC=/opt/mpi/mpicc
expect_text stdout '/opt/mpi/mpicc .*-c src/tiny.c'
rm -r "$scratch/inc"
with_pc
command_of h5cc 'echo gcc -O3 -I/cluster/include -L/cluster/lib /cluster/lib/libhdf5_hl.a -lz -Wl,-rpath,/cluster/lib'
expect_exit 0 fake tools/find-hdf5.sh
expect_text stdout '^h5cc unknown serial -I/cluster/include -L/cluster/lib /cluster/lib/libhdf5_hl.a -lz -Wl,-rpath,/cluster/lib$'
mkdir -p "$scratch"/module/{include,lib}
touch "$scratch/module/include/hdf5_hl.h"
echo '#define H5_VERS_INFO "HDF5 library version: 1.14.3"' >"$scratch/module/include/H5public.h"
expect_exit 0 fake env HDF5_DIR="$scratch/module" tools/find-hdf5.sh
expect_text stdout "^$scratch/module 1.14.3 serial -I$scratch/module/include -L$scratch/module/lib .*-lhdf5_hl -lhdf5$"
rm "$bin/h5cc"
expect_exit 1 fake tools/find-hdf5.sh
expect_exit 0 fake make info
expect_text stdout '^HDF5 +missing +apt-get install libhdf5-dev'
expect_exit 2 fake make lib
expect_text stderr '^HDF5 is missing: apt-get install libhdf5-dev'
rm "$bin/pkg-config"
expect_exit 1 fake tools/find-hdf5.sh

about "libraries that can be done without"
machine
with_pc libjpeg libpng expat yaml-0.1
for pair in jpeg:libjpeg png:libpng expat:expat yaml:yaml-0.1; do
    expect_exit 0 fake tools/find-library.sh "${pair%:*}"
    expect_text stdout "^9.8.7 -I.*/inc -L/lib-of-${pair#*:} -lhdf5$"
done
expect_exit 0 fake make info
expect_text stdout '^libjpeg +9\.8\.7 +import reads JPEG$'
expect_text stdout '^libpng +9\.8\.7 +import reads PNG$'
expect_text stdout '^expat +9\.8\.7 +import reads boxes$'
expect_text stdout '^libyaml +9\.8\.7 +sweep files$'
expect_exit 0 fake make -n lib HDF5_LIBS=-lhdf5 PNG=0
expect_text stdout '-DLM_HAVE_JPEG .*-DLM_HAVE_EXPAT .*-DLM_HAVE_YAML .*-c src/tiny.c'
expect_no_text stdout 'LM_HAVE_PNG'
expect_exit 0 fake make -n lib HDF5_LIBS=-lhdf5 YAML=0
expect_text stdout '-DLM_HAVE_JPEG .*-c src/tiny.c'
expect_no_text stdout 'LM_HAVE_YAML|lib-of-yaml'
expect_exit 0 fake make info PNG=0
expect_text stdout '^libpng +missing +import reads none: PNG=0$'
expect_exit 0 fake make info YAML=0
expect_text stdout '^libyaml +missing +no sweep files: YAML=0$'
with_pc # without .pc files: by building, or not
command_of cc-works 'exit 0'
command_of cc-fails 'exit 1'
for what in jpeg png expat yaml; do
    expect_exit 0 fake env CC=cc-works tools/find-library.sh $what
    expect_text stdout "^unknown -l$what$"
    expect_exit 1 fake env CC=cc-fails tools/find-library.sh $what
done
expect_exit 0 fake make info CC=cc-fails
expect_text stdout '^libjpeg +missing +import reads none: apt-get install libjpeg-dev$'
expect_text stdout '^expat +missing +import reads none: apt-get install libexpat1-dev$'
expect_text stdout '^libyaml +missing +no sweep files: apt-get install libyaml-dev$'
expect_exit 2 tools/find-library.sh gif
expect_text stderr 'gif is none of jpeg, png, expat, yaml'

about "MPI"
machine mpicc
expect_exit 0 env PATH="$bin" make info
expect_text stdout '^MPI +missing +apt-get install libopenmpi-dev'
expect_exit 2 env PATH="$bin" make
expect_text stderr '^mpicc is missing: apt-get install libopenmpi-dev'
expect_exit 0 env PATH="$bin" make lib
expect_exit 0 make info
expect_text stdout '^MPI +[0-9]'

about "cmocka"
cflags=$(make -s info | grep '^HDF5' | grep -oE -e '-I[^ ]+')
expect_exit 0 env PKG_CONFIG_LIBDIR=/nonexistent make tests HDF5_CFLAGS="$cflags" HDF5_LIBS=-lhdf5
expect_text stdout '^cmocka is missing: apt-get install libcmocka-dev$'
check "without it the rest is built" test -e build/liblibras.a
check "and the reason is left for the runner" grep -q 'libcmocka-dev' build/tests/not-built
expect_exit 0 make tests
check "is there: its tests are built" build/tests/test_tiny
check "C++ beside them, too" build/tests/oracle
check_not "and no reason is left" test -e build/tests/not-built

about "sanitizers"
expect_exit 0 make tests BUILD=build-asan SANITIZE=1
check "are in" grep -q __asan_init build-asan/tests/test_tiny
check "and the test passes with them" build-asan/tests/test_tiny
check_not "and only there" grep -q __asan_init build/tests/test_tiny

about "the program"
expect_exit 0 make
expect_text stdout '^ +MPICC mpi/main.c$'
check "is a link in the root" test "$(readlink libras_mpi)" = build/libras_mpi
expect_exit 0 mpirun --oversubscribe -np 3 ./libras_mpi
expect_text stdout '^version [0-9.]+ commit [^ ]+ hdf5 1 ranks 3$'
expect_exit 0 make
expect_no_text stdout '.'
touch src/tiny.h
expect_exit 0 make
expect_text stdout 'CC src/tiny.c'
expect_no_text stdout 'reference.c'
expect_exit 0 make CFLAGS=-Ofast V=1
expect_text stdout '-Ofast .*-fno-fast-math .*-c src/tiny.c'
expect_text stdout '-DLM_REFERENCE_SUFFIX=plain'
case $("${CC:-gcc}" -dumpmachine) in
x86_64-*)
    expect_text stdout '-DLM_HAVE_REFERENCE_FMA .*-c src/tiny.c'
    expect_text stdout '-DLM_REFERENCE_SUFFIX=fma .*-mfma'
    expect_no_text stdout '-mfma.*-c src/tiny.c'
    ;;
esac
# shellcheck disable=SC2016 # expands when it runs
command_of gcc 'case $1 in -dumpmachine) echo aarch64-linux-gnu ;; *) exec /usr/bin/gcc "$@" ;; esac'
expect_exit 0 env PATH="$bin" make -n lib BUILD=build-arm
expect_text stdout '-DLM_REFERENCE_SUFFIX=plain'
expect_no_text stdout 'mfma|REFERENCE_FMA'

about "the version"
expect_exit 0 make
check "without git, it says so" grep -q 'LM_COMMIT "unknown"' build/version.h
git init -q . && git add -A src && git -c user.name=n -c user.email=e commit -qm c
expect_exit 0 make
expect_text stdout 'MPICC mpi/main.c'
expect_no_text stdout 'CC src/tiny.c'
check "the commit is in" grep -q "LM_COMMIT \"$(git describe --always --abbrev=12)\"" build/version.h

about "make run"
expect_exit 0 make run NP=2
expect_text stdout 'ranks 2$'

about "make install"
expect_exit 0 make install DESTDIR="$scratch/d e" PREFIX=/opt/libras
for file in bin/libras_mpi share/man/man1/libras_mpi.1 share/doc/libras_mpi/LICENSE share/libras_mpi/jobs/sweep.{slurm,yaml}; do
    check "$file" test -f "$scratch/d e/opt/libras/$file"
done
check "the program can be run" test -x "$scratch/d e/opt/libras/bin/libras_mpi"
expect_exit 0 make uninstall DESTDIR="$scratch/d e" PREFIX=/opt/libras
check_not "uninstall leaves no file" grep . <(find "$scratch/d e" -type f)

about "make help"
expect_exit 0 make help
while read -r target; do
    case $target in '' | libras_mpi | need-* | FORCE | lint-*) ;; *) expect_text stdout "^  $target +[a-z]" ;; esac
done < <(sed -n 's/^\.PHONY: //p' Makefile | tr ' ' '\n')

about "make clean"
expect_exit 0 make clean
check_not "leaves nothing" grep . <(ls -d build build-asan libras_mpi 2>/dev/null)

about "deps"
with_pc
machine mpicc mpirun h5cc h5pcc
expect_exit 2 fake tools/deps.sh run
expect_text stderr '^make run: missing: mpicc, mpirun, HDF5\.$'
expect_text stderr 'NO_INSTALL is set'
expect_text stderr 'apt-get install libopenmpi-dev openmpi-bin libhdf5-dev pkg-config$'
expect_exit 2 fake make run
expect_text stderr 'missing: mpicc, mpirun, HDF5'
expect_exit 2 fake make check
expect_text stderr '^make check: missing: .*cmocka'
# Libraries that the program can do without: run does without them, check wants them.
machine
command_of no-pictures 'case "$*" in *-E*) exit 0 ;; *) exit 1 ;; esac'
expect_exit 0 fake env HDF5_DIR="$scratch/module" CC=no-pictures tools/deps.sh run
expect_no_text stderr '.'
expect_exit 2 fake env HDF5_DIR="$scratch/module" CC=no-pictures tools/deps.sh check
expect_text stderr '^make check: missing: .*libjpeg, libpng, expat, libyaml'
machine mpicc mpirun h5cc h5pcc
# From here on apt-get and sudo are inventions of this test.
unset NO_INSTALL
export PATH=$bin
rm -f "$bin/apt-get" "$bin/sudo"
expect_exit 2 fake tools/deps.sh run
expect_text stderr 'has no apt-get'

# An apt-get that fails once, and then brings everything.
command_of apt-get "echo \"\$@\" >>'$scratch/apt.log'
[ -e '$scratch/second' ] || { touch '$scratch/second'; exit 100; }
case \"\$*\" in *install*) ln -sf /bin/true '$bin/mpicc'; ln -sf /bin/true '$bin/mpirun'; touch '$scratch/module/ok' ;; esac"
command_of sleep ':'
expect_exit 0 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
if [ "$(id -u)" = 0 ]; then
    expect_text stderr '^make run: missing: mpicc, mpirun. Installing with apt-get: libopenmpi-dev openmpi-bin$'
    expect_text "$scratch/apt.log" 'install -y --no-install-recommends libopenmpi-dev openmpi-bin$'
    check "apt-get update is tried again" test "$(grep -c update "$scratch/apt.log")" = 2
    expect_exit 0 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
    expect_no_text stderr '.'
    command_of no-pictures 'case "$*" in *-E*) exit 0 ;; *) exit 1 ;; esac'
    expect_exit 0 fake env HDF5_DIR="$scratch/module" CC=no-pictures tools/deps.sh run
    expect_text stderr '^make run: missing: libjpeg, libpng, expat, libyaml. Installing with apt-get: libjpeg-dev libpng-dev libexpat1-dev libyaml-dev$'
    rm -f "$bin/mpicc"
    command_of apt-get 'exit 100'
    expect_exit 2 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
    expect_text stderr 'apt-get could not install them'
    command_of apt-get 'exit 0'
    expect_exit 2 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
    expect_text stderr '^make run: missing: mpicc\.$'
fi
# A user who is not root: without sudo, with one that asks for a password, with one that does not.
rm -f "$bin/mpicc"
command_of id 'echo 1000'
command_of apt-get "case \"\$*\" in *install*) ln -sf /bin/true '$bin/mpicc' ;; esac"
expect_exit 2 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
expect_text stderr 'needs root or sudo'
command_of sudo 'exit 1'
expect_exit 2 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
expect_text stderr 'sudo would ask for a password'
# shellcheck disable=SC2016
command_of sudo '[ "$1" = -n ] && shift; exec "$@"'
expect_exit 0 fake env HDF5_DIR="$scratch/module" tools/deps.sh run
check "sudo has brought it" test -e "$bin/mpicc"

finish
