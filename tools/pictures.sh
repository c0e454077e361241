#!/usr/bin/env bash
# pictures.sh [DIR]: makes README's pictures anew under DIR (the repository): datasets/letters.png and results/pictures/*.png.
#
# From real runs of ./libras_mpi on the built-in data, whose numbers are the same bits everywhere: so are the pictures, as
# long as matplotlib and its font are. Needs a python3 with h5py and matplotlib: $PYTHON, or the first one found.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath "${1:-.}")

python=
for candidate in ${PYTHON:+"$PYTHON"} /usr/bin/python3 python3; do
    if "$candidate" -c 'import h5py, matplotlib' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || {
    echo "pictures: no python3 with h5py and matplotlib: apt-get install python3-h5py python3-matplotlib" >&2
    exit 2
}
[ -x ./libras_mpi ] || {
    echo "pictures: ./libras_mpi is not built: make" >&2
    exit 2
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/libras.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
unset LIBRAS_DATA

mkdir -p "$target/datasets" "$target/results/pictures"
./libras_mpi synth "$scratch/data" >&2
"$python" datasets/contact_sheet.py "$scratch/data" "$target/datasets/letters.png" -n 24

./libras_mpi --block 128 -q -o "$scratch/one.h5" >&2
./libras_mpi --learning-rate 0.001:0.1:log12 --seed 1:8 --block 128 --epochs 30 --holdout 0.1 -q -o "$scratch/sweep.h5" >&2
for run in one sweep; do "$python" results/report.py "$scratch/$run.h5" -o "$scratch/$run" >&2; done
for picture in one/confusion one/worst_images sweep/learning_curves sweep/parameter_validation_accuracy; do
    cp "$scratch/$picture.png" "$target/results/pictures/"
    echo "results/pictures/$(basename "$picture").png"
done
