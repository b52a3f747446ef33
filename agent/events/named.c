/* Kinds with names of their own: those of the configuration. */
#include "events/made_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_PATTERN 255 /* characters that can be looked for in a file (elf/functions.h) */

/* What pprof and servers call it: names of metrics have no dashes. */
static void write_series(char *out, size_t len, const char *name)
{
    snprintf(out, len, "%s", name);
    for (char *c = out; (c = strchr(c, '-'));)
        *c = '_';
}

void made_name(struct event_probe *p, const char *name)
{
    struct event_value *v = &p->kind.values[0];
    snprintf(p->own, sizeof(p->own), "%s", name);
    write_series(p->series, sizeof(p->series), name);
    snprintf(p->count, sizeof(p->count), "%s_count", p->series);
    p->kind.name = p->own;
    p->kind.series = p->series;
    v->type = p->series;
    if (v->count && v->count[0])
        v->count = p->count;
}

/* ---- Which names are free ---------------------------------------------------------------------------------------- */

static bool is_well_formed(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n && n <= EVENT_OWN_NAME && !name[n] && name[0] >= 'a' && name[n - 1] != '-';
}

static bool is_word_of_annotations(const char *name)
{
    return !strcmp(name, "true") || !strcmp(name, "false");
}

static bool same(const char *a, const char *b)
{
    return a && !strcmp(a, b);
}

/* Whether a kind shows something by this name. */
static bool shows(const struct event_kind *kind, const char *series)
{
    bool found = same(kind->series, series);
    for (size_t v = 0; v < event_width(kind); v++)
        found |= same(kind->values[v].type, series) || same(kind->values[v].count, series);
    return found;
}

/* The kind that has this name, or shows something by it, or by that of its number of occurrences; NULL: none. */
static const struct event_kind *holder_of(const struct event_made *made, const char *name)
{
    char series[EVENT_OWN_NAME + 1], count[EVENT_OWN_NAME + 8];
    size_t n;
    const struct event_kind *all = event_kinds(&n), *found = event_kind_find(name);
    write_series(series, sizeof(series), name);
    snprintf(count, sizeof(count), "%s_count", series);
    for (size_t i = 0; i < n && !found; i++)
        if (shows(&all[i], series) || shows(&all[i], count))
            found = &all[i];
    for (size_t i = 0; i < made->n && !found; i++)
        if (shows(&made->v[i]->kind, series) || shows(&made->v[i]->kind, count))
            found = &made->v[i]->kind;
    return found;
}

int event_check_name(const struct event_made *made, const char *name, char *why, size_t len)
{
    if (!is_well_formed(name) || is_word_of_annotations(name)) {
        snprintf(why, len,
                 "\"%.60s\" is no name of a probe: up to %d of a-z, 0-9 and - are, from a letter to a letter or digit",
                 name, EVENT_OWN_NAME);
        return -EINVAL;
    }
    const struct event_kind *holder = holder_of(made, name);
    if (holder)
        snprintf(why, len, "the name %s is taken by the event %s", name, holder->name);
    return holder ? -EINVAL : 0;
}

const struct event_kind *event_made_find(const struct event_made *made, const char *name)
{
    for (size_t i = 0; i < made->n; i++)
        if (!strcmp(made->v[i]->kind.name, name))
            return &made->v[i]->kind;
    return NULL;
}

/* ---- Functions and USDT probes of files ------------------------------------------------------------------------- */

static int find(const char *file, const char *function, struct probe_places *out, char *why, size_t len)
{
    const char *slash = strchr(file, '/');
    if ((slash && slash != file) || strchr(file, ':')) {
        snprintf(why, len, "%s: a file of containers is meant by its name, such as libssl.so.3, or its path in them",
                 file);
        return -EINVAL;
    }
    if (strlen(function) > FUNCTION_PATTERN) {
        snprintf(why, len, "%.40s...: the name is too long", function);
        return -EINVAL;
    }
    out->file = strdup(file);
    out->function = strdup(function);
    return out->file && out->function ? 0 : -ENOMEM;
}

int event_find_by_name(void *ctx, const char *file, const char *function, struct probe_places *out, char *why,
                       size_t len)
{
    (void)ctx;
    if (strchr(function, '+') || !strncmp(function, "0x", 2)) {
        snprintf(why, len, "%s: files of one name differ: name a function, without an offset", function);
        return -EINVAL;
    }
    return find(file, function, out, why, len);
}

int event_find_usdt_by_name(void *ctx, const char *file, const char *probe, struct probe_places *out, char *why,
                            size_t len)
{
    (void)ctx;
    out->usdt = true;
    return find(file, probe, out, why, len);
}
