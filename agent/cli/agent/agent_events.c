#include "cli/agent/agent_events.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define KEY "events"

struct reading { /* of a probe in the file */
    struct config_file *file;
    struct buf *message;
    size_t item; /* of the list */
    unsigned line;
};

struct said { /* of a probe, by the file; NULL: nothing */
    const char *name, *probe, *value, *unit, *filter, *period, *usual;
};

/* What options of a recording say about them begins with their dashes. */
static const char *without_dashes(const char *why)
{
    return !strncmp(why, "-e ", 3) ? why + 3 : !strncmp(why, "--", 2) ? why + 2 : why;
}

__attribute__((format(printf, 2, 3))) static int complain(const struct reading *r, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(r->message, "xprof agent: %s:%u: %s\n", config_file_name(r->file), r->line, text);
    return -EINVAL;
}

/* ---- What the file says ------------------------------------------------------------------------------------------ */

static const char *take(struct reading *r, const char *key)
{
    char path[64];
    unsigned line = 0;
    snprintf(path, sizeof(path), KEY ".%zu.%s", r->item, key);
    const char *text = config_file_take(r->file, path, &line);
    if (text && (!r->line || line < r->line))
        r->line = line;
    return text;
}

static struct said read_said(struct reading *r)
{
    struct said s;
    const struct {
        const char *key, **to;
    } keys[] = {{"name", &s.name},     {"probe", &s.probe},   {"value", &s.value},  {"unit", &s.unit},
                {"filter", &s.filter}, {"period", &s.period}, {"default", &s.usual}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        *keys[i].to = take(r, keys[i].key);
    return s;
}

static int read_period(const struct reading *r, const char *text, u64 *out)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '1' || text[0] > '9' || *end || n > 1000000000)
        return complain(r, "period: \"%s\" is not a number in the range 1..1000000000", text);
    *out = n;
    return 0;
}

static int read_usual(const struct reading *r, const char *text, bool *out)
{
    int on = option_switch(text);
    if (on < 0)
        return complain(r, "default: \"%s\" is neither on nor off", text);
    *out = on;
    return 0;
}

static int check(const struct reading *r, const struct agent_events *e, const struct said *s)
{
    char why[256];
    if (!s->name || !s->probe)
        return complain(r,
                        "a probe in " KEY " has a name and a probe, such as {name: opens, probe: \"syscall:openat\"}");
    if (e->made.n == AGENT_PROBES)
        return complain(r, "%s is one too many: at most %d probes", s->name, AGENT_PROBES);
    if (!event_is_made(s->probe))
        return complain(r, "probe %s: \"%s\" is none: docs/probes.md says what there is", s->name, s->probe);
    if (s->unit && !s->value)
        return complain(r, "probe %s: a unit is one of a value", s->name);
    return event_check_name(&e->made, s->name, why, sizeof(why)) ? complain(r, "%s", why) : 0;
}

/* ---- Probes ------------------------------------------------------------------------------------------------------ */

/* Those that are recorded by default come before the others. */
static void add(struct agent_events *e, const char *name, bool usual)
{
    size_t at = usual ? e->usual++ : e->n;
    memmove(&e->names[at + 1], &e->names[at], (e->n - at) * sizeof(e->names[0]));
    e->names[at] = name;
    e->n++;
}

static int make(const struct reading *r, struct agent_events *e, const struct said *s, u64 period, bool usual)
{
    char value[128], why[768];
    struct event_choice choice = {.as = s->name,
                                  .condition = s->filter,
                                  .value = s->value ? value : NULL,
                                  .period = period,
                                  .find = event_find_by_name,
                                  .find_usdt = event_find_usdt_by_name};
    snprintf(value, sizeof(value), "%s%s%s", s->value ? s->value : "", s->unit ? ":" : "", s->unit ? s->unit : "");
    const struct event_kind *kind = event_make(&e->made, s->probe, &choice, why, sizeof(why));
    if (!kind)
        return complain(r, "probe %s: %s", s->name, without_dashes(why));
    add(e, kind->name, usual);
    return 0;
}

static int make_probe(struct agent_events *e, struct reading *r)
{
    u64 period = 1;
    bool usual = false;
    struct said s = read_said(r);
    int rc = check(r, e, &s);
    if (!rc && s.period)
        rc = read_period(r, s.period, &period);
    if (!rc && s.usual)
        rc = read_usual(r, s.usual, &usual);
    if (!rc && e->n == XP_MAX_EVENTS)
        rc = complain(r, "%s is one too many: at most %d events", s.name, XP_MAX_EVENTS);
    return rc ? rc : make(r, e, &s, period, usual);
}

static int make_probes(struct agent_events *e, struct config_file *file, struct buf *message)
{
    char path[64];
    size_t n = config_file_items(file, KEY);
    for (size_t i = 0; i < n; i++) {
        struct reading r = {.file = file, .message = message, .item = i};
        snprintf(path, sizeof(path), KEY ".%zu", i);
        if (!config_file_key(file, path, 0, &r.line))
            continue;
        int rc = make_probe(e, &r);
        if (rc)
            return rc;
        config_file_print(file, path, &e->text);
        buf_char(&e->text, '\n');
    }
    return 0;
}

int agent_events_make(struct agent_events *out, const struct agent_options *o, struct config_file *file,
                      struct buf *message)
{
    struct agent_events e = {.n = 0};
    for (size_t i = 0; i < o->events.n; i++)
        e.names[e.n++] = event_name_of(o->events.v[i]); /* the option's own texts end with it */
    e.usual = e.n;
    int rc = file ? make_probes(&e, file, message) : 0;
    if (rc) {
        agent_events_free(&e);
        return rc;
    }
    e.n = events_offered(e.names, e.n, e.names);
    *out = e;
    return 0;
}

void agent_events_free(struct agent_events *e)
{
    event_made_free(&e->made);
    buf_free(&e->text);
    *e = (struct agent_events){.n = 0};
}

const struct event_kind *agent_events_find(void *events, const char *name)
{
    const struct agent_events *e = events;
    return event_made_find(&e->made, name);
}

bool agent_events_same(const struct agent_events *a, const struct agent_events *b)
{
    return a->text.len == b->text.len && (!a->text.len || !memcmp(a->text.data, b->text.data, a->text.len));
}
