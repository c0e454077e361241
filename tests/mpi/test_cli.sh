#!/usr/bin/env bash
# What a user types: help, mistakes, every subcommand, environment, default names, locales.
. "$(dirname "$0")/common.sh"

data=$scratch/data
out=$scratch/r.h5
# no_launcher COMMAND...: where no mpirun, no MPI variable is in sight.
no_launcher() { env -i PATH=/usr/bin:/bin "$@"; }

# ---- help
for command in "" run infer predict verify export synth import info calibrate plan; do
    about "help${command:+ of $command}"
    expect_exit 0 no_launcher "$LIBRAS_PROGRAM" ${command:+"$command"} --help
    expect_text stdout "^Usage: .*libras_mpi ${command:-\[COMMAND\]}"
    check "nothing on stderr" test ! -s "$scratch/stderr"
    cp "$scratch/stdout" "$scratch/help"
    check "no trailing blanks, no line over 100 columns" awk '/ $/ || length > 100 { bad = 1 } END { exit bad }' "$scratch/help"
    expect_exit 0 no_launcher "$LIBRAS_PROGRAM" ${command:+"$command"} -h
    check "-h says the same" cmp "$scratch/help" "$scratch/stdout"
done
for code in 0 1 2 3 4 75; do
    check "help explains exit code $code" grep -qE "(^|[ ;:])$code [a-z]" "$scratch/help"
done
about "mpirun"
expect_exit 0 ranks 3 run --help
check "help is printed once" test "$(grep -c '^Usage:' "$scratch/stdout")" = 1
expect_exit 0 ranks 3 --version
check "version is printed once" test "$(grep -c . "$scratch/stdout")" = 1
about "version"
for option in --version -V; do
    expect_exit 0 no_launcher "$LIBRAS_PROGRAM" $option
    expect_text stdout '^libras_mpi [0-9]+\.[0-9]+\.[0-9]+ \([^)]+\)$'
done

# ---- mistakes: no MPI, no work, nothing on stdout
about "mistake"
mistake() { # ERE ARGUMENTS...
    local text=$1
    shift
    expect_exit 2 no_launcher "$LIBRAS_PROGRAM" "$@"
    says_once "$text"
    check "and nothing else" test ! -s "$scratch/stdout" -a "$(wc -l <"$scratch/stderr")" = 1
}
mistake "'runn' is no command; did you mean 'run'" runn
mistake '--epoch is no option of .verify' verify x.h5 --epoch 3
mistake '--epohcs is no option of .run.; did you mean --epochs' --epohcs 3
mistake "'-x' is no option of 'run'" -x
mistake '--h is the beginning of more than one option of .run' --h 1
mistake '--epochs needs a value' --epochs
mistake '--force takes no value' --force=1
mistake "'x.h5': 'run' takes no operands" run x.h5
mistake "'c.h5': 'verify' takes no more than" verify a.h5 b.h5 c.h5
mistake "'verify' needs RESULTS" verify
mistake "'infer' needs RESULTS" infer
mistake "'synth' needs DIR" synth
mistake "'import' needs IMAGES DIR" import images
mistake "'predict' needs RESULTS.h5 PICTURE" predict r.h5
mistake "--split: 'tial' is not random\\|tail; did you mean 'tail'" --split tial
mistake "--out: the value is empty" --out ''
mistake '--epochs: 0 is out of range \(1 to [0-9]+\); nearest: 1' --epochs 0
mistake "--epochs: .*'-1'" --epochs -1
mistake "--epochs: .*'1e3'" --epochs 1e3
mistake "--epochs: .*'3x'" --epochs 3x
mistake "--block: .*'?48'? is not a multiple of 32" --block 48
mistake "--block: .*2048" --block 2048
mistake "--learning-rate: .*'nan'" --learning-rate nan
mistake "--learning-rate: .*'0,02'|--learning-rate: .*0" --learning-rate 0,02
mistake "--learning-rate: .*-1" --learning-rate -1
mistake "--learning-rate: .*log" --learning-rate 0.1:0.2:lg16
mistake "--hidden: .*'?32'?" --hidden 32
mistake "--hidden: .*129" --hidden 129x16
mistake "--seed: .*4294967296" --seed 4294967296
mistake "--holdout: '1' is not a share" --holdout 1
mistake "--keep-weights: 'some' is not all\|none\|top:K" --keep-weights some
mistake "--keep-weights: '0' is not a whole number" --keep-weights top:0
mistake "--keep-weights top:3 selects by validation loss" --keep-weights top:3 --holdout 0
mistake "--format: 'jsn' is not text\|json\|lab; did you mean 'json'" --format jsn
mistake "--format: 'csv' is not" verify x.h5 --format csv
mistake "--table: 'trails' is not .*; did you mean 'trials'" export x.h5 --table trails
mistake "--samples: '1' is not a whole number from 2" synth x --samples 1
mistake "--timeout: '0'" --timeout 0
mistake 'more than [0-9]+ trials' --seed 1:100000 --epochs 1:100000

