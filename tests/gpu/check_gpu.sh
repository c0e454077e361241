#!/usr/bin/env bash
# check_gpu.sh [OUTPUT]: all that only a GPU can show. `make check-gpu` builds what it needs and calls it.
#
# 1. every GPU backend against the CPU reference, bit for bit: shapes, block sizes, refusals, divergence (gpu_bits); the
#    window filter's two kernels against its plain loop (filter_bits)
# 2. the program on 1, 2 and 4 ranks, on all of the machine's GPUs and on one: the same answers as cpu-ref's, and
#    `verify A B` says so; what a GPU that is not there leads to
# 3. compute-sanitizer: memcheck, racecheck, synccheck, initcheck, on an optimised build and on one with -G
#
# It needs CUDA, MPI and HDF5; what is missing is skipped with its reason. The output goes to stdout and to OUTPUT
# (default: tests/gpu/check_gpu.txt), and ends with a line of counts. ONLY="bits program sanitizer" chooses parts.
set -u
cd "$(dirname "$0")/../.." || exit 1
output=${1:-tests/gpu/check_gpu.txt}
build=${LIBRAS_BUILD:-build}
only=${ONLY:-bits program sanitizer}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
exec > >(tee "$output") 2>&1

passed=0 failed=0 skipped=0
part() { [[ " $only " == *" $1 "* ]]; }
ok() { # NAME STATUS
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
    fi
}
skip() { # NAME REASON
    skipped=$((skipped + 1))
    echo "skipped $1: $2"
}
# tap NAME COMMAND...: runs it and counts its results; its comments and its failures are shown.
tap() {
    local name=$1 status good bad
    shift
    timeout 900 "$@" >"$scratch/tap" 2>"$scratch/errors"
    status=$?
    grep -E '^(#|not ok|Bail out)' "$scratch/tap"
    head -n 20 "$scratch/errors"
    good=$(grep -c '^ok' "$scratch/tap") bad=$(grep -c '^not ok' "$scratch/tap")
    passed=$((passed + good)) failed=$((failed + bad))
    echo "        $name: $good passed, $bad failed"
    if [ "$status" != 0 ] && [ "$bad" = 0 ] || ! grep -q '^1\.\.[1-9]' "$scratch/tap"; then
        ok "$name (exit status $status)" 1
    fi
}

# ---- where we are ----
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
echo "date      $(date -u +%Y-%m-%d)"
echo "commit    $(git describe --always --dirty 2>/dev/null || echo unknown)"
nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader | sed 's/^/card      /'
echo "nvcc      $("$nvcc" --version | sed -n 's/.*release //p')"
echo

# ---- 1. bits ----
if part bits; then
    echo "== every backend against cpu-ref"
    tap gpu_bits "$build/gpu/gpu_bits"
    tap filter_bits "$build/gpu/filter_bits"
fi

# ---- 2. the program ----
gpus=$(nvidia-smi -L | grep -c '^GPU')
mpirun=${MPIRUN:-mpirun --oversubscribe}
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# libras RANKS ARGUMENT...: the program, its words kept.
libras() {
    local ranks=$1
    shift
    # shellcheck disable=SC2086 # mpirun and its options are words
    timeout 300 $mpirun -np "$ranks" ./libras_mpi "$@" >"$scratch/out" 2>"$scratch/err"
}
data=()
[ -z "${LIBRAS_DATA:-}" ] || data=(--data "$LIBRAS_DATA")

program() {
    local same="--epochs 2 --block 32,96,128,1024 --hidden 32x16,5x3" device ranks
    # shellcheck disable=SC2086 # options are words
    libras 2 run "${data[@]}" --device cpu-ref $same -o "$scratch/cpu.h5"
    ok "run on cpu-ref" $?
    for device in gpu gpu:fast gpu:whole gpu:batch gpu:resident gpu:batch+shared gpu:whole+fused auto; do
        for ranks in 1 2 4; do
            # shellcheck disable=SC2086
            libras "$ranks" run "${data[@]}" --device "$device" $same -f -o "$scratch/gpu.h5" &&
                grep -q "verdict    VALID" "$scratch/out" && ! grep -q "gpus=0" "$scratch/out" &&
                cp "$scratch/out" "$scratch/report" &&
                libras 1 verify "$scratch/cpu.h5" "$scratch/gpu.h5"
            ok "run --device $device on $ranks ranks: cpu-ref's bits" $?
        done
    done
    libras 2 run "${data[@]}" --device gpu:naive --epochs 1 --block 64 -f -o "$scratch/gpu.h5" &&
        libras 1 run "${data[@]}" --device cpu-ref --epochs 1 --block 64 -f -o "$scratch/cpu1.h5" &&
        libras 1 verify "$scratch/cpu1.h5" "$scratch/gpu.h5"
    ok "run --device gpu:naive on 2 ranks: cpu-ref's bits" $?
    libras 3 infer "$scratch/cpu.h5" "${data[@]}" --device gpu -f -o "$scratch/infer.h5" && grep -q VALID "$scratch/out"
    ok "infer --device gpu on 3 ranks" $?
    echo "the report on 4 ranks:"
    sed -n '/^rank /,/^$/p; /^FOM/p' "$scratch/report" | sed 's/^/    /'
}

