/* What `inspect` says of a PHP: its version, its build, its modules. */
#include "runtime/php_internal.h"
#include <errno.h>

int php_about(struct memory *m, struct buf *out)
{
    struct php_found found;
    int rc = php_find(m, &found);
    if (rc)
        return rc;
    const struct php *p = &found.p;
    buf_printf(out, "machine\tPHP %s\n", p->version[0] ? p->version : "of an unknown version");
    buf_printf(out, "build\t%s threads%s\n", p->threads ? "with" : "without", p->debug ? ", for debugging" : "");
    buf_printf(out, "modules\t%u\n", found.modules);
    return out->failed ? -ENOMEM : 0;
}
