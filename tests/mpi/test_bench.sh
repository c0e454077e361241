#!/usr/bin/env bash
# test_bench.sh: `libras_mpi bench`: its table and JSON name every variant, say that the bits are the reference's, and end
# with a figure of merit. No time is asserted: a benchmark is no test.
set -u
# shellcheck source=tests/mpi/common.sh
. "$(dirname "$0")/common.sh"

data=$scratch/data
check "data" program synth "$data" -n 10 -q

about "the table"
expect_exit 0 program bench --data "$data" --device cpu,cpu-ref --epochs 3 --repeats 2 --seconds 1
expect_text stdout '^cpu-ref .* same$'
expect_text stdout '^cpu:(portable|avx2|avx512) .* same$'
expect_text stdout '^FOM train_sample_updates_per_s=[0-9.e+]+ variant=cpu[^ ]* scope=one_replica ranks=1 gpus=0 status=VALID$'
check "nothing is wrong" bash -c "! grep -q WRONG '$scratch/stdout'"

about "a slow variant trains fewer epochs, and says so"
expect_exit 0 program bench --data "$data" --device cpu-ref --epochs 1000 --repeats 1 --seconds 0.1
expect_text stdout '^cpu-ref +~ .* same$'

about "JSON"
expect_exit 0 program bench --data "$data" --device cpu-ref --epochs 2 --repeats 1 --seconds 1 --format json
check "it parses" python3 -c '
import json, sys
b = json.load(open(sys.argv[1]))
v = b["variants"]
assert b["verdict"] == "VALID" and [x["variant"] for x in v] == ["cpu-ref"], b
assert v[0]["wrong_words"] == 0 and v[0]["compared_words"] > 2863 and v[0]["train_s_median"] > 0, v' "$scratch/stdout"

about "mistakes"
expect_exit 2 program bench --data "$data" --device cpu-ref,cpu-rfe
says_once "'cpu-rfe' is no device; did you mean 'cpu-ref'"
expect_exit 2 program bench --data "$data" --epochs 3,4
says_once 'bench measures one training'
expect_exit 2 program bench --data "$data" --repeats 0
says_once '^libras_mpi: --repeats'

finish
