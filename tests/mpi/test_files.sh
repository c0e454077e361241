#!/usr/bin/env bash
# Files as they really fail: readers that hold the old one, locks that a file system lacks, folders that nobody may write,
# disks that are full, data that cannot be used; and ranks of which one cannot read.
# shellcheck disable=SC2016 # what is passed on to another shell is for that shell
. "$(dirname "$0")/common.sh"

data=$scratch/data out=$scratch/out.h5
program synth "$data" -n 20 -q
quick=(--data "$data" --epochs 2 --block 32)
program "${quick[@]}" -o "$scratch/old.h5" -q >&2
root() { [ "$(id -u)" = 0 ]; }

# ---- the old file
about "a reader that holds the old file"
cp "$scratch/old.h5" "$out"
exec 3<"$out"
expect_exit 0 ranks 2 "${quick[@]}" --seed 5 -o "$out" --force -q
check "still reads the old one" cmp "$scratch/old.h5" /dev/fd/3
exec 3<&-
expect_exit 3 program verify "$scratch/old.h5" "$out" -q
if [ -n "${PYTHON:-}" ]; then
    cp "$scratch/old.h5" "$out"
    mkfifo "$scratch/hold"
    "$PYTHON" -c 'import h5py, sys, time
with h5py.File(sys.argv[1]) as file:
    open(sys.argv[2], "w").close()
    for line in sys.stdin: pass
    assert file["inference/scores"][()].any()' "$out" "$scratch/opened" <"$scratch/hold" &
    reader=$!
    exec 4>"$scratch/hold" # it holds the file until this is closed
    for _ in $(seq 600); do
        [ ! -e "$scratch/opened" ] || break
        sleep 0.1
    done
    expect_exit 0 ranks 2 "${quick[@]}" --seed 5 -o "$out" --force -q
    check "h5py holds it meanwhile" kill -0 $reader
    exec 4>&-
    check "h5py reads it to the end" wait $reader
else
    skip "h5py" "no python3 with h5py"
fi
about "--force, and every trial diverges"
cp "$scratch/old.h5" "$out"
expect_exit 1 ranks 2 "${quick[@]}" --learning-rate 1e30 -o "$out" --force
says_once 'no trial has weights: .* The file keeps its older results$'
expect_text stdout '^file +not written: the older one stays$'
check "the old file is untouched" cmp "$scratch/old.h5" "$out"
check "nothing lies beside it" test "$(echo "$out"*)" = "$out"
rm "$out"

# ---- symbolic links
about "a symbolic link"
mkdir "$scratch/elsewhere" && ln -s elsewhere/target.h5 "$scratch/link.h5" && cp "$scratch/old.h5" "$scratch/elsewhere/target.h5"
expect_exit 0 program "${quick[@]}" --seed 5 -o "$scratch/link.h5" --force -q
check "stays a link" test -L "$scratch/link.h5"
expect_exit 3 program verify "$scratch/old.h5" "$scratch/elsewhere/target.h5" -q
ln -sfn nowhere "$scratch/link.h5"
expect_exit 2 program "${quick[@]}" -o "$scratch/link.h5" --force
says_once 'link to nothing'
ln -s "$data" "$scratch/data link"
expect_exit 0 program verify "$scratch/old.h5" --data "$scratch/data link" -q

# ---- locks
about "a file system without locks"
if "${CC:-gcc}" -std=gnu11 -O1 -shared -fPIC tests/mpi/no_locks.c -o "$scratch/no_locks.so" 2>/dev/null; then
    lockless() { LD_PRELOAD=$scratch/no_locks.so env "$@"; }
    for number in 37 524; do # ENOLCK, and what NFS without locks says
        expect_exit 1 lockless NO_LOCKS_ERRNO=$number "$LIBRAS_PROGRAM" "${quick[@]}" --epochs 100000 -o "$out"
        says_once "cannot lock '.*out.h5.lock': .*its file system \([a-z0-9x]+\) has no file locks: choose an --out on another"
        no_files "$out"
    done
    expect_exit 1 lockless NO_LOCKS_ERRNO=11 "$LIBRAS_PROGRAM" "${quick[@]}" --epochs 100000 -o "$out"
    says_once "another run \(.*\) is writing '.*out.h5'; wait for it, stop it, or choose another name"
    rm -f "$out.lock"
    for number in 37 11 524; do
        expect_exit 1 lockless NO_FLOCK_ERRNO=$number "$LIBRAS_PROGRAM" "${quick[@]}" --epochs 100000 -o "$out"
        says_once "out.h5.part': .*HDF5_USE_FILE_LOCKING=FALSE"
        no_files "$out"
        expect_exit 1 lockless NO_FLOCK_ERRNO=$number "$LIBRAS_PROGRAM" verify "$scratch/old.h5"
        says_once "old.h5': .*HDF5_USE_FILE_LOCKING=FALSE"
        expect_exit 0 lockless HDF5_USE_FILE_LOCKING=FALSE NO_FLOCK_ERRNO=$number "$LIBRAS_PROGRAM" "${quick[@]}" -o "$out" -q
        check "the user's setting is honoured, and the file complete" program verify "$out" -q
        rm -f "$out"
    done
else
    skip "locks that are refused" "no C compiler"
fi

# ---- folders
about "a folder that one may not write"
mkdir "$scratch/locked" && chmod 555 "$scratch/locked"
if ! root; then
    expect_exit 2 ranks 2 "${quick[@]}" -o "$scratch/locked/x.h5"
    says_once "cannot write in folder '.*locked': Permission denied"
