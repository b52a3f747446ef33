#include "cli/list_tracepoints.h"
#include "base/cleanup.h"
#include "events/made.h"
#include "probe/tracefs.h"
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

struct listing {
    int tracefs;
    const char *pattern;
    bool json;
    struct buf *out;
    size_t n;
};

static void add_fields(const struct tracepoint *t, struct buf *out)
{
    for (size_t i = 0; i < t->nfields; i++)
        if (t->fields[i].place.source != XP_TP_NOTHING)
            buf_printf(out, XP_TP_IS_TEXT(t->fields[i].place.source) ? " \"%s\"" : " %s", t->fields[i].name);
}

static void add_json_fields(const struct tracepoint *t, struct buf *out)
{
    buf_str(out, ",\"fields\":[");
    for (size_t i = 0, n = 0; i < t->nfields; i++) {
        if (t->fields[i].place.source == XP_TP_NOTHING)
            continue;
        buf_str(out, n++ ? ",{\"name\":" : "{\"name\":");
        buf_json(out, t->fields[i].name);
        buf_printf(out, ",\"kind\":\"%s\",\"type\":", XP_TP_IS_TEXT(t->fields[i].place.source) ? "text" : "number");
        buf_json(out, t->fields[i].type);
        buf_char(out, '}');
    }
    buf_str(out, "]}");
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
    event_name_of_tracepoint(category, name, full, sizeof(full));
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
