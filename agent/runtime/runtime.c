#include "runtime/runtime.h"

static const struct runtime *const RUNTIMES[] = {&runtime_go, &runtime_jit};

const struct runtime *const *runtimes(size_t *n)
{
    *n = sizeof(RUNTIMES) / sizeof(*RUNTIMES);
    return RUNTIMES;
}
