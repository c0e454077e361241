#!/usr/bin/env bash
# test_plan.sh: `libras_mpi calibrate` and `libras_mpi plan`: a machine's file that is whole and refused where it is stale, and
# a plan of this machine and of a described one. No time is asserted: machines differ.
# shellcheck source=tests/mpi/common.sh
. "$(dirname "$0")/common.sh"

data=$scratch/data
check "data" program synth "$data" -n 12 -q
mkdir "$scratch/here"
here() { (cd "$scratch/here" && "$@"); }

about "calibrate"
expect_exit 0 here program calibrate --device cpu --data "$data" -o "$scratch/cpu.txt"
expect_text stdout '^cpu\.ref\.train +[0-9.]+ [MG]FLOP/s '
expect_text stdout '^cpu\.memory +[0-9.]+ [MG]B/s '
expect_text stdout '^job\.results +[0-9.]+ u?m?s '
expect_text stdout '^job\.row +[0-9.]+ [nu]s '
expect_text stdout '^measured +in [0-9.]+ s'
check "begins with its format" test "$(head -n 1 "$scratch/cpu.txt")" = "libras-machine 1"
check "each line is key, value, unit" bash -c "tail -n +2 '$scratch/cpu.txt' | awk 'NF < 3 { bad = 1 } END { exit bad || NR < 15 }'"
check "nothing is left beside it" test "$(find "$scratch" -maxdepth 1 -name 'cpu.txt*' | wc -l)" = 1
expect_exit 0 here program calibrate --device cpu --data "$data" -q
check "the default name has the host" test -s "$scratch/here/results/machine_$(hostname).txt"
check "nothing on stdout with -q" test ! -s "$scratch/stdout"
expect_exit 0 ranks 2 calibrate --device cpu --data "$data" -o "$scratch/two.txt"
expect_text stdout '^job\.gather\.fixed +'

about "what cannot be measured"
expect_exit 2 program calibrate --device gpu:fast --data "$data" -o "$scratch/no.txt"
says_once "'gpu:fast' is not auto, cpu or gpu"
if ! program info 2>/dev/null | grep -q '^gpu:.* yes '; then
    expect_exit 4 program calibrate --device gpu --data "$data" -o "$scratch/no.txt"
    says_once '--device gpu: '
fi
expect_exit 1 program calibrate --device cpu --data "$data" -o "$scratch/nowhere/no.txt"
says_once 'nowhere/no\.txt.*: No such file'
check "no file" test ! -e "$scratch/no.txt"

about "plan of this machine"
expect_exit 0 here program plan --data "$data" --seed 1:8 --block 32 --epochs 5
expect_text stdout '^work +8 trials, 40 epochs of [0-9]+ samples'
expect_text stdout '^cpu-ref +one core +[0-9.e+-]+ +[0-9.e+-]+ +0 +'
expect_text stdout '^choice +(cpu|gpu)[^ ]* \([a-z ]+\): [0-9.e+-]+ s'
expect_text stdout '^#SBATCH --ntasks=[0-9]+$'
expect_text stdout '^#SBATCH --time=[0-9]{2}:[0-9]{2}:00$'
expect_exit 0 here program plan --data "$data" --epochs 2 -q
check "-q: the choice alone" test "$(cut -d' ' -f1 "$scratch/stdout")" = choice
mkdir "$scratch/elsewhere"
expect_exit 2 bash -c "cd '$scratch/elsewhere' && '$LIBRAS_PROGRAM' plan --data '$data'"
says_once 'this machine has not been measured: .libras_mpi calibrate.'

about "a stale file"
file="$scratch/here/results/machine_$(hostname).txt"
sed -i 's/^key\.build .*/key.build 0.0.1 older text/' "$file"
expect_exit 2 here program plan --data "$data"
says_once "not of this machine: the program is '0\.0\.1 older' there and '.*' here; calibrate again"
expect_exit 0 here program plan --data "$data" --machine "results/machine_$(hostname).txt"
sed -i 's/^cpu\.cores /cpu.coers /' "$file"
expect_exit 2 here program plan --data "$data" --machine "$file"
says_once "'cpu\.coers' is no key of a machine; did you mean 'cpu\.cores'"

