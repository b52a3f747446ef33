/* What `inspect` says of a V8. */
#include "runtime/v8_internal.h"
#include <errno.h>

int v8_about(struct memory *m, struct buf *out)
{
    struct v8 v;
    int rc = v8_find(m, &v);
    if (rc)
        return rc;
    buf_printf(out, "machine\tV8 %s\n", v.version[0] ? v.version : "of an unknown version");
    buf_printf(out, "lines\t%s\n", v.machine.array_type ? "of bytecode" : "where functions begin");
    return out->failed ? -ENOMEM : 0;
}
