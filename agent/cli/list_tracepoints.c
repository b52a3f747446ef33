#include "cli/list_tracepoints.h"
#include "base/cleanup.h"
#include "probe/tracefs.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

struct listing {
    int tracefs;
    const char *pattern;
    bool json;
    struct buf *out;
    size_t n;
};

static bool is_text(const struct tracepoint_field *f)
{
    return f->place.source >= XP_TP_ARRAY && f->place.source <= XP_TP_USER;
}

static void add_fields(const struct tracepoint *t, struct buf *out)
{
    for (size_t i = 0; i < t->nfields; i++)
        if (t->fields[i].place.source != XP_TP_NOTHING)
            buf_printf(out, is_text(&t->fields[i]) ? " \"%s\"" : " %s", t->fields[i].name);
}

static void add_json_fields(const struct tracepoint *t, struct buf *out)
{
    buf_str(out, ",\"fields\":[");
    for (size_t i = 0, n = 0; i < t->nfields; i++) {
        if (t->fields[i].place.source == XP_TP_NOTHING)
            continue;
        buf_str(out, n++ ? ",{\"name\":" : "{\"name\":");
        buf_json(out, t->fields[i].name);
        buf_printf(out, ",\"kind\":\"%s\",\"type\":", is_text(&t->fields[i]) ? "text" : "number");
        buf_json(out, t->fields[i].type);
        buf_char(out, '}');
    }
    buf_str(out, "]}");
}

/* The name that -e takes. */
static void put_name(const char *category, const char *name, char *out, size_t len)
{
    if (!strcmp(category, "syscalls") && !strncmp(name, "sys_enter_", 10))
        snprintf(out, len, "syscall:%s", name + 10);
    else
        snprintf(out, len, "tracepoint:%s:%s", category, name);
}

static bool matches(const char *pattern, const char *name)
{
    return strpbrk(pattern, "*?[") ? !fnmatch(pattern, name, 0) : strstr(name, pattern) != NULL;
}

static int add(void *ctx, const char *category, const char *name)
{
    struct listing *l = ctx;
    struct tracepoint t;
    char full[512];
    put_name(category, name, full, sizeof(full));
    if (!matches(l->pattern, full) || tracefs_read(l->tracefs, category, name, &t))
        return 0;
    if (l->json) {
        buf_str(l->out, l->n ? ",\n{\"name\":" : "[{\"name\":");
        buf_json(l->out, full);
        add_json_fields(&t, l->out);
    } else {
        buf_str(l->out, full);
        add_fields(&t, l->out);
        buf_char(l->out, '\n');
    }
    l->n++;
    return 0;
}

int list_tracepoints(const char *pattern, bool json, struct buf *out)
{
    AUTO_CLOSE int tracefs = tracefs_open();
    struct listing l = {tracefs, pattern, json, out, 0};
    int rc = tracefs < 0 ? tracefs : tracefs_list(tracefs, add, &l);
    if (json && l.n)
        buf_str(out, "]\n");
    return rc ? rc : l.n ? 0 : -ENODATA;
}