# ---- a machine that is not at hand: round numbers
about "a described machine"
{
    cat <<'NUMBERS'
libras-machine 1
# a processor with AVX-512, 16 cores
cpu.ref.train 3e9 FLOP/s
cpu.ref.infer 2.4e9 FLOP/s
cpu.avx512.train 7.3e10 FLOP/s
cpu.avx512.infer 8.9e10 FLOP/s
cpu.train.all 16 ratio
cpu.infer.all 16 ratio
cpu.memory 1e10 byte/s
cpu.memory.all 8e10 byte/s
cpu.stream 2e10 byte/s
job.start 0.25 s
job.results 0.02 s
job.row 5e-6 s
job.gather.fixed 1e-5 s
job.gather.rate 1e9 byte/s
job.file.rate 5e8 byte/s
NUMBERS
    sed 's/$/ count/' <<'NUMBERS'
cpu.cores 16
gpu.multiprocessors 132
gpu.warp 32
gpu.schedulers 4
gpu.registers 65536
gpu.threads 2048
gpu.blocks 32
gpu.banks 32
NUMBERS
    sed 's/$/ byte/' <<'NUMBERS'
gpu.shared 233472
gpu.block_shared 232448
gpu.constant 65536
gpu.memory 1.5e11
gpu.l2 6e7
NUMBERS
    sed 's/$/ byte\/s/' <<'NUMBERS'
gpu.bandwidth 4e12
gpu.l2_bandwidth 7e12
gpu.staging 2e10
gpu.in.pinned.rate 5e10
gpu.in.pageable.rate 8e9
gpu.out.pinned.rate 5e10
gpu.out.pageable.rate 8e9
NUMBERS
    sed 's/$/ cycle/' <<'NUMBERS'
gpu.latency.global 600
gpu.latency.l2 270
gpu.latency.shared 30
gpu.latency.constant 40
gpu.latency.operation 4
gpu.barrier.1 12
gpu.barrier.2 16
gpu.barrier.4 22
gpu.barrier.8 30
gpu.barrier.16 45
gpu.barrier.32 75
NUMBERS
    sed 's/$/ s/' <<'NUMBERS'
gpu.launch 3.7e-6
gpu.launch_wait 9e-6
gpu.allocation 4e-6
gpu.context 0.3
gpu.step.whole 1.24e-6
gpu.step.fast 0.43e-6
gpu.step.fast.full 0.8e-6
NUMBERS
    echo 'gpu.clock 1.98e9 Hz'
} >"$scratch/big.txt"
expect_exit 0 program plan --machine "$scratch/big.txt" --seed 1:20000 --block 32 --keep-weights top:10
expect_text stdout '^gpu:fast +weights in registers +[0-9.e+-]+ '
expect_text stdout '^gpu:whole +weights in shared memory +[0-9.e+-]+ '
expect_text stdout '^choice +gpu:fast \(weights in registers\): [0-9.]+ s, [0-9.]+ times as fast as '
expect_text stdout '^a launch +gpu:fast trains 20000 together, 1584 at the same time$'
expect_text stdout '^batches '
check "1, 2, 4, ... 64 GPUs" test "$(grep -cE '^ +(1|2|4|8|16|32|64)( +[0-9.e-]+){3} %( +[0-9.e-]+){7}$' "$scratch/stdout")" = 7
expect_text stdout '^#SBATCH --gres=gpu:[0-9]+$'
expect_exit 0 program plan --machine "$scratch/big.txt" --seed 1 --block 128
expect_text stdout '^choice +cpu'
check "1, 2, 4, ... 16 cores" test "$(grep -cE '^ +(1|2|4|8|16)( +[0-9.e-]+){3} %( +[0-9.e-]+){7}$' "$scratch/stdout")" = 5

