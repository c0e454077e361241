#!/usr/bin/env bash
# corpus.sh BUILD DIR: the seeds of every fuzz target, DIR/csv, DIR/packed, ...: made here, or committed in
# tests/fuzz/seeds/NAME; and what fuzzing has found before, tests/fuzz/found/NAME.
set -euo pipefail
mkdir -p "$2"/{csv,packed,results,options,sweep}
build=$(realpath "$1") to=$(realpath "$2")
cd "$(dirname "$0")/../.."

# ---- CSV: each dialect that somebody once fed us
row=$(printf '%d,' {0..62})255
numbers="0.5,.5,5.,+5,-5,1e-3,1E+3,-0,4.9e-324,1.7976931348623157e308,$(printf '%d,' {1..53})7"
seed() { # NAME FORMAT VALUES...
    # shellcheck disable=SC2059 # the formats are those below
    printf "$2" "${@:3}" >"$to/csv/$1"
}
{
    seed good-plain '%s\n%s\n' "$row" "$numbers"
    seed good-crlf '%s\r\n%s\r\n' "$row" "$row"
    seed good-bom '\xEF\xBB\xBF%s\n%s' "$row" "$row"
    seed joined '%s\n\xEF\xBB\xBF%s\n' "$row" "$row"
    seed good-blanks ' %s \t\n\n  \n%s\n\n' "${row//,/ ,	}" "$row"
    seed semicolons '%s\n' "${row//,/;}"
    seed commas '%s\n' "${row//,/,5,}"
    seed quotes '"%s"\n' "${row//,/\",\"}"
    seed header 'sep=,\npixel1,pixel2\n%s\n' "$row"
    seed cr '%s\r%s\r' "$row" "$row"
    seed utf16 '\xff\xfe1\0,\0'
    seed nul '1,2,\0,%s\n' "$row"
    seed texts 'nan,inf,0x1A,12abc,1.2.3,1e,%s\n' "$row"
    seed long '%s\n' "1$(printf '0%.0s' {1..400})e-400,$row"
    seed short '%s\n' "${row%,*}"
    seed comment '#%s\n' "$row"
    seed minus '\xE2\x88\x92%s\n' "$row"
}

# ---- packed files: the first byte says what the target mends
for spec in "u8 5 2 labels" "u8 3 8 none" "f32 5 2 labels" "f32 4 4 none"; do
    # shellcheck disable=SC2086 # words
    "$build/tests/make_packed" "$to/made" $spec
    for how in '\0' '\1' '\3' '\7'; do
        { printf '%b' "$how" && cat "$to/made"; } >"$to/packed/$([ "$how" = "\\7" ] || echo good-)${spec// /-}-${how#?}"
    done
done
rm "$to/made"

# ---- results files: none, one and several trials, with and without kept weights, of sweeps
for spec in "0 0 0 0" "1 2 3 1" "4 3 5 2" "3 1 40 0" "9 4 2 1 sweep" "9 4 2 0 halving"; do
    # shellcheck disable=SC2086 # words
    "$build/tests/make_results" "$to/results/good-${spec// /-}.h5" $spec
done

tests/fuzz/corpus_pictures.sh "$build" "$to"

# ---- command lines, a word a line
n=0
while read -r line; do
    n=$((n + 1))
    printf '%s' "${line// /$'\n'}" >"$to/options/$([ $n = 11 ] || echo good-)$n"
done <<'LINES'
run --epochs 51 --learning-rate 0.001:0.1:log16 --seed 1:32 --block 32,64 --hidden 32x16,64x32
--data x -o y.h5 --device gpu:batch --holdout 0.1 --keep-weights top:3 --validate-replicas 5 -q -v
--decay 0.5:1:lin3 --initial-range 1e-3 --split-seed 4294967295 --force --dry-run --timeout 0.5 --format lab
infer r.h5 --trial 3 --validate-samples all --format json
verify a.h5 b.h5 --data d
export r.h5 --table confusion --format csv
synth d -n 20 --packed f32 --no-labels -s 7
bench --device cpu,gpu:batch --repeats 3 --seconds 2
info --help
--version
runn --epohcs=3 -- -x --out= --keep-weights all
LINES

# ---- sweep files: the examples, and a line of each kind
for file in jobs/*.yaml; do
    cp "$file" "$to/sweep/good-${file##*/}"
done
n=0
while read -r line; do
    n=$((n + 1))
    printf '%b' "$line" >"$to/sweep/$([ $n -gt 7 ] || echo good-)$n.yaml"
done <<'LINES'
parameters: {}
{parameters: {block: [48, 4096, 32], epochs: [0, 2000000, 3], learning_rate: [1e30, -1, 0]}}
parameters:\n  learning_rate: {from: 1e-45, to: 3.4e38, scale: log, count: 7}\n  seed: {from: 1, to: 9, step: 2}\n
search: random\ntrials: 50\nparameters:\n  decay: {from: -1, to: 1}\n  block: [32, 64]\n
search: latin\ntrials: 20\nparameters:\n  hidden: [32x16, [8, 4]]\n  learning_rate: {from: 1, to: 1e-3, scale: log}\n
search: halving\ntrials: 30\nparameters: {seed: [1, 2, 3]}\nhalving:\n  rungs: [1, 2]\n  keep: 0.5\n
%YAML 1.1\r\n---\r\nparameters: {}\r\nkeep_weights: all\r\nholdout: 0.9\r\n...\r\n
parameters: &a {seed: *a}
parameters: {seed: !!int 3}
parameters:\n\tseed: 1
parameters: {seed: [[[[[[[[[1]]]]]]]]]}
serach: gird\nsearch: gird\nsearch: grid
? [a, b]\n: |\n  text\n  more\n
\xff\xfep\x00a\x00
LINES

for folder in tests/fuzz/seeds/* tests/fuzz/found/*; do
    if [ -d "$folder" ]; then
        mkdir -p "$to/${folder##*/}"
        for file in "$folder"/*; do
            [ ! -f "$file" ] || cp "$file" "$to/${folder##*/}/${file##*/}"
        done
    fi
done
