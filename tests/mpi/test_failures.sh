#!/usr/bin/env bash
# Whatever goes wrong: the right exit code, the program's own reason, no file under the final name, and no hang.
# shellcheck disable=SC2016 # what is passed on to another shell is for that shell
. "$(dirname "$0")/common.sh"

data=$scratch/data
program synth "$data" -n 20 >&2
quick=(--data "$data" --epochs 2 --block 32)
endless=(--data "$data" --epochs 100000 --seed 1:40 --block 32) # minutes
out=$scratch/out.h5
program "${quick[@]}" -o "$scratch/old.h5" -q >&2

soon() { # until COMMAND succeeds, at most a minute
    local k
    for ((k = 0; k < 600; k++)); do
        "$@" 2>/dev/null && return
        sleep 0.1
    done
    return 1
}

# ---- the data
for how in program "ranks 3"; do
    about "data, $how"
    # shellcheck disable=SC2086 # a command and its first argument
    {
        expect_exit 2 $how --data "$scratch/no such folder" -o "$out"
        says_once 'no such folder'
        cp -r "$data" "$scratch/bad"
        sed -i '7s/,/;/' "$scratch/bad/C.csv"
        expect_exit 2 $how --data "$scratch/bad" -o "$out"
        says_once 'C\.csv:7:'
        rm -r "$scratch/bad"
        expect_exit 2 $how --data "$data/A.csv" -o "$out"
        says_once 'A\.csv'
    }
    no_files "$out"
done

# ---- where the file goes
about "out"
expect_exit 2 ranks 2 "${quick[@]}" -o "$data/A.csv/x.h5"
says_once 'A\.csv. is no folder'
expect_exit 2 ranks 2 "${quick[@]}" -o "$data"
says_once 'data. is a folder'
expect_exit 2 ranks 2 "${quick[@]}" -o "$scratch/"
says_once 'names a folder'
cp "$scratch/old.h5" "$out"
expect_exit 2 program "${endless[@]}" -o "$out"
says_once "out\.h5' exists; .*--force"
check "the old file is untouched" cmp "$scratch/old.h5" "$out"
expect_exit 0 ranks 2 "${quick[@]}" --seed 5 -o "$out" --force
expect_exit 3 program verify "$scratch/old.h5" "$out"
rm "$out"
place="$scratch/saída/São João"
expect_exit 0 ranks 2 "${quick[@]}" -o "$place/r 1.h5"
expect_text stdout "^file +$place/r 1\.h5$"
expect_exit 0 program verify "$place/r 1.h5"
in_place() { cd "$place" && "$@"; }
expect_exit 0 in_place ranks 2 "${quick[@]}" -o "../r 2.h5"
check "a relative path is from where one is" test -s "$scratch/saída/r 2.h5"

