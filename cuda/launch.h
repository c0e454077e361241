/* launch.h: the kernels as C calls them. Only launch.cu behind it needs nvcc; everything that decides when to launch
 * what is C. Each launch is asynchronous, and returns what CUDA says of it (cudaGetLastError). */
#ifndef LM_GPU_LAUNCH_H
#define LM_GPU_LAUNCH_H

#include <cuda_runtime_api.h>

#include "chase.h"
#include "quick_layout.h"
#include "replica.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t lm_launch_forward(struct lm_gpu_forward f, unsigned block, cudaStream_t stream);
cudaError_t lm_launch_delta(struct lm_gpu_delta d, unsigned block, cudaStream_t stream);
cudaError_t lm_launch_update(struct lm_gpu_update u, unsigned block, cudaStream_t stream);

cudaError_t lm_launch_shared(struct lm_gpu_forward f, unsigned block,
                             cudaStream_t stream); /* block: a multiple of 16 */
cudaError_t lm_launch_fused(struct lm_gpu_fused f, cudaStream_t stream);

/* shared: lm_gpu_training_bytes_of, which lm_train_allow_shared must have allowed. */
cudaError_t lm_launch_train(struct lm_gpu_training t, unsigned block, size_t shared, cudaStream_t stream);
/* Shared memory beyond 48 KiB must be asked for, kernel by kernel. *fixed: what the kernel has without asking. */
cudaError_t lm_train_fixed_shared(size_t *fixed);
cudaError_t lm_train_allow_shared(size_t dynamic);

/* Many trainings (replica_kernel.cuh, order_kernel.cuh): first weights and generators; the orders of the next window;
 * a window of epochs of all replicas, by `blocks` warps, `few` with more registers each; and the networks in
 * network.h's order, parameters (count, 2863). */
cudaError_t lm_launch_begin(struct lm_gpu_replicas r, cudaStream_t stream);
cudaError_t lm_launch_orders(struct lm_gpu_replicas r, size_t block_shared, cudaStream_t stream);
/* Behind lm_launch_begin, for replicas that go on: r.pass epochs' orders from r.passed on, made and dropped. */
cudaError_t lm_launch_pass(struct lm_gpu_replicas r, size_t block_shared, cudaStream_t stream);
cudaError_t lm_launch_replicas(struct lm_gpu_replicas r, unsigned blocks, int few, cudaStream_t stream);
cudaError_t lm_launch_unpack(const float *packed, float *parameters, unsigned count, cudaStream_t stream);
/* Scores by tiles of 64 samples a warp, by at most so many blocks as there are multiprocessors, of as many warps as
 * block_shared has room for: lm_tile_warps, 0 where there is none for one. */
unsigned lm_tile_warps(size_t block_shared);
cudaError_t lm_launch_tile(struct lm_gpu_tile t, size_t block_shared, unsigned multiprocessors, cudaStream_t stream);
/* x (n, 64) of n samples of 8-bit pixels. */
cudaError_t lm_launch_grey(struct lm_gpu_grey g, unsigned multiprocessors, cudaStream_t stream);

/* A small batch as a graph of one kernel: all NULL, and lm_quick_tell makes it; told again, it has other arguments. */
struct lm_quick_graph {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
};
cudaError_t lm_quick_tell(struct lm_quick_graph *g, struct lm_gpu_quick q, unsigned blocks);
void lm_quick_forget(struct lm_quick_graph *g);

/* Loss and hits of `count` networks. */
cudaError_t lm_launch_metrics(struct lm_gpu_metrics m, unsigned count, cudaStream_t stream);

/* What calibrate.c times: indices of a chase, one chase (or chain of operations, or barriers), and nothing at all
 * by a block that asks for so much shared memory. */
cudaError_t lm_launch_chain(struct lm_gpu_chase c, cudaStream_t stream);
cudaError_t lm_launch_chase(struct lm_gpu_chase c, unsigned block, cudaStream_t stream);
cudaError_t lm_launch_empty(size_t shared, cudaStream_t stream);

/* Does code of this build run on the device in use? */
cudaError_t lm_launch_tiny(unsigned *device_word, unsigned value);

#ifdef __cplusplus
}
#endif

#endif
