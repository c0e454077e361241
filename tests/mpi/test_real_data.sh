#!/usr/bin/env bash
# The lab's own data: its figures, its text export to the last digit, its report line by line.
. "$(dirname "$0")/common.sh"
[ -n "${LIBRAS_REAL_DATA:-}" ] || skip_all "the lab's data are not here (LIBRAS_REAL_DATA)"
data=(--data "$LIBRAS_REAL_DATA" --block 32)
is_within() { awk -v x="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(x != "" && x + 0 >= a && x + 0 <= b) }'; }

about "one epoch"
expect_exit 0 ranks 2 "${data[@]}" --epochs 1 -o "$scratch/1.h5"
expect_text stdout ' 4410 samples: 3532 train, 0 validation, 878 test;'
expect_text stdout '^float64 .* passed$'

about "51 epochs"
expect_exit 0 ranks 2 "${data[@]}" --validate-replicas 0 --format lab -o "$scratch/51.h5"
cp "$scratch/stdout" "$scratch/report"
expect_exit 0 program verify "$scratch/51.h5" -q
program export "$scratch/51.h5" --table loss >"$scratch/loss.csv"
loss() { awk -F, -v e="$1" '$2 == e { print $3 }' "$scratch/loss.csv"; }
check "loss of epoch 1: $(loss 1)" is_within "$(loss 1)" 0.3541 0.3577
check "loss of epoch 51: $(loss 51)" is_within "$(loss 51)" 0.0056 0.0062
accuracy=$(program export "$scratch/51.h5" | awk -F, 'NR == 2 { print $16 }')
check "test accuracy: $accuracy" is_within "$accuracy" 0.995 1

about "--split tail"
expect_exit 0 ranks 2 "${data[@]}" --split tail -o "$scratch/tail.h5" -q
expect_exit 0 program verify "$scratch/tail.h5" -q
tail=$(program export "$scratch/tail.h5" | awk -F, 'NR == 2 { print $16 }')
check "test accuracy: $tail" is_within "$tail" 0.74 0.79

about "the lab's report"
expected=('TREINO \| 3532 amostras')
for epoch in 1 6 11 16 21 26 31 36 41 46 51; do
    expected+=("Epoca $epoch/51 \\| perda media $(LC_ALL=C printf '%.4f' "$(loss $epoch)")")
done
expected+=('Tempo de treino: [0-9]+\.[0-9]{4} s' '' 'TESTE \| 87[0-9]/878 acertos \((99|100)\.[0-9]{2}%\)'
    'Perda media: 0\.0[01][0-9]{2}' 'Tempo de inferencia do lote: [0-9]+\.[0-9]{4} ms' '' 'Esperado  Previsto')
for letter in A B C D E I L M N O R S U V W; do
    expected+=("       $letter         [A-EILMNORSUVW]")
done
mapfile -t lines <"$scratch/report"
check "has ${#expected[@]} lines" test ${#lines[@]} = ${#expected[@]}
for k in "${!expected[@]}"; do
    [[ "${lines[k]-(none)}" =~ ^${expected[k]}$ ]]
    report $? "line $((k + 1)): ${expected[k]}"
done

about "the lab's text after one epoch"
if [ -n "${LIBRAS_LAB_REFERENCE:-}" ]; then
    expect_exit 0 program export "$scratch/1.h5" --format lab
    check "has as many lines" test "$(wc -l <"$scratch/stdout")" = "$(wc -l <"$LIBRAS_LAB_REFERENCE")"
    # Lines 1 and 2: the head. 3 to 65: an output's weights and its bias. Then a sample a line.
    awk '
        NR == FNR { theirs[FNR] = $0; next }
        FNR <= 2 { heads += $0 != theirs[FNR]; next }
        { n = split(theirs[FNR], t); fields += n != NF }
        FNR <= 65 { for (k = 1; k <= n; k++) { d = $k - t[k]; d = d < 0 ? -d : d; if (d > weight) weight = d; weights++ } next }
        { for (k = 1; k <= 65; k++) { texts += ($k "") != (t[k] ""); compared++ }
          for (; k <= n; k++) { d = $k - t[k]; d = d < 0 ? -d : d; if (d > score) score = d } }
        END { print heads + 0, fields + 0, weights + 0, weight + 0, compared + 0, texts + 0, score + 0 }
    ' "$LIBRAS_LAB_REFERENCE" "$scratch/stdout" >"$scratch/compared"
    read -r heads fields weights weight compared texts score <"$scratch/compared"
    check "its head is the same" test "$heads" = 0
    check "its lines have as many fields" test "$fields" = 0
    check "all 2863 weights and biases are compared" test "$weights" = 2863
    check "weights are within 1e-4: $weight" is_within "$weight" 0 1e-4
    check "all 878 labels and 56192 attributes are compared" test "$compared" = 57070
    check "labels and attributes are the same text" test "$texts" = 0
    check "scores are within 1e-3: $score" is_within "$score" 0 1e-3
else
    skip "the export" "the lab's text is not here (LIBRAS_LAB_REFERENCE)"
fi

finish
