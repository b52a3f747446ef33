/* What `inspect` says of a CPython: its version, its threads, where its offsets are from. */
#include "runtime/python_internal.h"
#include <errno.h>

int python_about(struct memory *m, struct buf *out)
{
    struct python_found found;
    int rc = python_find(m, &found);
    if (rc)
        return rc;
    const struct python *p = &found.p;
    buf_printf(out, "machine\tCPython %s\n", p->version);
    buf_printf(out, "threads\t%u in %u interpreter%s\n", found.threads, found.interpreters,
               found.interpreters == 1 ? "" : "s");
    buf_printf(out, "gil\t%s\n", p->layout.free_threaded ? "none (free-threaded build)" : "yes");
    buf_printf(out, "layout\t%s\n", p->layout.by_offsets ? "told by the interpreter" : "known by version");
    return out->failed ? -ENOMEM : 0;
}
