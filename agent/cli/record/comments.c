#include "cli/record/comments.h"
#include "base/cleanup.h"
#include "base/buf.h"
#include <stdio.h>
#include <sys/utsname.h>

static void add_comment(struct profile *p, const char *key, const char *value)
{
    AUTO_BUF struct buf line = {0};
    buf_printf(&line, "%s: %s", key, value);
    u32 *c = VEC_PUSH(&p->comments);
    if (c)
        *c = profile_string(p, line.data ? line.data : "");
}

void comments_add(struct profile *p, int argc, char **argv)
{
    struct utsname u;
    AUTO_BUF struct buf line = {0};
    buf_str(&line, "xprof");
    for (int i = 0; i < argc; i++)
        buf_printf(&line, " %s", argv[i]);
    add_comment(p, "command", line.data ? line.data : "");
    if (!uname(&u)) {
        char host[512];
        snprintf(host, sizeof(host), "%s %s %s %s", u.nodename, u.sysname, u.release, u.machine);
        add_comment(p, "host", host);
    }
    add_comment(p, "version", "xprof " XPROF_VERSION);
}
