#!/usr/bin/env bash
# Packed files in the whole program: the same bits on any number of ranks and in any blocks, the same scores as the folder,
# bounded memory, and every damage refused with its reason and 2, with no file left behind.
. "$(dirname "$0")/common.sh"
make_packed=$LIBRAS_BUILD/tests/make_packed peak_memory=$LIBRAS_BUILD/tests/peak_memory
[ -x "$make_packed" ] || skip_all "make_packed is not built (make tests)"

cd "$scratch" || exit 1
program synth dir -n 20 >&2
program --data dir --epochs 3 --block 32 -o weights.h5 -q >&2

about "synth --packed"
expect_exit 0 program synth drawn.pack --packed u8 -n 700
expect_text stdout '^10500 images in drawn.pack, [0-9]+ bytes; SHA-256 [0-9a-f]{64}$'
for n in 2 3 7; do
    expect_exit 0 ranks "$n" synth "drawn.$n.pack" --packed u8 -n 700 -q
    check "the same bytes on $n ranks" cmp drawn.pack "drawn.$n.pack"
done
expect_exit 2 program synth drawn.pack --packed u8 -n 700
says_once 'drawn.pack: the file exists; --force replaces it$'
expect_exit 0 program synth drawn.pack --packed f32 -f -q
check "--force replaces it" test "$(stat -c %s drawn.pack)" = $((64 + 4410 * 256 + 4096 + 320 + 16))
expect_exit 2 program synth x.pack --packed u16
says_once "^libras_mpi: --packed: 'u16' is not u8.f32"
expect_exit 2 program synth x --data dir
says_once ': --data goes with --packed'
expect_exit 2 program synth x.pack --packed u8 --data dir -n 5
says_once ': --samples is for drawn images'
expect_exit 2 program synth nowhere/x.pack --packed u8
says_once 'nowhere/x.pack: cannot make the file: No such file or directory'
check_not "nothing else is left" grep . <(ls ./*.tmp.* x.pack 2>/dev/null)

about "the packed file of a folder"
expect_exit 0 program infer weights.h5 --data dir -o dir.h5 -q
program export dir.h5 --table scores >dir.csv
for type in u8 f32; do
    expect_exit 0 program synth "dir.$type.pack" --packed "$type" --data dir
    expect_exit 0 ranks 2 infer weights.h5 --data "dir.$type.pack" -o "dir.$type.h5"
    expect_text stdout '^inference +[0-9]+/300 right'
    program export "dir.$type.h5" --table scores >"dir.$type.csv"
    check "$type: the folder's scores, to the last bit" cmp dir.csv "dir.$type.csv"
    program export dir.h5 --table confusion >a.csv
    program export "dir.$type.h5" --table confusion >b.csv
    check "$type: its confusion matrix" cmp a.csv b.csv
    for file in dir "dir.$type"; do
        program export "$file.h5" --format json | grep -E '^ *"(right|accuracy|loss|samples)"' >"$file.metrics"
    done
    check "$type: its loss and accuracy" cmp dir.metrics "dir.$type.metrics"
done
sed -i '1s/^[0-9]*,/12.3,/' dir/C.csv
expect_exit 2 program synth x.pack --packed u8 --data dir
says_once 'letter C, sample 41 of the data set, value 1: 12.3.* is no whole number from 0 to 255; --packed f32 takes it'
expect_exit 0 program synth x.pack --packed f32 --data dir
says_once '1 values are no float32 and went to the nearest'

about "any ranks, any blocks"
"$make_packed" u.pack u8 100000 4096 labels && "$make_packed" v.pack u8 100000 1000 labels &&
    "$make_packed" w.pack f32 100000 777 labels && "$make_packed" x.pack u8 100000 65536 none
for file in u v w x; do
    for n in 1 2 3 7; do
        expect_exit 0 ranks "$n" infer weights.h5 --data "$file.pack" -o "$file.$n.h5" -q --validate-samples 5000
        expect_text stdout "^FOM infer_samples_per_s=[0-9.e+]+ score_samples_per_s=[0-9.e+]+ read_bytes_per_s=[0-9.e+]+ scope=end_to_end ranks=$n .*status=VALID$"
        expect_exit 0 program verify "$file.1.h5" "$file.$n.h5"
        expect_text stdout '^verdict +SAME_BITS$'
    done
    program export "$file.7.h5" --table scores | sed 's/,[A-Z]*//' >"$file.csv"
    check "$file.pack: the scores of u.pack" cmp u.csv "$file.csv"
    expect_exit 0 ranks 3 verify "$file.2.h5"
    expect_text stdout '^scores +1500000 +0 +0  passed$'
done
expect_exit 0 ranks 2 infer weights.h5 --data u.pack -o u.f.h5
expect_text stdout '^scores +1500000 +0 .* passed$'
expect_exit 0 ranks 2 infer weights.h5 --data u.pack -o u.f.h5 -f --validate-samples 7
expect_text stdout '^scores +105 +0 .* passed$'
expect_exit 0 ranks 2 infer weights.h5 --data u.pack -o u.f.h5 -f --validate-samples 0
expect_text stdout '^verdict +NOT_VALIDATED$'
expect_exit 3 program verify u.1.h5 v.1.h5
expect_exit 0 env LIBRAS_DATA=u.pack "$LIBRAS_PROGRAM" infer weights.h5 -o u.e.h5 -q
expect_exit 0 program verify u.1.h5 u.e.h5 -q

about "no labels"
expect_exit 0 program synth n.pack --packed u8 -n 3 --no-labels
expect_text stdout '^45 images without labels in n.pack'
expect_exit 0 ranks 2 infer weights.h5 --data n.pack -o n.h5
expect_text stdout 'accuracy n/a: the file has no labels'
expect_no_text stdout 'confusion'
expect_exit 0 ranks 2 verify n.h5
expect_text stdout '^confusion .* not run$'
program export n.h5 --table scores >n.csv
check "its letters are empty" test "$(grep -cE '^[0-9]+,,[A-Z],' n.csv)" = 45
expect_exit 0 program export n.h5 --format json
expect_text stdout '"accuracy": null'

about "a stored file"
expect_exit 2 program export u.1.h5 --format lab
says_once 'scored from a packed file'
expect_exit 0 ranks 2 infer u.1.h5 --data u.pack -o again.h5 -q
expect_exit 0 program verify u.1.h5 again.h5 -q
mv u.pack moved.pack
expect_exit 2 ranks 2 verify u.1.h5
says_once 'u.pack: No such file or directory'
expect_exit 0 ranks 2 verify u.1.h5 --data moved.pack -q
expect_exit 2 ranks 2 verify u.1.h5 --data v.pack
says_once 'other data than the results were made from'
expect_exit 2 ranks 2 verify u.1.h5 --data dir
says_once 'dir: a folder; a packed file was expected'
expect_exit 2 program --data moved.pack -o run.h5
says_once 'moved.pack: not a folder'
if [ -n "${PYTHON:-}" ]; then
    cp u.1.h5 changed.h5
    "$PYTHON" -c 'import h5py; f = h5py.File("changed.h5", "r+"); f["inference/scores"][54321, 3] += 1' >&2
    expect_exit 3 ranks 2 verify changed.h5 --data moved.pack
    expect_text stdout '^scores +1500000 +1 +1  failed$'
    expect_exit 3 program verify changed.h5 u.1.h5 -q
else
    skip "a changed score is found" "no h5py"
fi

# damaged NAME TEXT: the last change of bad.pack is refused on one and three ranks.
damaged() {
    about "damaged: $1"
    for n in 1 3; do
        expect_exit 2 ranks "$n" infer weights.h5 --data bad.pack -o bad.h5 --timeout 200
        says_once "bad.pack: .*$2"
        no_files bad.h5
    done
}
poke() { printf '%b' "$2" | dd of=bad.pack bs=1 seek="$1" conv=notrunc status=none; }
fresh() { cp moved.pack bad.pack; }
fresh && poke 0 X && damaged "magic" 'byte 0: no packed file'
fresh && poke 9 '\001' && damaged "version" 'byte 60: the header is damaged'
fresh && poke 16 '\001' && damaged "samples" 'byte 60: the header is damaged'
fresh && poke 60 '\001' && damaged "sum of the header" 'byte 60: the header is damaged'
fresh && poke 70 '\377\376' && damaged "first block" 'block 0 \(bytes 64 to 266311\) is damaged: its CRC-32C'
fresh && poke 5000000 '\377\376' && damaged "pixels" 'block 18 .* is damaged: its CRC-32C'
fresh && poke 264000 '\377' && damaged "labels" 'block 0 .* is damaged'
fresh && poke 266304 '\377\376' && damaged "sum of a block" 'block 0 .* is damaged'
fresh && truncate -s 6000000 bad.pack && damaged "cut" 'byte 6000000: the file ends here'
fresh && truncate -s 30 bad.pack && damaged "cut in the header" 'byte 30: the file ends here'
: >bad.pack && damaged "empty" 'byte 0: the file ends here'
fresh && echo >>bad.pack && damaged "longer" '1 bytes more follow'
cp weights.h5 bad.pack && damaged "another kind" 'byte 0: an HDF5 file'

about "memory"
"$make_packed" large.pack u8 3000000 4096 labels
expect_exit 0 ranks 2 infer weights.h5 --data moved.pack -o small.h5 -q
# shellcheck disable=SC2086 # MPIRUN holds options, too
expect_exit 0 $MPIRUN -np 2 "$peak_memory" peaks "$LIBRAS_PROGRAM" infer weights.h5 --data large.pack -o large.h5 -q
check "both ranks were measured" test "$(wc -l <peaks)" = 2
bytes=$(($(stat -c %s large.pack) + $(stat -c %s large.h5)))
while read -r peak; do
    check "$((peak / 1024)) MiB for $((bytes >> 20)) MiB" test "$peak" -lt $((112 * 1024)) -a $((peak * 1024 * 3)) -lt $bytes
done <peaks
expect_exit 0 "$peak_memory" peaks.export "$LIBRAS_PROGRAM" export large.h5 --table scores
check "export has all lines" test "$(wc -l <stdout)" = 3000001
check "export: $(($(cat peaks.export) / 1024)) MiB" test "$(cat peaks.export)" -lt $((64 * 1024))

finish
