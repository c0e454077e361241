/* test_host_calibrate.cpp: the kernels that calibrate times, on the host: each does as many dependent steps as it says,
 * so that a time divided by them is one step's. */
#include "host_cuda.h"

#include "calibrate_kernels.cuh"

static int results, failures;
static std::string complaint;

static void report(bool ok, const std::string &name)
{
    results++;
    failures += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", results, name.c_str());
}

static bool launched(const char *problem)
{
    if (problem && complaint.empty())
        complaint = std::string(": ") + problem;
    return !problem;
}

static struct lm_gpu_chase made_chase(int cost, uint32_t steps, long long *cycles, uint32_t *last)
{
    struct lm_gpu_chase c = {};
    c.cost = cost;
    c.steps = steps;
    c.cycles = cycles;
    c.last = last;
    return c;
}

/* The place after so many steps of `stride`, in a ring of n. */
static uint32_t place(uint32_t n, uint32_t stride, uint32_t steps)
{
    return (uint32_t)((uint64_t)stride * steps % n);
}

static void test_chain(uint32_t n, uint32_t stride, host_order way)
{
    std::vector<uint32_t> chain(n);
    struct lm_gpu_chase c = {};
    c.chain = chain.data();
    c.n = n;
    c.stride = stride;
    bool good = launched(host_launch(lm_chain_kernel, 3, 64u, 0, way, c));
    for (uint32_t k = 0; k < n; k++)
        good = good && chain[k] == (k + stride) % n;
    long long cycles = -1;
    for (int warm = 0; warm < 2; warm++) {
        uint32_t last = 0;
        c.cost = LM_GPU_COST_GLOBAL;
        c.steps = 1234;
        c.warm = warm;
        c.cycles = &cycles;
        c.last = &last;
        good = good && launched(host_launch(lm_chase_kernel, 1, 32u, LM_CHASE_SHARED * 4, way, c));
        good = good && last == place(n, stride, 1234) && cycles == 0;
    }
    report(good, "a chase of " + std::to_string(n) + " by " + std::to_string(stride) + complaint);
}

static void test_costs(host_order way)
{
    long long cycles;
    uint32_t last = 0;
    struct lm_gpu_chase c = made_chase(LM_GPU_COST_SHARED, 777, &cycles, &last);
    bool good = launched(host_launch(lm_chase_kernel, 1, 64u, LM_CHASE_SHARED * 4, way, c));
    report(good && last == place(LM_CHASE_SHARED, 33, 777), "a chase in shared memory" + complaint);

    c = made_chase(LM_GPU_COST_CONSTANT, 100, &cycles, &last);
    last = 5;
    good = launched(host_launch(lm_chase_kernel, 1, 32u, LM_CHASE_SHARED * 4, way, c));
    report(good && last == 0, "a chase in constant memory" + complaint);

    c = made_chase(LM_GPU_COST_OPERATION, 64, &cycles, &last);
    good = launched(host_launch(lm_chase_kernel, 1, 32u, LM_CHASE_SHARED * 4, way, c));
    report(good && last == __float_as_uint(2.0f), "x / 2 + 1, again and again, is 2" + complaint);
    c = made_chase(LM_GPU_COST_OPERATION, 8, &cycles, &last); /* eight of them: 2 - 2^-7 */
    good = launched(host_launch(lm_chase_kernel, 1, 32u, LM_CHASE_SHARED * 4, way, c));
    report(good && last == __float_as_uint(2.0f - 1.0f / 128.0f), "as many operations as were asked for" + complaint);

    c = made_chase(LM_GPU_COST_BARRIER, 55, &cycles, &last);
    good = launched(host_launch(lm_chase_kernel, 1, 256u, LM_CHASE_SHARED * 4, way, c));
    report(good && last == 55, "barriers of all threads" + complaint);
}

int main()
{
    test_chain(1000, 65, HOST_FORWARD);
    test_chain(4099, 4098, HOST_BACKWARD);
    test_costs(HOST_FORWARD);
    test_costs(HOST_SHUFFLED);
    printf("1..%d\n", results);
    for (char *stack : host.stack)
        free(stack);
    return failures != 0;
}