# ---- ranks that were started differently
about "one rank"
for other in '--epochs 3' '--dry-run'; do
    expect_exit 2 wrapped 4 '[ $rank != 2 ] || set -- "$@" '"$other" "${quick[@]}" -o "$out"
    name=${other#--} name=${name%%[ =]*}
    says_once "^libras_mpi\[2@[^]]+\]: .*other options than rank 0: $name="
done
expect_exit 2 wrapped 4 '[ $rank != 2 ] || set -- "$@" --blok 32' "${quick[@]}" -o "$out"
says_once '^libras_mpi\[2@[^]]+\]: --blok is no option'
expect_exit 2 wrapped 4 '[ $rank != 2 ] || set -- info' "${quick[@]}" -o "$out"
says_once '^libras_mpi\[2@[^]]+\]: .*command=info'
expect_exit 2 wrapped 4 '[ $rank != 2 ] || export LIBRAS_DATA=/x' "${quick[@]}" -o "$out"
says_once '^libras_mpi\[2@[^]]+\]: .*LIBRAS_DATA=/x'
expect_exit 2 ranks 8 --blok 32
says_once '^libras_mpi: --blok is no option of .run.; did you mean --block\?'
no_files "$out"

about "eight ranks that fail at once"
expect_exit 2 wrapped 9 '[ $rank = 0 ] || set -- "$@" --seed 4$rank' "${quick[@]}" -o "$out"
check "eight whole lines" test \
    "$(grep -cE '^libras_mpi\[[1-8]@[^]]+\]: this rank was started with other options than rank 0: seed=4[1-8]$' "$scratch/stderr")" = 8
check "and no other ones" test "$(grep -c 'other options' "$scratch/stderr")" = 8

# ---- killed
# start N ARGUMENTS...: in the background; job is the launcher, $scratch/pid.R rank R. Returns when it trains. Ranks that
# the launcher ends have $grace seconds to tidy up.
job="" grace=1
start() {
    local n=$1
    shift
    rm -f "$scratch"/pid.*
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    OMPI_MCA_odls_base_sigkill_timeout=$grace $MPIRUN -np "$n" \
        sh -c "echo \$\$ >'$scratch'/pid.\$OMPI_COMM_WORLD_RANK; exec \"$LIBRAS_PROGRAM\" \"\$@\"" sh "$@" \
        >"$scratch/started.out" 2>"$scratch/started.err" </dev/null &
    job=$!
    soon test -s "$out.part" || return
    sleep 0.5
}
cleanup() {
    [ -z "$job" ] || kill -KILL "$job" 2>/dev/null
    rm -rf "$scratch"
}
# ends SECONDS [CODE]: what was started ends within them, with CODE; else not with 0.
ends() {
    local begin=$SECONDS got
    timeout "$1" tail -s 0.1 --pid="$job" -f /dev/null || kill -KILL "$job"
    wait "$job"
    got=$? job=
    cp "$scratch/started.out" "$scratch/stdout"
    cp "$scratch/started.err" "$scratch/stderr"
    check "ends within $1 s" test $((SECONDS - begin)) -le "$1"
    if [ -n "${2:-}" ]; then
        check "ends with $2 ($got)" test "$got" = "$2"
    else
        check "does not end with 0 ($got)" test "$got" != 0
    fi
}
for rank in 1 0; do
    about "rank $rank killed"
    cp "$scratch/old.h5" "$out"
    [ $rank = 0 ] || grace=4 # rank 0 must have the time, though others use the machine, too
    check "it trains" start 4 "${endless[@]}" -o "$out" --force
    [ $rank = 0 ] || peak=$(awk '/VmPeak/ { print $2 }' "/proc/$(cat "$scratch/pid.3")/status")
    kill -KILL "$(cat "$scratch/pid.$rank")"
    ends 30
    check "the old file is untouched" cmp "$scratch/old.h5" "$out"
    rm "$out"
    if [ $rank = 0 ]; then
        check "its part is left" test -e "$out.part"
    else # the launcher ends rank 0 by TERM, and it removes what it was writing
        check "no part is left" test ! -e "$out.part" -a ! -e "$out.lock"
    fi
    expect_exit 0 ranks 2 "${quick[@]}" -o "$out"
    [ $rank != 0 ] || says_once 'out\.h5\.part: a run that was killed had left it'
    check "and gone afterwards" test ! -e "$out.part" -a ! -e "$out.lock"
    rm "$out"
    grace=1
done
about "TERM to mpirun"
grace=4
check "it trains" start 3 "${endless[@]}" -o "$out"
grace=1
kill -TERM "$job"
ends 30
check "no file" test ! -e "$out" -a ! -e "$out.part" -a ! -e "$out.lock"
rm -f "$out".*

# ---- two runs of one file
about "two runs of one file"
check "the first trains" start 2 "${endless[@]}" -o "$out"
expect_exit 1 ranks 2 "${quick[@]}" -o "$out" --force
says_once "another run \(host [^,]+, pid $(cat "$scratch/pid.0")\) is writing"
check "the first goes on" test -e "$out.part" -a -e "$out.lock"
kill -TERM "$job"
ends 30
rm -f "$out".*
for k in 1 2 3; do
    ranks 2 "${quick[@]}" --seed "$k" -o "$out" >"$scratch/said.$k" 2>&1 &
    jobs[k]=$!
done
wins=0 reasons=0
for k in 1 2 3; do
    wait "${jobs[k]}"
    case $? in
    0) wins=$((wins + 1)) winner=$k ;;
    1) grep -q '^libras_mpi: another run .* is writing' "$scratch/said.$k" && reasons=$((reasons + 1)) ;;
    2) grep -q '^libras_mpi: .* exists' "$scratch/said.$k" && reasons=$((reasons + 1)) ;;
    esac
done
check "of three at once exactly one wins" test "$wins" = 1
check "the others say why" test "$reasons" = 2
expect_exit 0 program export "$out" --table trials
check "the file is the winner's" test "$(awk -F, 'NR == 2 { print $6 }' "$scratch/stdout")" = "${winner:-none}"
expect_exit 0 program verify "$out" -q
rm "$out"

# ---- no room
# The limit comes when MPI has started: it has files of its own.
if command -v prlimit >/dev/null; then
    for bytes in 0 140000; do
        about "a file of at most $bytes bytes"
        cp "$scratch/old.h5" "$out"
        check "it trains" start 2 --data "$data" --epochs 20000 --seed 1:2 --block 32 -o "$out" --force
        prlimit --fsize=$bytes --pid "$(cat "$scratch/pid.0")"
        ends 120 1
        says_once 'out\.h5.*: File too large'
        check "the old file is untouched" cmp "$scratch/old.h5" "$out"
        rm "$out"
        no_files "$out"
    done
    about "weights that do not fit"
    check "it trains" start 2 --data "$data" --epochs 300 --hidden 128x128 --seed 1:60 --block 32 -o "$out"
    prlimit --fsize=900000 --pid "$(cat "$scratch/pid.0")"
    ends 120 1
    says_once 'out\.h5.*: File too large'
    check "no file" test ! -e "$out"
    rm -f "$out".*
else
    skip "a limit of the file's size" "no prlimit: apt-get install util-linux"
