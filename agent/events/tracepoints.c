#include "base/cleanup.h"
#include "events/made_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CALLS "syscalls"   /* the category of system calls, */
#define ENTER "sys_enter_" /* what the tracepoints at their beginnings have in front of their names, */
#define EXIT  "sys_exit_"  /* and those at their ends */

void event_name_of_tracepoint(const char *category, const char *point, char *out, size_t len)
{
    if (!strcmp(category, CALLS) && made_is(point, ENTER))
        snprintf(out, len, SYSCALL "%s", point + strlen(ENTER));
    else
        snprintf(out, len, TRACEPOINT "%s:%s", category, point);
}

#define TRAP_NS 150 /* what perf does to call a program at a tracepoint, as measured */

struct names { /* in tracefs */
    char category[TRACEPOINT_NAME], point[TRACEPOINT_NAME];
};

/* ---- Its name ---------------------------------------------------------------------------------------------------- */

static int split(struct event_probe *p, struct names *out, char *why, size_t len)
{
    const char *point = p->name + strlen(SYSCALL);
    if (made_is(p->name, SYSCALL)) {
        snprintf(out->category, sizeof(out->category), CALLS);
        int n = made_is_timed(p) ? (int)(strrchr(point, ':') - point) : (int)strlen(point);
        snprintf(out->point, sizeof(out->point), ENTER "%.*s", n, point);
        snprintf(p->type, sizeof(p->type), "%.*s", n, point);
        return 0;
    }
    point = p->name + strlen(TRACEPOINT);
    const char *colon = strchr(point, ':');
    if (!colon || colon == point || !colon[1]) {
        snprintf(why, len, "-e %s: expected tracepoint:CATEGORY:NAME, such as tracepoint:sched:sched_process_exec",
                 p->name);
        return -EINVAL;
    }
    snprintf(out->category, sizeof(out->category), "%.*s", (int)(colon - point), point);
    snprintf(out->point, sizeof(out->point), "%s", colon + 1);
    snprintf(p->type, sizeof(p->type), "%s_%s", out->category, out->point);
    return 0;
}

struct near { /* names that are like one that there is not */
    const struct names *wanted;
    bool call; /* of system calls only */
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
    bool call = near->call;
    size_t skip = call ? strlen(ENTER) : 0;
    const char *wanted = near->wanted->point + skip;
    if (call && (strcmp(category, CALLS) != 0 || !made_is(name, ENTER)))
        return 0;
    if (!is_typo(name + skip, wanted, MISTAKES) && !(strlen(wanted) > MISTAKES && strstr(name, wanted)))
        return 0;
    near->len += (size_t)snprintf(near->text + near->len, sizeof(near->text) - near->len, "%s %s%s%s",
                                  near->n ? "," : "", call ? "" : category, call ? "" : ":", name + skip);
    return ++near->n == 5 || near->len >= sizeof(near->text);
}

static void explain(int tracefs, const struct event_probe *p, const struct names *names, int rc, char *why, size_t len)
{
    struct near near = {.wanted = names, .call = made_is(p->name, SYSCALL)};
    if (rc != -ENOENT) {
        snprintf(why, len, "-e %s: the tracepoint cannot be read: %s", p->name, strerror(-rc));
        return;
    }
    tracefs_list(tracefs, add_near, &near);
    snprintf(why, len, "-e %s: this kernel has no such %s%s%s; `xprof list PATTERN` lists what it has", p->name,
             near.call ? "system call" : "tracepoint", near.n ? "; near it:" : "", near.text);
}

/* The fields at the end of a call, and where that is. */
static int add_end(int tracefs, struct event_probe *p, const struct names *names, struct tracepoint *fields)
{
    AUTO_FREE struct tracepoint *end = malloc(sizeof(*end));
    char point[TRACEPOINT_NAME];
    snprintf(point, sizeof(point), EXIT "%s", names->point + strlen(ENTER));
    int rc = end ? tracefs_read(tracefs, names->category, point, end) : -ENOMEM;
    for (size_t i = 0; !rc && i < end->nfields && fields->nfields < TRACEPOINT_FIELDS; i++) {
        if (tracepoint_field_find(fields, end->fields[i].name)) /* the number of the call */
            continue;
        fields->fields[fields->nfields] = end->fields[i];
        fields->fields[fields->nfields++].place.late = 1;
    }
    if (!rc)
        p->kind.probe.end = end->id;
    return rc;
}

int made_tracepoint(struct event_probe *p, struct tracepoint *fields, char *why, size_t len)
{
    struct names names;
    int rc = split(p, &names, why, len);
    if (rc)
        return rc;
    AUTO_CLOSE int tracefs = tracefs_open();
    if (tracefs < 0) {
        snprintf(why, len,
                 "-e %s: tracefs can be neither found nor mounted (%s): run as root, or mount "
                 "/sys/kernel/tracing",
                 p->name, strerror(-tracefs));
        return tracefs;
    }
    rc = tracefs_read(tracefs, names.category, names.point, fields);
    p->kind.series = made_is_timed(p) ? LATENCY : "tracepoint";
    p->kind.probe =
        (struct probe_event){.how = PROBE_KIND, .object = p->kind.series, .tracepoint = fields->id, .trap_ns = TRAP_NS};
    if (!rc && made_is_timed(p))
        rc = add_end(tracefs, p, &names, fields);
    if (rc)
        explain(tracefs, p, &names, rc, why, len);
    return rc;
}
