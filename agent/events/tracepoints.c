#include "events/tracepoints.h"
#include "base/cleanup.h"
#include "events/condition.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct event_tracepoint {
    struct event_kind kind;
    struct xp_tp program;
    char name[256], category[TRACEPOINT_NAME], point[TRACEPOINT_NAME];
    char type[2 * TRACEPOINT_NAME + 1], value[TRACEPOINT_NAME], unit[16];
};

#define TRACEPOINT "tracepoint:"
#define SYSCALL    "syscall:"

bool event_is_made(const char *name)
{
    return !strncmp(name, TRACEPOINT, strlen(TRACEPOINT)) || !strncmp(name, SYSCALL, strlen(SYSCALL));
}

const char *event_name_or_made(const char *name)
{
    return event_is_made(name) ? name : event_name_of(name);
}

/* ---- Its name ---------------------------------------------------------------------------------------------------- */

static bool is_call(const struct event_tracepoint *t)
{
    return !strncmp(t->name, SYSCALL, strlen(SYSCALL));
}

static int split(struct event_tracepoint *t, const char *name, char *why, size_t len)
{
    const char *point = name + strlen(SYSCALL), *colon;
    snprintf(t->name, sizeof(t->name), "%s", name);
    if (is_call(t)) {
        snprintf(t->category, sizeof(t->category), "syscalls");
        snprintf(t->point, sizeof(t->point), "sys_enter_%s", point);
        snprintf(t->type, sizeof(t->type), "%s", point);
        return 0;
    }
    point = name + strlen(TRACEPOINT);
    colon = strchr(point, ':');
    if (!colon || colon == point || !colon[1]) {
        snprintf(why, len, "-e %s: expected tracepoint:CATEGORY:NAME, such as tracepoint:sched:sched_process_exec",
                 name);
        return -EINVAL;
    }
    snprintf(t->category, sizeof(t->category), "%.*s", (int)(colon - point), point);
    snprintf(t->point, sizeof(t->point), "%s", colon + 1);
    snprintf(t->type, sizeof(t->type), "%s_%s", t->category, t->point);
    return 0;
}

struct near { /* names that are like one that there is not */
    const struct event_tracepoint *wanted;
    char text[256];
    size_t n, len;
};

#define MISTAKES 2

/* Whether a becomes b by so many characters that are added, left out or changed. */
static bool is_typo(const char *a, const char *b, unsigned mistakes)
{
    while (*a && *a == *b)
        a++, b++;
    if (!*a && !*b)
        return true;
    return mistakes && ((*a && is_typo(a + 1, b, mistakes - 1)) || (*b && is_typo(a, b + 1, mistakes - 1)) ||
                        (*a && *b && is_typo(a + 1, b + 1, mistakes - 1)));
}

static int add_near(void *ctx, const char *category, const char *name)
{
    struct near *near = ctx;
    const char *wanted = near->wanted->point, *prefix = "sys_enter_";
    bool call = is_call(near->wanted);
    size_t skip = call ? strlen(prefix) : 0;
    if (call && (strcmp(category, near->wanted->category) != 0 || strncmp(name, prefix, skip) != 0))
        return 0;
    if (!is_typo(name + skip, wanted + skip, MISTAKES) &&
        !(strlen(wanted + skip) > MISTAKES && strstr(name, wanted + skip)))
        return 0;
    near->len += (size_t)snprintf(near->text + near->len, sizeof(near->text) - near->len, "%s %s%s%s",
                                  near->n ? "," : "", call ? "" : category, call ? "" : ":", name + skip);
    return ++near->n == 5 || near->len >= sizeof(near->text);
}

static void explain(int tracefs, const struct event_tracepoint *t, int rc, char *why, size_t len)
{
    struct near near = {.wanted = t};
    if (rc != -ENOENT) {
        snprintf(why, len, "-e %s: the tracepoint cannot be read: %s", t->name, strerror(-rc));
        return;
    }
    tracefs_list(tracefs, add_near, &near);
    snprintf(why, len, "-e %s: this kernel has no such %s%s%s; `xprof list PATTERN` lists what it has", t->name,
             is_call(t) ? "system call" : "tracepoint", near.n ? "; near it:" : "", near.text);
}

/* ---- What it counts ---------------------------------------------------------------------------------------------- */

static const char *known_unit(const char *unit)
{
    static const char *const units[] = {"count", "bytes", "nanoseconds"};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (!strcmp(units[i], unit))
            return units[i];
    return NULL;
}

static int set_value(struct event_tracepoint *t, const struct tracepoint *fields, const char *text, char *why,
                     size_t len)
{
    const char *colon = strchr(text, ':'), *unit = colon ? known_unit(colon + 1) : "count";
    struct xp_tp_field place;
    snprintf(t->value, sizeof(t->value), "%.*s", (int)(colon ? (size_t)(colon - text) : strlen(text)), text);
    if (!unit) {
        snprintf(why, len, "--value %s: the unit is one of count, bytes, nanoseconds", text);
        return -EINVAL;
    }
    if (!condition_field(t->value, fields, &place) ||
        (place.source != XP_TP_SIGNED && place.source != XP_TP_UNSIGNED)) {
        snprintf(why, len, "--value %s: %s has no number of that name; `xprof list %s` shows its fields", text, t->name,
                 t->point);
        return -EINVAL;
    }
    t->program.value = place;
    t->kind.values[0] = (struct event_value){t->value, unit, t->type};
    return 0;
}

static void make_kind(struct event_tracepoint *t, u64 id)
{
    t->kind = (struct event_kind){
        .name = t->name,
        .probe = {.how = PROBE_KIND, .object = "tracepoint", .tracepoint = id, .conditions = &t->program},
        .values = {{t->type, "count", ""}},
        .series = "tracepoint",
        .cost = EVENT_COST_MEDIUM,
        .needs = "",
        .help = t->name,
    };
}

static int make(struct event_tracepoint *t, const char *name, const struct event_choice *choice, char *why, size_t len)
{
    struct tracepoint fields;
    char line[384] = "";
    int rc = split(t, name, why, len);
    if (rc)
        return rc;
    AUTO_CLOSE int tracefs = tracefs_open();
    if (tracefs < 0) {
        snprintf(why, len, "-e %s: tracefs can be neither found nor mounted (%s): run as root", name,
                 strerror(-tracefs));
        return tracefs;
    }
    rc = tracefs_read(tracefs, t->category, t->point, &fields);
    if (rc) {
        explain(tracefs, t, rc, why, len);
        return rc;
    }
    make_kind(t, fields.id);
    t->program.period = (u32)choice->period;
    if (choice->value)
        rc = set_value(t, &fields, choice->value, why, len);
    if (!rc && choice->condition &&
        (rc = condition_compile(choice->condition, &fields, &t->program, line, sizeof(line))))
        snprintf(why, len, "--filter '%s': %s", choice->condition, line);
    return rc;
}

const struct event_kind *event_make(struct event_made *made, const char *name, const struct event_choice *choice,
                                    char *why, size_t len)
{
    AUTO_FREE struct event_tracepoint *t = calloc(1, sizeof(*t));
    snprintf(why, len, "-e %s: out of memory", name);
    if (made->n == XP_MAX_EVENTS || !t || make(t, name, choice, why, len))
        return NULL;
    made->v[made->n] = TAKE_PTR(t);
    return &made->v[made->n++]->kind;
}

void event_made_free(struct event_made *made)
{
    for (size_t i = 0; i < made->n; i++)
        free(made->v[i]);
    made->n = 0;
}
