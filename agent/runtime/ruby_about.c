/* What `inspect` says of a Ruby: its version, its threads, what was found of it. */
#include "runtime/ruby_internal.h"
#include <errno.h>

int ruby_about(struct memory *m, struct buf *out)
{
    struct ruby_found found;
    int rc = ruby_find(m, &found);
    if (rc)
        return rc;
    const struct ruby_layout *l = &found.r.layout;
    buf_printf(out, "machine\tRuby %s\n", found.r.version);
    buf_printf(out, "threads\t%u of the main ractor\n", found.threads);
    buf_printf(out, "context\t%s\n", found.lists.by_key ? "by a key of threads" : "in a variable of threads");
    buf_printf(out, "names\t%s\n",
               l->symbols && l->classpath ? "all"
               : l->symbols               ? "without classes"
                                          : "without those of methods in C");
    return out->failed ? -ENOMEM : 0;
}
