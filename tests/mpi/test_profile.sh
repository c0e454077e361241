#!/usr/bin/env bash
# What a profiler is given: the program's phases as NVTX ranges, seen by a small library in the profiler's place; and
# jobs/profile.slurm, run here without Slurm, GPU and profilers: stand-ins keep their arguments and run the rest.
. "$(dirname "$0")/common.sh"

data=$scratch/data
check "data" program synth "$data" -n 10 -q

# ---- The ranges ------------------------------------------------------------------------------------------------------
# nvtx_header: that of nvcc's toolkit, as cuda/cuda.mk finds the toolkit. Nothing where there is none.
nvtx_header() {
    local nvcc top file
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || return 0
    top=$("$nvcc" --dryrun -E -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
    for file in "$top"/include "$top"/targets/*/include; do
        [ ! -e "$file/nvtx3/nvToolsExt.h" ] || echo "$file"
    done | head -n 1
}

# What a profiler's library does first: NVTX hands it a table of pointers to the functions that the program calls.
cat >"$scratch/listen.c" <<'END'
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static FILE *f;

static int push(const char *name)
{
    fprintf(f, "+%s\n", name);
    fflush(f);
    return 0;
}

static int pop(void)
{
    fprintf(f, "-\n");
    fflush(f);
    return 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    char path[4096];
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    snprintf(path, sizeof path, "%s.%ld", getenv("HEARD"), (long)getpid());
    f = fopen(path, "w");
    if (!f || size <= NVTX_CBID_CORE_RangePop)
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
END

# balanced FILE: as many ends as beginnings, and never an end before its beginning.
balanced() { awk '/^\+/ { open++ } /^-/ { if (--open < 0) bad = 1 } END { exit bad || open }' "$@"; }
# heard N WORDS: N processes, each with these ranges in this order.
heard() {
    local n=$1 files file
    shift
    files=("$HEARD".*)
    check "$n process(es) are heard" test ${#files[@]} = "$n" -a -e "${files[0]}"
    for file in "${files[@]}"; do
        check "every range ends" balanced "$file"
        check "the phases: $*" diff <(sed -n 's/^+//p' "$file") <(printf '%s\n' "$@")
    done
    rm -f "$HEARD".*
}

about "ranges"
include=$(nvtx_header)
if "$LIBRAS_PROGRAM" info 2>&1 | grep -q 'built without CUDA'; then
    skip "the program's phases" "it is built without CUDA"
elif [ -z "$include" ]; then
    skip "the program's phases" "nvcc's toolkit has no nvtx3/nvToolsExt.h"
elif ! "${CC:-gcc}" -shared -fPIC -isystem "$include" "$scratch/listen.c" -o "$scratch/listen.so" 2>"$scratch/cc"; then
    sed 's/^/# /' "$scratch/cc"
    skip "the program's phases" "no compiler for the listener"
else
    export NVTX_INJECTION64_PATH=$scratch/listen.so HEARD=$scratch/heard
    expect_exit 0 program --device cpu --data "$data" --epochs 2 --block 32 -o "$scratch/run.h5" -q
    heard 1 start-up data train infer gather validate file
    expect_exit 0 ranks 2 --device cpu --data "$data" --epochs 2 --block 32,64 -o "$scratch/run2.h5" -q
    heard 2 start-up data train infer gather validate file
    expect_exit 0 program infer "$scratch/run.h5" --device cpu --data "$data" -o "$scratch/infer.h5" -q
    heard 1 start-up data infer gather validate file
    expect_exit 2 program infer "$scratch/run.h5" --device cpu --data "$scratch/nowhere" -o "$scratch/no.h5" -q
    heard 1 start-up data
    program synth "$scratch/data.pack" --packed u8 --data "$data" -q >&2
    rm -f "$HEARD".*
    expect_exit 0 program infer "$scratch/run.h5" --device cpu --data "$scratch/data.pack" -o "$scratch/pack.h5" -q
    heard 1 start-up data infer gather validate file
    expect_exit 0 program bench --device cpu-ref --data "$data" --epochs 1 --repeats 1 --seconds 1
    heard 1 start-up data cpu-ref train cpu-ref train cpu-ref train cpu-ref infer cpu-ref infer cpu-ref infer \
        cpu-ref infer cpu-ref infer
    unset NVTX_INJECTION64_PATH
    expect_exit 0 program --device cpu --data "$data" --epochs 2 --block 32 -o "$scratch/alone.h5" -q
    check_not "nothing is loaded without a profiler" ls "$HEARD".*
fi

# ---- The job script --------------------------------------------------------------------------------------------------
home="$scratch/São João/libras"
stubs="$scratch/para só testar"
mkdir -p "$home/results" "$stubs" "$scratch/else where"
cp -R jobs "$home"
rm -f "$home/jobs/site.sh"
ln -s "$(readlink -f "$LIBRAS_PROGRAM")" "$home/libras_mpi"

# Both profilers: their arguments in a file of each rank; a report by its name with %q{VARIABLE} put in, %% for %; then
# the program. STUB says what else is to happen.
cat >"$stubs/nsys" <<'END'
#!/usr/bin/env bash
[ "$1" != --version ] || exec echo "a stand-in"
tool=${0##*/} report=
rank=${OMPI_COMM_WORLD_RANK:?}
printf '%s\n' "$@" >"$STUB_LOG/$tool.$rank"
while [ $# -gt 0 ]; do
    case $1 in
    profile | --force-overwrite* | --trace=* | --sample=* | --cpuctxsw=* | --nvtx) shift ;;
    -o) report=$2 && shift 2 ;;
    --set | --kernel-name | --launch-count) shift 2 ;;
    *) break ;;
    esac