# ---- synth
about "synth"
expect_exit 0 program synth "$data" -n 20
expect_text stdout '^300 images of 15 letters in .*; SHA-256 [0-9a-f]{64}$'
expect_exit 0 program synth "$scratch/again" -n 20 -q
check "-q says nothing" test ! -s "$scratch/stdout" -a ! -s "$scratch/stderr"
check "the same bytes twice" diff -r "$data" "$scratch/again"
check "a file a letter" test "$(cd "$data" && echo ./*)" = "$(printf './%s.csv ' A B C D E I L M N O R S U V W | sed 's/ $//')"
check "as many lines as asked for" test "$(cat "$data"/*.csv | wc -l)" = 300
expect_exit 2 program synth "$data" -n 20 --seed 2
says_once 'A\.csv.*--force'
check "nothing was overwritten" diff -r "$data" "$scratch/again"
expect_exit 0 program synth "$scratch/again" -n 20 --seed 2 --force -q
check_not "another seed, other images" diff -rq "$data" "$scratch/again"
quick=(--data "$data" --epochs 2 --block 32)

# ---- run: dry, quiet, the default
about "--dry-run"
expect_exit 0 ranks 2 "${quick[@]}" --seed 1:3 -o "$out" --dry-run
expect_text stdout '3 trials over 2 ranks'
no_files "$out"
about "-q"
expect_exit 0 ranks 2 "${quick[@]}" -o "$out" -q
check "two lines on stdout, none on stderr" test "$(wc -l <"$scratch/stdout")" = 2 -a ! -s "$scratch/stderr"
expect_text stdout '^verdict +VALID$'
expect_text stdout '^FOM train_sample_updates_per_s=[0-9.e+]+ .* scope=end_to_end ranks=2 gpus=[0-9]+ slowest_rank=[01] status=VALID$'
about "the report"
expect_exit 0 ranks 2 "${quick[@]}" -o "$scratch/report.h5"
order=$(grep -nE '^(libras_mpi|command|rank|data|trials|test|letter|confusion|check|phase|file|verdict|FOM) ' "$scratch/stdout" |
    cut -d: -f2 | cut -d' ' -f1 | tr '\n' ' ')
check "in this order: $order" test "$order" = \
    "libras_mpi command rank data trials test letter confusion check confusion phase data file file verdict FOM "
check "its last line is the figure of merit" test "$(tail -n 1 "$scratch/stdout" | cut -c 1-4)" = "FOM "
expect_exit 0 program verify "$out" "$scratch/report.h5" -q
about "--format json"
expect_exit 0 ranks 2 "${quick[@]}" -o "$scratch/json.h5" --format json
check "is JSON, and VALID" "${PYTHON:-python3}" -c 'import json, sys; r = json.load(open(sys.argv[1]))
assert r["verdict"] == "VALID" and r["exit_code"] == 0 and len(r["trials"]) == 1 and len(r["ranks"]) == 2, r' "$scratch/stdout"
for command in "verify $out" "verify $out $scratch/json.h5" "infer $out --data $data -o $scratch/i.h5"; do
    # shellcheck disable=SC2086
    expect_exit 0 program $command --format json
    check "is JSON" "${PYTHON:-python3}" -m json.tool "$scratch/stdout" /dev/null
done
about "--format lab"
expect_exit 0 ranks 2 --data "$data" --epochs 8 --block 32 -o "$scratch/lab.h5" --format lab
check "epochs 1, 6 and the last" test "$(grep -oE '^Epoca [0-9]+/8 ' "$scratch/stdout" | tr -d '\n')" = 'Epoca 1/8 Epoca 6/8 Epoca 8/8 '

# ---- where data come from, where the file goes
about "LIBRAS_DATA"
LIBRAS_DATA=$data expect_exit 0 ranks 2 --epochs 2 --block 32 -o "$scratch/env.h5"
says_once "data from \\\$LIBRAS_DATA: $data"
expect_exit 0 program verify "$out" "$scratch/env.h5" -q
LIBRAS_DATA=$scratch/nowhere expect_exit 0 ranks 2 "${quick[@]}" -o "$scratch/option.h5"
expect_exit 0 program verify "$out" "$scratch/option.h5" -q
LIBRAS_DATA=$scratch/nowhere expect_exit 2 ranks 2 --epochs 2 --block 32 -o "$scratch/none.h5"
says_once '^libras_mpi: .LIBRAS_DATA: .*nowhere: No such file'
about "no data"
expect_exit 0 ranks 2 --epochs 1 --block 32 --validate-replicas 0 -o "$scratch/synthetic.h5"
says_once 'using the built-in synthetic set'
expect_exit 0 program verify "$scratch/synthetic.h5" --validate-replicas 0 -q

