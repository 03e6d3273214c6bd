/* The graphs of attention, given to the real cuDNN with the description of an H100: cuDNN finds its
 * kernels for attention and compiles them. No GPU is needed, because tests/fake/driver.c takes the
 * code. The test shows that cuDNN knows the graphs, and not what the kernels compute. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/cuda/attention_plan.h"
#include "worker/model/kernels.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cuDNN loads its compiler, which leaves memory behind when it is unloaded. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static const char h100[] =
    "{\"cudaDeviceId\":0,\"deviceVer\":900,\"driverVer\":13000,"
    "\"deviceName\":\"NVIDIA H100 80GB HBM3\",\"maxGridSize\":[2147483647,65535,65535],"
    "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":132,"
    "\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":85000000000,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":2619000,\"l2CacheSize\":52428800}";

static void plans_are_made_for_the_models(void **state)
{
    static const struct kernel_attention_shape shapes[] = {
        {16, 1024, 12, 12, 64}, /* the preset 124m */
        {16, 1024, 16, 16, 64}, /* the preset 350m */
        {4, 2048, 16, 8, 128},  /* the preset 1.5b: queries share keys */
        {3, 100, 4, 2, 16},     /* small, and no power of two */
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct graph_plan forward = {0}, backward = {0};
        struct error err = {0};
        const struct graph_target target = {*state, NULL};
        if (attention_plan_forward(&shapes[i], &target, &forward, &err) < 0 ||
            attention_plan_backward(&shapes[i], &target, &backward, &err) < 0)
            fail_msg("shape %zu: %s", i, err.message);
        assert_int_equal(forward.given_count, ATTENTION_FORWARD_TENSORS);
        assert_int_equal(backward.given_count, ATTENTION_BACKWARD_TENSORS);
        graph_plan_fini(&forward);
        graph_plan_fini(&backward);
    }
}

static void what_no_kernel_can_do_is_refused(void **state)
{
    const struct kernel_attention_shape odd = {1, 64, 2, 2, 12};
    struct graph_plan plan = {0};
    struct error err = {0};
    const struct graph_target target = {*state, NULL};
    assert_int_equal(attention_plan_forward(&odd, &target, &plan, &err), -EIO);
    assert_non_null(strstr(err.message, "cuDNN: "));
    assert_null(plan.plan);
}

static int begin(void **state)
{
    const char *bin = getenv("BIN");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/../tests/fake/libcuda.so.1", bin ? bin : ".");
    if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    struct error err;
    *state = graph_device_from_text(h100, &err);
    if (!*state)
        fprintf(stderr, "%s\n", err.message);
    return *state ? 0 : -1;
}

static int end(void **state)
{
    graph_device_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_made_for_the_models),
        cmocka_unit_test(what_no_kernel_can_do_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
