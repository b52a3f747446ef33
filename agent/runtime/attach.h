/* What readers of the memory of processes have in common when they attach: they look for the module with the runtime,
 * and append what they have found of it (runtime_memory_ops.attach).
 */
#pragma once
#include "base/buf.h"
#include "proc/memory.h"
#include "proc/module.h"
#include <errno.h>

/* Reads modules until `read` returns 0, which returns what runtime_memory_ops.attach does. A program and a library of
 * it may both have a runtime, of which one is not used: the first that runs counts. */
static inline int attach_find(struct memory *m, int (*read)(struct memory *m, const struct module *mod, void *out),
                              void *out)
{
    int rc = -ENODATA;
    struct module_walk walk = {0};
    struct module mod;
    while (rc && module_next(m, &walk, &mod)) {
        int got = read(m, &mod, out);
        if (!got || rc == -ENODATA || got == -EAGAIN)
            rc = got;
    }
    return rc;
}

/* Appends what was found. 0 or -ENOMEM. */
static inline int attach_reply(struct buf *out, const void *found, size_t len)
{
    buf_add(out, found, len);
    return out->failed ? -ENOMEM : 0;
}
