#!/usr/bin/env bash
# The answer does not depend on the number of ranks: every file against that of one rank, bit for bit.
. "$(dirname "$0")/common.sh"

program synth "$scratch/small" -n 20 >&2
program synth "$scratch/tiny" -n 2 >&2 # 15 test samples

# at_once FILE COMMAND...: in the background, since an MPI program mostly waits while it starts and ends. What it said is in
# FILE.out and FILE.err, how it ended in FILE.code.
at_once() {
    local file=$1
    shift
    {
        "$@" >"$file.out" 2>"$file.err" </dev/null
        echo $? >"$file.code"
    } &
}
# ended CODE FILE TEXT NAME: it ended with CODE and said TEXT.
ended() {
    [ "$(cat "$2.code")" = "$1" ] && grep -qE -e "$3" "$2.out"
    report $? "$4"
    [ "$(cat "$2.code")" = "$1" ] || sed 's/^/#   /' "$2.out" "$2.err"
}

# same_on NAME "RANKS..." OPTIONS...: runs on one rank and on each of the others; all files are valid and the same.
same_on() {
    local name=$1 counts=$2 file=$scratch/$1 n
    shift 2
    for n in 1 $counts; do
        at_once "$file.$n.run" ranks "$n" -o "$file.$n.h5" -q "$@"
    done
    wait
    for n in 1 $counts; do
        at_once "$file.$n.valid" program verify "$file.$n.h5" --validate-replicas 3 -q
        at_once "$file.$n.same" program verify "$file.1.h5" "$file.$n.h5" -q
    done
    wait
    for n in 1 $counts; do
        about "$name on $n ranks"
        ended 0 "$file.$n.run" "^FOM .* ranks=$n .*status=VALID$" "ends 0 and VALID"
        ended 0 "$file.$n.valid" '^verdict +VALID$' "the file is VALID"
        ended 0 "$file.$n.same" '^verdict +SAME_BITS$' "the file has the bits of one rank's"
    done
}

small=(--data "$scratch/small" --epochs 3)
same_on grid "2 3 4 7" "${small[@]}" --block 32,64 --seed 1:4 --hidden 32x16,8x4 --validate-replicas 5
same_on "more ranks than trials" "3 7" "${small[@]}" --block 32
same_on "more ranks than test samples" "17" --data "$scratch/tiny" --epochs 2 --block 32
same_on "uneven trials" "2 7" --data "$scratch/small" --epochs 1,7,30 --seed 1:3 --block 64
same_on "all kept" "4" "${small[@]}" --keep-weights all --seed 1:5 --block 32
same_on "none kept" "3 4" "${small[@]}" --keep-weights none --seed 1:5 --block 32
same_on "two kept" "2 4 7" "${small[@]}" --keep-weights top:2 --seed 1:6 --block 32 --hidden 16x8,8x8
same_on "more to keep than there are" "3" "${small[@]}" --keep-weights top:9 --block 32,64
same_on "held out" "4" "${small[@]}" --holdout 0.25 --learning-rate 0.01:0.05:log3 --block 32
same_on "cpu-ref" "3" "${small[@]}" --device cpu-ref --block 32,64
same_on "some diverge" "3" "${small[@]}" --learning-rate 1e30,0.02,0.01 --block 32 --validate-replicas 3

about "backends and defaults"
expect_exit 0 program verify "$scratch/grid.1.h5" "$scratch/grid.7.h5" -q
expect_exit 0 ranks 2 "${small[@]}" --block 32,64 --seed 1:4 --hidden 32x16,8x4 --device cpu-ref -o "$scratch/ref.h5" -q
expect_exit 0 program verify "$scratch/grid.1.h5" "$scratch/ref.h5" -q
expect_exit 3 program verify "$scratch/grid.1.h5" "$scratch/cpu-ref.1.h5" -q

about "whatever network Open MPI chooses by itself"
# The runner says which (tests/run), to save time; here nobody does, and a single rank has its daemon.
for n in 1 3; do
    expect_exit 0 env -u OMPI_MCA_pml -u OMPI_MCA_mpi_yield_when_idle "${MPIRUN%% *}" --oversubscribe -np $n "$LIBRAS_PROGRAM" \
        "${small[@]}" --block 32,64 --seed 1:4 --hidden 32x16,8x4 -o "$scratch/own.$n.h5" -q
    expect_exit 0 program verify "$scratch/grid.1.h5" "$scratch/own.$n.h5" -q
done
expect_exit 0 env -u OMPI_MCA_pml "$LIBRAS_PROGRAM" "${small[@]}" --block 32,64 --seed 1:4 --hidden 32x16,8x4 \
    -o "$scratch/own.h5" -q
expect_exit 0 env -u OMPI_MCA_pml "$LIBRAS_PROGRAM" verify "$scratch/grid.1.h5" "$scratch/own.h5" -q

about "verify on several ranks"
expect_exit 0 ranks 3 verify "$scratch/grid.1.h5" --validate-replicas 7
check "retrains as many as asked for" test "$(grep -cE '^replica [0-9]+ .* passed$' "$scratch/stdout")" = 7
expect_exit 0 ranks 3 verify "$scratch/grid.1.h5" "$scratch/grid.3.h5"
expect_text stdout '^verdict +SAME_BITS$'

about "all ranks take part"
expect_exit 0 ranks 3 "${small[@]}" --seed 1:12 --epochs 60 --block 32 -o "$scratch/shared.h5" -q
expect_exit 0 program export "$scratch/shared.h5" --table execution
check "in the training" test "$(tail -n +2 "$scratch/stdout" | cut -d, -f3 | sort -u | tr -d '\n')" = 012

finish