elif command -v setpriv >/dev/null; then
    chmod 755 "$scratch" && cp -L "$LIBRAS_PROGRAM" "$scratch/program"
    as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$scratch" "$@"; }
    expect_exit 2 as_nobody "$scratch/program" "${quick[@]}" -o "$scratch/locked/x.h5"
    says_once "cannot write in folder '.*locked': Permission denied"
    expect_exit 1 as_nobody "$scratch/program" synth "$scratch/locked/new" -n 2
    says_once 'locked.*Permission denied'
    chmod 000 "$data/C.csv"
    expect_exit 2 as_nobody "$scratch/program" "${quick[@]}" -o /dev/null
    says_once 'Permission denied|no plain file'
    chmod 644 "$data/C.csv"
else
    skip "as another user" "no setpriv"
fi

# ---- full disks, and such as may only be read: in a name space of their own, which goes with the last process
about "a disk"
if root && mkdir "$scratch/disk" && unshare --mount mount -t tmpfs tmpfs "$scratch/disk" 2>/dev/null; then
    on_disk() { # OPTIONS COMMAND...: with a tmpfs on $scratch/disk; says what is left there
        unshare --mount bash -c 'mount -t tmpfs -o "$1" tmpfs "$2" || exit 99
            disk=$2; shift 2; "$@"; code=$?; ls "$disk" >"$disk.left"; exit $code' bash "$1" "$scratch/disk" "${@:2}"
    }
    expect_exit 2 on_disk ro "$LIBRAS_PROGRAM" "${quick[@]}" -o "$scratch/disk/x.h5"
    says_once "cannot write in folder '.*disk': Read-only file system"
    for command in "synth $scratch/disk/many.pack --packed f32 -n 200" "synth $scratch/disk/many -n 300" \
        "infer $scratch/old.h5 --data $data -o $scratch/disk/x.h5" "${quick[*]} -o $scratch/disk/x.h5"; do
        # shellcheck disable=SC2086 # words
        expect_exit 1 on_disk size=100k "$LIBRAS_PROGRAM" $command
        says_once 'No space left on device'
        check "nothing is left" test -z "$(grep -vx many "$scratch/disk.left")"
    done
else
    skip "full, and read-only" "a tmpfs cannot be mounted here"
fi

# ---- data
about "a pixel that is too large"
cp -r "$data" "$scratch/large" && sed -i -e '3s/^[^,]*,/1e308,/' -e '1s/^/\n/' "$scratch/large/C.csv" # after a blank line
expect_exit 2 program "${quick[@]}" --data "$scratch/large" -o "$out"
says_once 'large/C\.csv:4: value 1: 1(\.0+1)?e\+308'
about "a file A.CSV beside A.csv"
cp "$data/A.csv" "$data/A.CSV"
expect_exit 2 program "${quick[@]}" -o "$out"
says_once 'A\.CSV: only the ending \.csv is read'
rm "$data/A.CSV"
no_files "$out"

# ---- one rank of several
about "one rank that cannot read"
program synth "$scratch/some.pack" -n 40 --packed u8 -q
in_folder() { cd "$scratch" && "$@"; }
expect_exit 2 in_folder within 60 wrapped 4 '[ $rank != 2 ] || cd /' infer old.h5 --data some.pack -o x.h5
says_once '^libras_mpi\[2@[^]]+\]: some.pack: No such file'
no_files "$scratch/x.h5"
about "worlds of one"
for rank in 0 3; do
    for told in SLURM_STEP_NUM_TASKS PMI_SIZE; do
        expect_exit 2 env $told=4 SLURM_PROCID=$rank PMI_RANK=$rank "$LIBRAS_PROGRAM" "${quick[@]}" -o "$out"
        [ $rank != 0 ] || says_once 'the launcher has started 4 processes, and each is alone in its world'
        [ $rank = 0 ] || check "the others are silent" test ! -s "$scratch/stderr"
    done
    expect_exit 2 env SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=$rank "$LIBRAS_PROGRAM" "${quick[@]}" -o "$out"
    [ $rank != 0 ] || says_once 'srun has started 4 processes without telling them of each other: say srun --mpi=pmix'
done
expect_exit 0 env SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=4 SLURM_PROCID=0 "$LIBRAS_PROGRAM" info # in a batch script
SLURM_STEP_NUM_TASKS=2 expect_exit 0 ranks 1 info # mpirun -np 1 in a job of two nodes
no_files "$out"

# ---- what is said
about "words"
expect_exit 0 program "${quick[@]}" --learning-rate 0.02 -o "$out" --dry-run
expect_no_text stdout '0\.01999'
expect_exit 0 program "${quick[@]}" --learning-rate 0.02,1e30,0.03 -o "$out" -q
expect_exit 0 program infer "$out" --data "$data" --trial 2 -o "$scratch/i.h5"
expect_text stdout '^weights +.*out\.h5, trial 2$'
expect_text stderr '^libras_mpi: [0-9]+ of these [0-9]+ samples are those that the network was trained with'
program synth "$scratch/bare.pack" -n 4 --packed u8 --no-labels -q
expect_exit 0 program infer "$out" --data "$scratch/bare.pack" -o "$scratch/bare.h5"
expect_text stdout '^weights +.*out\.h5, trial 0$'
expect_no_text stderr 'was trained with'
expect_exit 0 program export "$scratch/bare.h5" --table confusion
check "nobody knows a confusion without labels" test "$(grep -cE '^[A-Z],[A-Z],$' "$scratch/stdout")" = 225
finish