fi
about "a full disk"
if [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs tmpfs "$scratch/saída" 2>/dev/null; then
    # A name space of its own: nobody else sees the mount, and it goes with the last process.
    cat >"$scratch/full" <<'END'
mount -t tmpfs -o size="$1" tmpfs "$2" && cp "$3" "$2/out.h5" || exit 99
old=$3 out=$2/out.h5
shift 3
"$@" -o "$out" --force
code=$?
[ "$(ls "${out%/*}")" = out.h5 ] && cmp "$old" "$out" || exit 98
exit $code
END
    for size in 120k 140k 180k; do
        expect_exit 1 unshare --mount bash "$scratch/full" $size "$scratch/saída" "$scratch/old.h5" "$LIBRAS_PROGRAM" "${quick[@]}"
        says_once 'No space left on device'
    done
else
    skip "a small tmpfs" "it cannot be mounted here"
fi

about "one rank without memory"
program synth "$scratch/large" -n 2000 >&2 # on each rank 8 MB, and 8 MB of losses
expect_exit 1 within 60 wrapped 4 "[ \$rank != 3 ] || ulimit -v $((${peak:-0} + 5000))" --data "$scratch/large" --epochs 1000000 -o "$out"
says_once '^libras_mpi\[3@[^]]+\]: out of memory: [0-9]+ bytes for '
check "no file" test ! -e "$out"
rm -f "$out".*

# ---- time, devices, learning
about "--timeout"
for how in program "ranks 3"; do
    begin=${EPOCHREALTIME/[.,]/}
    # shellcheck disable=SC2086
    expect_exit 1 $how "${endless[@]}" --timeout 1 -o "$out"
    took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
    says_once 'the time given by --timeout is over'
    check "within 20 s ($took ms)" test $took -le 20000 # it would train for many minutes
    check "no file" test ! -e "$out" -a ! -e "$out.part" -a ! -e "$out.lock"
done
about "TERM without a launcher"
"$LIBRAS_PROGRAM" "${endless[@]}" -o "$out" >/dev/null 2>"$scratch/stderr" &
job=$!
check "it trains" soon test -s "$out.part"
kill -TERM "$job"
wait "$job"
check "ends by the signal" test $? = 143
job=
says_once 'stopped by a signal; nothing was written'
check "no file" test ! -e "$out" -a ! -e "$out.part" -a ! -e "$out.lock"
rm -f "$out".*

about "learning"
expect_exit 1 ranks 3 "${quick[@]}" --learning-rate 1e30 --seed 1:3 -o "$out"
says_once 'no trial has weights: all 3 diverged or failed'
expect_text stdout '^verdict +FAILED$'
expect_text stdout '^FOM .*=n/a .*status=FAILED$'
expect_text stdout '^trials +3 trained: 0 ok, 3 diverged, 0 failed$'
expect_exit 0 program verify "$out"
expect_exit 2 program infer "$out" --data "$data" -o "$scratch/inferred.h5"
says_once 'keeps no weights|has no weights'
rm "$out"
expect_exit 0 ranks 3 "${quick[@]}" --learning-rate 0.02,1e30,0.03 -o "$out" --validate-replicas 3
expect_text stdout '^trials +3 trained: 2 ok, 1 diverged, 0 failed$'
expect_text stdout '^ +1 +1e\+30 .* diverged .* the loss of epoch 1 is not finite$'
expect_exit 0 program verify "$out" --validate-replicas 3
rm "$out"

# ---- nobody listens
about "stdout"
closed() { "$@" >&-; }
full() { "$@" >/dev/full; }
for how in closed full; do
    for command in "run ${quick[*]} -o $out --force" info "verify $scratch/old.h5" "export $scratch/old.h5" \
        "verify $scratch/old.h5 $scratch/old.h5" "synth $scratch/new -n 2 --force" "run ${quick[*]} --dry-run"; do
        # shellcheck disable=SC2086
        expect_exit 1 $how program $command
        says_once '^libras_mpi: stdout: '
    done
    expect_exit 1 $how program --help
    expect_exit 1 $how program --version
done
expect_exit 0 program verify "$out" -q
rm "$out"

# ---- with and without mpirun
about "the same code"
same_code() { # CODE ERE ARGUMENTS...
    local code=$1 text=$2
    shift 2
    expect_exit "$code" program "$@"
    says_once "$text"
    expect_exit "$code" ranks 3 "$@"
    says_once "$text"
}
CUDA_VISIBLE_DEVICES='' same_code 4 'gpu|GPU|driver' "${quick[@]}" --device gpu -o "$out"
CUDA_VISIBLE_DEVICES='' expect_exit 4 program infer "$scratch/old.h5" --device gpu -o "$out"
says_once 'gpu|GPU|driver'
no_files "$out"
same_code 2 "--device: 'gpuu' is no device; did you mean 'gpu'" "${quick[@]}" --device gpuu -o "$out"
same_code 2 "'verfy' is no command; did you mean 'verify'" verfy
same_code 2 'nowhere\.h5' infer "$scratch/nowhere.h5" -o "$out"
same_code 2 'A\.csv' synth "$data" -n 20
same_code 1 'no trial has weights' "${quick[@]}" --learning-rate 1e30 -o "$out" --force
expect_exit 3 program verify "$scratch/old.h5" "$out"
expect_exit 3 ranks 3 verify "$scratch/old.h5" "$out"

finish