bindings() {
    local distinct
    libras 4 info
    distinct=$(grep -oE 'GPU-[0-9a-f-]{36}' "$scratch/out" | sort -u | wc -l)
    [ "$distinct" = "$((gpus < 4 ? gpus : 4))" ]
    ok "4 ranks use all of the node's $gpus GPUs" $?
    if [ "$gpus" -lt 4 ]; then
        grep -q 'share' "$scratch/err"
        ok "ranks that share a GPU are told so: $(grep -m 1 share "$scratch/err")" $?
    fi
    CUDA_VISIBLE_DEVICES=0 libras 4 info && grep -q 'share' "$scratch/err"
    ok "4 ranks on one GPU share it" $?
    local uuid
    uuid=$(nvidia-smi --query-gpu=uuid --format=csv,noheader | tail -n 1)
    for uuid in "$uuid" "${uuid:0:12}"; do
        CUDA_VISIBLE_DEVICES=$uuid libras 2 info && grep -q "GPU-" "$scratch/out"
        ok "CUDA_VISIBLE_DEVICES=${uuid:0:7}...: ${#uuid} characters" $?
    done
    for hidden in "" -1 GPU-00000000-0000-0000-0000-000000000000; do
        CUDA_VISIBLE_DEVICES=$hidden libras 2 run "${data[@]}" --device gpu --epochs 1 -f -o "$scratch/no.h5"
        [ $? = 4 ] && grep -q 'no GPU that this process can see' "$scratch/err" && [ ! -e "$scratch/no.h5" ]
        ok "CUDA_VISIBLE_DEVICES='$hidden': exit 4, and why" $?
    done
    CUDA_VISIBLE_DEVICES="" libras 2 run "${data[@]}" --device auto --epochs 1 -f -o "$scratch/no.h5" &&
        grep -q "gpus=0" "$scratch/out"
    ok "--device auto without a GPU uses the CPU" $?
}

if part program; then
    echo
    echo "== the program"
    if [ -x ./libras_mpi ] && command -v "${mpirun%% *}" >/dev/null; then
        program
        bindings
    else
        skip "the program" "no libras_mpi, or no mpirun"
    fi
fi

# ---- 3. compute-sanitizer ----
# watched NAME COMMAND...: under $tool with ${options[@]}, no complaint and no failed test.
watched() {
    local name=$1 status
    shift
    timeout 900 "$sanitizer" --tool "$tool" "${options[@]}" --error-exitcode 9 "$@" >"$scratch/tool" 2>&1 &&
        grep -qE '(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)' "$scratch/tool" &&
        grep -q '^ok' "$scratch/tool" && ! grep -q '^not ok' "$scratch/tool"
    status=$?
    [ "$status" = 0 ] || grep -vE '^(ok|#)' "$scratch/tool" | head -n 40
    ok "$name" "$status"
}

sanitize() { # BUILD WORDS
    local tool options
    for tool in memcheck racecheck synccheck initcheck; do
        options=()
        [ "$tool" != memcheck ] || options=(--leak-check full)
        timeout 900 "$sanitizer" --tool "$tool" "${options[@]}" --error-exitcode 9 "$1/gpu/gpu_bits" --small \
            gpu:naive gpu:resident gpu:batch gpu:whole gpu:whole+shared gpu:whole+fused >"$scratch/tool" 2>&1
        local status=$?
        grep -E 'SUMMARY' "$scratch/tool" | sort | uniq -c | sed 's/^/        /'
        [ "$status" = 0 ] && grep -qE '(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)' "$scratch/tool" &&
            ! grep -q '^not ok' "$scratch/tool"
        status=$?
        [ "$status" = 0 ] || grep -vE '^(ok|#)' "$scratch/tool" | head -n 40
        ok "compute-sanitizer $tool, $2" "$status"
        # gpu:fast scores through mapped memory and three streams
        watched "compute-sanitizer $tool, $2: gpu:fast scores" "$1/gpu/gpu_bits" --small --scores gpu:fast
        watched "compute-sanitizer $tool, $2: the window filter" "$1/gpu/filter_bits" --small
    done
}

if part sanitizer; then
    echo
    echo "== compute-sanitizer"
    if [ ! -x "$sanitizer" ]; then
        skip "compute-sanitizer" "not installed"
    else
        sanitize "$build" "optimised"
        if make -s BUILD=build-gpu-debug CUDA_DEBUG=1 gpu-bits; then
            sanitize build-gpu-debug "with -G"
        else
            ok "a build with -G" 1
        fi
    fi
fi

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