about "the default name"
mkdir "$scratch/here"
here() { (cd "$scratch/here" && env "$@"); }
expect_exit 0 here "$LIBRAS_PROGRAM" "${quick[@]}" -q
check "is the time" test -s "$(find "$scratch/here" -regex '.*/results/libras_20[0-9]*T[0-9]*\.[0-9][0-9][0-9]Z\.h5')"
expect_exit 0 here SLURM_JOB_ID=77 "$LIBRAS_PROGRAM" "${quick[@]}" -q
check "is the job" test -s "$scratch/here/results/libras_77.h5"
expect_exit 0 here SLURM_JOB_ID=81 SLURM_ARRAY_JOB_ID=79 SLURM_ARRAY_TASK_ID=2 "$LIBRAS_PROGRAM" "${quick[@]}" -q
check "is the array's job and the task" test -s "$scratch/here/results/libras_79_2.h5"
expect_exit 2 here SLURM_JOB_ID=77 "$LIBRAS_PROGRAM" "${quick[@]}"
says_once 'results/libras_77\.h5. exists'
check "three files, nothing beside them" test "$(find "$scratch/here" -type f | wc -l)" = 3

# ---- locale
about "pt_BR"
if command -v localedef >/dev/null && mkdir "$scratch/locale" &&
    localedef -i pt_BR -f UTF-8 "$scratch/locale/pt_BR.UTF-8" 2>/dev/null; then
    export LOCPATH=$scratch/locale
    LC_ALL=pt_BR.UTF-8 check "has a decimal comma" test "$(LC_ALL=pt_BR.UTF-8 bash -c 'printf %.1f 0,5')" = 0,5
    LC_ALL=pt_BR.UTF-8 expect_exit 0 ranks 2 --data "$data" --epochs 2 --learning-rate 0.02 --block 32 -o "$scratch/br.h5"
    expect_text stdout '^ +0 +0\.02 '
    expect_text stdout '^FOM train_sample_updates_per_s=[^,]*$'
    LC_ALL=pt_BR.UTF-8 expect_exit 0 program verify "$scratch/br.h5" -q
    expect_exit 0 program verify "$out" "$scratch/br.h5" -q
    program export "$out" --table scores >"$scratch/scores"
    LC_ALL=pt_BR.UTF-8 expect_exit 0 program export "$scratch/br.h5" --table scores
    check "exports the same text" cmp "$scratch/scores" "$scratch/stdout"
    LC_ALL=pt_BR.UTF-8 expect_exit 0 program synth "$scratch/de novo" -n 20 -q
    check "draws the same images" diff -r "$data" "$scratch/de novo"
    unset LOCPATH
else
    skip "a locale with decimal commas" "localedef cannot make it: apt-get install locales"
fi

# ---- info
about "info"
expect_exit 0 ranks 3 info
for word in version commit compiler mpi hdf5; do
    expect_text stdout "^$word +[^ ]"
done
expect_text stdout '^cpu-ref +yes'
expect_text stdout "^0(-2)? +$(hostname) +[^ ]"
expect_exit 0 program info

# ---- infer
about "infer"
for n in 1 3; do
    expect_exit 0 ranks "$n" infer "$out" --data "$data" -o "$scratch/infer.$n.h5"
    expect_text stdout '^inference +[0-9]+/300 right'
    expect_exit 0 program verify "$scratch/infer.$n.h5"
    expect_text stdout '^verdict +VALID$'
done
expect_exit 0 program verify "$scratch/infer.1.h5" "$scratch/infer.3.h5" -q
expect_text stdout '^verdict +SAME_BITS$'
program synth "$scratch/tiny" -n 2 -q
expect_exit 0 ranks 3 infer "$out" --data "$scratch/tiny" -o "$scratch/tiny.h5" -q
expect_exit 0 program verify "$scratch/tiny.h5" -q
expect_exit 2 program infer "$out" --data "$data" -o "$scratch/infer.1.h5"
says_once 'infer\.1\.h5. exists'
expect_exit 2 program infer "$out" --data "$data" --trial 9 -o "$scratch/x.h5"
says_once 'no trial 9, only 0 to 0'
expect_exit 2 program infer "$data/A.csv" -o "$scratch/x.h5"
says_once 'A\.csv'
no_files "$scratch/x.h5"

finish
