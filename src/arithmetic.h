/* arithmetic.h: the one page that defines the arithmetic. arithmetic_version 1.
 *
 * Every backend (plain C, SIMD, GPU), at every vector width and block size, computes the same 32-bit words, because all
 * of them follow this page. It is stored in every results file and is part of a trial's identity: whoever changes a
 * rule below raises LM_ARITHMETIC_VERSION.
 *
 * Numbers are IEEE 754 binary32, rounded to nearest even, subnormals kept. No operation may be fused, split, reordered
 * or approximated unless this page says so (gcc: -ffp-contract=off; nvcc: -fmad=false, no -ftz, no fast-math).
 * fma(a, b, c) is the exact a b + c, rounded once.
 *
 * 1. The sum of n products a[j] b[j] has FOUR partial sums, p[k] for the terms with j mod 4 = k, in ascending j:
 *      p[k] = a[k] b[k] (rounded), then p[k] = fma(a[j], b[j], p[k]) for j = k + 4, k + 8, ...
 *    n is rounded up to a multiple of four with terms (+0)(+0): such a term adds +0 (and so turns a -0 into +0), and a
 *    partial sum that has no other term is +0. Then
 *      sum = (p[0] + p[1]) + (p[2] + p[3]).
 *    Why four: a single chain leaves a GPU lane, or a SIMD register, waiting for its own last result; four fill the
 *    four cycles of a multiply-add, load as one 16-byte word, and are the lanes of half an AVX2 register. Why the zero
 *    terms: hardware works on whole groups of four, and a padded weight that starts as +0 stays +0 under rule 4.
 * 2. Forward: z[i] = sum_j w[i][j] x[j] + b[i], the bias last. Hidden layers: a[i] = z[i] < 0 ? 0 : z[i] (-0 and NaN
 *    stay). The last layer is linear: the scores are its z.
 * 3. Loss of a sample: e[c] = score[c] - onehot[c]; loss = 0.5 * sum_c e[c] e[c], the sum by rule 1 (15 terms, so 16).
 *    An epoch's loss is the sum of its samples' losses in double (binary64), one after the other in the order of
 *    training, divided by their number. So are a validation and a test loss, in the order of the samples.
 *    A sample's loss that is not finite makes the epoch's loss not finite: the trial has diverged, and keeps no
 * weights. So has one whose parameters are not all finite after its last step.
 * 4. Backward, all with the weights as they were before the step:
 *      delta3[c] = e[c]
 *      delta2[j] = z2[j] > 0 ? sum_i w3[i][j] delta3[i] : 0 (+0), the sum by rule 1 over i (15 terms, so 16)
 *      delta1[j] = z1[j] > 0 ? sum_i w2[i][j] delta2[i] : 0
 *    Update, for each weight and bias once: t[i] = rate * delta[i] (rounded); w[i][j] = fma(-t[i], x[j], w[i][j]);
 *    b[i] = b[i] - t[i], where x is the layer's input.
 * 5. After each epoch rate = rate * decay (rounded).
 * 6. A NaN's bits differ by machine (x86 makes 0xFFC00000, NVIDIA 0x7FFFFFFF). A NaN that is stored is LM_NAN_BITS.
 */
#ifndef LM_ARITHMETIC_H
#define LM_ARITHMETIC_H

#include <stdint.h>

#define LM_ARITHMETIC_VERSION 1
#define LM_PARTIALS           4
#define LM_NAN_BITS           UINT32_C(0x7FC00000)

#endif
