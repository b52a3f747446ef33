/* What `inspect` says of a Perl: its version, and how its interpreters are kept. */
#include "runtime/perl_internal.h"
#include <errno.h>

int perl_about(struct memory *m, struct buf *out)
{
    static const char *const builds[] = {[PERL_THREADS] = "one for each thread (ithreads)",
                                         [PERL_MULTIPLICITY] = "one at a time (multiplicity)",
                                         [PERL_PLAIN] = "one (no ithreads)"};
    struct perl_found found;
    int rc = perl_find(m, &found);
    if (rc)
        return rc;
    buf_printf(out, "machine\tPerl %s\n", found.p.version);
    buf_printf(out, "interpreter\t%s\n", builds[found.p.layout.build]);
    if (found.p.layout.build == PERL_THREADS)
        buf_printf(out, "threads\t%u with an interpreter\n", found.threads);
    return out->failed ? -ENOMEM : 0;
}
