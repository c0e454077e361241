#!/usr/bin/env bash
# The same bits from every compiler at every level of optimisation, in C and in pt_BR.UTF-8: the program is built several
# times, and each must train, score and draw what the ordinary build does.
# timeout: 600
. "$(dirname "$0")/common.sh"
command -v make >/dev/null || skip_all "no make"

# shellcheck disable=SC2054 # the commas are the program's
job=(--epochs 2 --block 32 --hidden 32x16,20x8 --learning-rate 0.02,0.1 -q) # on the built-in, drawn set
expect_exit 0 program "${job[@]}" -o "$scratch/ordinary.h5"
expect_exit 0 program "${job[@]}" --device cpu-ref -o "$scratch/reference.h5"
expect_exit 0 program verify "$scratch/ordinary.h5" "$scratch/reference.h5" -q
program synth "$scratch/drawn" -n 3 -q

export LOCPATH=$scratch/locale
mkdir "$LOCPATH"
comma=no
localedef -i pt_BR -f UTF-8 "$LOCPATH/pt_BR.UTF-8" 2>/dev/null && comma=yes

for compiler in gcc clang; do
    for level in -O0 -O3; do
        about "$compiler $level"
        if ! command -v $compiler >/dev/null; then
            skip "the same bits" "no $compiler"
            continue
        fi
        build=$scratch/$compiler$level
        expect_exit 0 env OMPI_CC=$compiler make -s -j2 CUDA=0 WERROR= CC=$compiler CFLAGS="$level -g0" BUILD="$build" \
            "$build/libras_mpi"
        LIBRAS_PROGRAM=$build/libras_mpi
        expect_exit 0 program "${job[@]}" -o "$scratch/$compiler$level.h5"
        [ $level = -O3 ] || expect_exit 0 program "${job[@]}" --device cpu-ref -o "$scratch/$compiler$level.ref.h5"
        for file in "$scratch/$compiler$level"*.h5; do
            expect_exit 0 program verify "$scratch/ordinary.h5" "$file" -q
            expect_text stdout '^verdict +SAME_BITS$'
        done
        if [ $comma = yes ]; then
            LC_ALL=pt_BR.UTF-8 expect_exit 0 program "${job[@]}" -o "$scratch/comma.h5" --force
            expect_exit 0 program verify "$scratch/ordinary.h5" "$scratch/comma.h5" -q
            LC_ALL=pt_BR.UTF-8 expect_exit 0 program synth "$build/drawn" -n 3 -q
            check "draws the same images" diff -r "$scratch/drawn" "$build/drawn"
        else
            skip "in pt_BR.UTF-8" "localedef cannot make it: apt-get install locales"
        fi
    done
done
finish