# ---- the parts of the whole, by hand from the machine's numbers above. The built-in data with a hold-out of 10 %: 3,183
# training, 349 validation and 878 test samples. A step is 13,034 FLOP, a score 5,711 (src/cost.h).
# parts DEVICE TRIALS KEPT SWEEP EPOCHS: of the last command's JSON, the counts of a device; tells what is wrong, and fails.
parts() {
    awk -F': ' -v device="$1" -v trials="$2" -v kept="$3" -v sweep="$4" -v epochs="$5" '
        function differs(name, is, should) {
            if (is - should > 1e-9 * should || should - is > 1e-9 * should) {
                printf "%s on %d ranks: %.9g, by hand %.9g\n", name, n, is, should
                wrong = 1
            }
        }
        function row(    gpu, bytes, turns, share, steps, again, scores, k, sum) {
            gpu = device ~ /gpu/
            bytes = trials * 200 + trials * epochs * 8 + kept * 11452 + 878 * 72
            for (turns = 0; 2 ^ turns < n; turns++) continue
            share = int((trials + n - 1) / n)
            steps = 3183 * epochs
            differs("start", value["start_s"], 0.25 + gpu * 0.3)
            differs("data", value["data_s"], read + turns * (1e-5 + 4410 * 257 / 1e9))
            differs("gather", value["gather_s"], n > 1 ? (n - 1) * 1e-5 + bytes * (n - 1) / n / 1e9 : 0)
            differs("file", value["file_s"], (1 + sweep) * bytes / 5e8 + 0.02 + trials * 5e-6)
            if (!gpu) {
                differs("train", value["train_s"], share * steps * 13034 / 7.3e10)
                differs("score", value["score_s"], share * (sweep ? 349 : 1227) * 5711 / 8.9e10)
            }
            again = steps * 13034 / 3e9
            if (gpu && !sweep) {
                k = value["train_s"] + value["score_s"]
                again -= k < again ? k : again
            }
            scores = 349 + 878 + 6 * 878
            differs("validate", value["validate_s"], again + scores * 5711 / 2.4e9)
            sum = value["start_s"] + value["data_s"] + value["train_s"] + value["score_s"] + value["gather_s"] + \
                value["validate_s"] + value["file_s"]
            differs("whole", value["whole_s"], sum)
            if (n == 1) one = value["whole_s"]
            differs("efficiency", value["efficiency"], one / sum / n)
            rows++
        }
        { gsub(/^ +"|"$/, "", $1); gsub(/^"|"?,?$/, "", $2) }
        $1 == "scaling" { there = 1 }
        $1 == "read_s" { read = $2 }
        $1 == "device" { mine = there && $2 == device }
        $1 == "ranks" { n = $2 + 0 }
        { value[$1] = $2 }
        mine && $1 == "file_s" { row() }
        END { if (rows < 5) print rows + 0 " rows"; exit wrong || rows < 5 }' "$scratch/stdout"
}
about "the parts of the whole"
expect_exit 0 program plan --machine "$scratch/big.txt" --seed 1:20000 --block 32 --keep-weights top:10 --format json
check "run, gpu:fast" parts gpu:fast 20000 10 0 51
check "run, cpu:avx512" parts cpu:avx512 20000 10 0 51
# 20,000 over 64 are 313, three warps a multiprocessor; copies and allocations are less than 2 % of that
# shellcheck disable=SC2016 # awk's own
check "training on 64 GPUs" awk -F'[:,] *' '/"scaling"/ { there = 1 } /"device"/ { mine = there && /gpu:fast/ } /"ranks"/ { n = $2 }
    mine && /"train_s"/ && n == 64 { least = 3183 * 51 * 0.43e-6; good = $2 > least && $2 < 1.02 * least } END { exit !good }' \
    "$scratch/stdout"
if program info 2>/dev/null | grep -q 'no libyaml'; then
    skip "a sweep" "no libyaml"
else
    printf 'parameters:\n  seed: {from: 1, to: 3000}\n  epochs: 7\nkeep_weights: {top: 5}\n' >"$scratch/parts.yaml"
    expect_exit 0 program plan "$scratch/parts.yaml" --machine "$scratch/big.txt" --format json
    check "sweep, gpu:fast" parts gpu:fast 3000 5 1 7
    check "sweep, cpu:avx512" parts cpu:avx512 3000 5 1 7
fi

# On 8 GPUs the reference's 7 s are more than training's 2.3, on 4 its 2.4 (it has begun early) less than 4.7.
about "the bottleneck"
long=(--machine "$scratch/big.txt" --seed 1:20000 --block 32 --keep-weights top:10)
expect_exit 0 program plan "${long[@]}" --epochs 510
expect_text stdout '^bottleneck at 64 GPUs validate: 6\.[0-9]+ s, more than training from 8 GPUs on$'
sed -i 's/^job\.file\.rate .*/job.file.rate 1e6 byte\/s/' "$scratch/big.txt"
expect_exit 0 program plan "${long[@]}"
expect_text stdout '^bottleneck at 64 GPUs file: 12\.46 s, more than training from 1 GPU on$' # 12.338 MB, 0.12 s of rows
sed -i 's/^job\.file\.rate .*/job.file.rate 5e8 byte\/s/; s/^job\.start .*/job.start 3 s/' "$scratch/big.txt"
expect_exit 0 program plan "${long[@]}" --epochs 5100 --validate-replicas 0
expect_text stdout '^bottleneck at 64 GPUs start: 3\.3 s, less than training$'
sed -i '/^gpu\.launch /d' "$scratch/big.txt"
expect_exit 2 program plan --machine "$scratch/big.txt"
says_once 'gpu\.launch is missing'

about "a sweep file"
if program info 2>/dev/null | grep -q 'no libyaml'; then
    skip "its trials" "no libyaml"
else
    printf 'parameters:\n  seed: {from: 1, to: 6}\n  epochs: [3, 5]\n' >"$scratch/s.yaml"
    expect_exit 0 program plan "$scratch/s.yaml" --machine "$scratch/cpu.txt" --data "$data"
    expect_text stdout '^work +12 trials, 48 epochs '
    printf 'search: halving\nhalving: {rungs: [2, 4], keep: 0.5}\nparameters:\n  seed: {from: 1, to: 8}\n' >"$scratch/h.yaml"
    expect_exit 0 program plan "$scratch/h.yaml" --machine "$scratch/cpu.txt" --data "$data"
    expect_text stdout '^work +8 trials, 24 epochs '
    expect_exit 2 program plan "$scratch/none.yaml" --machine "$scratch/cpu.txt"
    says_once 'none\.yaml: '
fi

finish