done
if [[ $report =~ ^(.*)%q\{([A-Z_]+)\}$ ]]; then
    name=${BASH_REMATCH[2]}
    report=${BASH_REMATCH[1]//%%/%}${!name}
fi
case ${STUB:-} in
permission)
    echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the" \
        "target device 0."
    ;;
dcgm)
    echo "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is" \
        "concurrently collecting profiling data."
    ;;
nothing) ;;
first) [ "$rank" != 0 ] || echo report >"$report.$tool-rep" ;;
*) echo report >"$report.$tool-rep" ;;
esac
"$@"
END
cp "$stubs/nsys" "$stubs/ncu"
# srun: its own options are dropped; two ranks, or one where one node's worth is asked for, with Slurm's name of a rank.
cat >"$stubs/srun" <<'END'
#!/usr/bin/env bash
n=2
while [[ ${1:-} == -* ]]; do
    [ "$1" != --ntasks=1 ] || n=1
    [ "$1" != --mpi=none ] || n=0
    shift
done
[ "$n" != 0 ] || exec "$@"
exec "$STUB_MPIRUN" -np "$n" sh -c 'SLURM_PROCID=$OMPI_COMM_WORLD_RANK exec "$@"' sh "$@"
END
# mpirun: two ranks where Slurm would say how many. SLURM_PROCID is then of no use.
cat >"$stubs/mpirun" <<'END'
#!/usr/bin/env bash
case $1 in
-np) exec "$STUB_MPIRUN" "$@" ;;
*) exec "$STUB_MPIRUN" -np 2 env SLURM_PROCID=0 "$@" ;;
esac
END
printf '#!/bin/sh\nexec %s "$@"\n' "$(command -v "${MPIRUN%% *}") --oversubscribe" >"$stubs/real-mpirun"
printf '#!/bin/sh\necho "   Command=%s/jobs/profile.slurm"\n' "$home" >"$stubs/scontrol"
chmod +x "$stubs"/*
export STUB_MPIRUN="$stubs/real-mpirun" STUB_LOG=$scratch/arguments
mkdir -p "$STUB_LOG"

# as_job [NAME=VALUE...] ARGUMENTS...: the script, from a spool folder as under Slurm, submitted from the current one.
number=70
as_job() {
    local variables=()
    while [[ ${1:-} =~ ^[A-Z_]+= ]]; do
        variables+=("$1")
        shift
    done
    mkdir -p "$scratch/spool"
    cp "$home/jobs/profile.slurm" "$scratch/spool/slurm_script"
    timeout -k 5 "$patience" env -u LIBRAS_HOME -u LIBRAS_SITE -u LIBRAS_LAUNCHER PATH="$stubs:$PATH" \
        SLURM_JOB_ID="$number" SLURM_SUBMIT_DIR="$PWD" SLURM_JOB_NUM_NODES=1 SLURM_NTASKS=2 SLURM_JOB_NODELIST=here \
        SLURM_JOB_PARTITION=none SLURMD_NODENAME=here ${variables[@]+"${variables[@]}"} \
        bash "$scratch/spool/slurm_script" "$@"
}
# job CODE ...: the same, which ends with that code. Its number is in $number.
job() {
    local code=$1
    shift
    rm -f "$STUB_LOG"/*
    number=$((number + 1))
    expect_exit "$code" as_job "$@"
}
arguments() { check "rank $2 of $1 gets: $3" grep -qxF -e "$3" "$STUB_LOG/$1.$2"; }
quick=(--device cpu --data "$data" --epochs 2 --block "32,64")
cd "$home" || exit 1

for launcher in srun mpirun; do
    about "nsys by $launcher"
    job 0 "LIBRAS_LAUNCHER=$launcher" "${quick[@]}"
    check "the file is there" test -s "results/libras_$number.h5"
    for rank in 0 1; do
        check "rank $rank has a report" test -s "results/profile_${number}_nsys_rank$rank.nsys-rep"
        arguments nsys $rank "--trace=cuda,nvtx,mpi"
        expect_text stdout "^profile.slurm: report of rank $rank: results/profile_${number}_nsys_rank$rank.nsys-rep"
    done
    expect_text stdout ", by $launcher.*, in .*/São João/libras$"
    expect_text stdout 'nsys stats FILE'
    expect_text stdout 'VALID'
