/* Where the bytes of a file go. */
#pragma once
#include <stddef.h>

struct timeline_sink {
    int (*write)(void *ctx, const void *data, size_t len); /* 0 or -errno */
    void *ctx;
};