done

about "ncu"
job 0 ncu "${quick[@]}"
for rank in 0 1; do
    check "rank $rank has a report" test -s "results/profile_${number}_ncu_rank$rank.ncu-rep"
    arguments ncu $rank --launch-count
    arguments ncu $rank regex:lm_
done
job 0 ncu --set full --kernel-name 'regex:fused kernel' --launch-count 1 -- "${quick[@]}"
arguments ncu 0 'regex:fused kernel'
check_not "its options take the place of the script's" grep -qx -e --nvtx "$STUB_LOG/ncu.0"
kernels=$(grep -hoE '__global__ .*\<[a-z_]+\((struct|unsigned|const)' "$LIBRAS_ROOT"/cuda/*.cu* |
    sed -E 's/.*\<([a-z_]+)\(.*/\1/')
check "kernels that the filter keeps out: the one that tries the device" test "$(grep -v lm_ <<<"$kernels")" = tiny_kernel
check "and it lets others through" test "$(grep -c lm_ <<<"$kernels")" -gt 5

about "reports that are missing"
job 1 STUB=nothing "${quick[@]}"
expect_text stderr '^profile.slurm: nsys wrote no report'
job 1 STUB=first "${quick[@]}"
expect_text stderr '^profile.slurm: no report of rank\(s\) 1$'
job 1 STUB=nothing ncu "${quick[@]}"
expect_text stderr 'ncu wrote no report: .*--device gpu'
job 0 STUB=first ncu "${quick[@]}"
expect_text stdout '^profile.slurm: no report of rank\(s\) 1: no launch of theirs'

about "counters that may not be read"
job 4 STUB=permission ncu "${quick[@]}"
for word in 'administrators$' 'NVreg_RestrictProfilingToAdminUsers=0' '--cap-add=SYS_ADMIN' 'jobs/profile.slurm nsys'; do
    expect_text stderr "$word"
done
job 4 STUB=dcgm ncu "${quick[@]}"
expect_text stderr 'dcgmi profile --pause'

about "a profiler that is not there"
for tool in nsys ncu; do
    mv "$stubs/$tool" "$stubs/hidden"
    if PATH="$stubs:$PATH" command -v "$tool" >/dev/null; then
        skip "no $tool" "this machine has one"
    else
        job 4 "$tool" "${quick[@]}"
        expect_text stderr "^profile.slurm: here: there is no $tool on PATH"
        expect_text stderr 'jobs/site.sh'
        check_not "nothing has run" test -e "results/libras_$number.h5"
    fi
    mv "$stubs/hidden" "$stubs/$tool"
done
mkdir "$scratch/without"
mv "$stubs/nsys" "$scratch/without"
echo "PATH='$scratch/without':\$PATH" >site.sh # as a module would
job 0 "LIBRAS_SITE=$PWD/site.sh" "${quick[@]}"
mv "$scratch/without/nsys" "$stubs"
rm site.sh

about "a run that fails"
job 2 --device cpu --data "$scratch/nowhere"
expect_text stdout 'nowhere'
expect_text stderr '^profile.slurm: the run under nsys ended with 2'
job 2 nvprof
expect_text stderr "the profiler is nsys or ncu, not 'nvprof'"
job 2 --dry-run
expect_text stderr 'leave nothing to profile'
expect_exit 2 bash jobs/profile.slurm
expect_text stderr 'this is a batch script'

about "submitted from elsewhere"
cd "$scratch/else where" || exit 1
job 0 "${quick[@]}" --out "saída 50%/r 1.h5"
check "makes the file" test -s "saída 50%/r 1.h5"
check "and the reports beside it" test -s "saída 50%/profile_${number}_nsys_rank1.nsys-rep"
job 0 SLURM_RESTART_COUNT=1 "SLURM_JOB_ID=$number" "${quick[@]}" --out "saída 50%/r 1.h5"
expect_text stdout 'saída 50%/r 1.h5 is complete'
check_not "a second start does not run it again" ls "$STUB_LOG"/nsys.0
job 0 SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=3 "${quick[@]}"
check "an array has reports a task" test -s results/libras_5_3.h5 -a -s results/profile_5_3_nsys_rank0.nsys-rep

finish
