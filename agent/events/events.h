/* The table of event kinds that can be recorded. Its rows define -e, `xprof list`, help, completion, pprof's types and
 * the series on servers. A row defines how the kind is attached by probe/; bpf/events/ has one file per way of
 * attaching. A new kind that perf can count needs one row here and nothing else.
 */
#pragma once
#include "probe/probe.h"
#include <stdbool.h>
#include <stddef.h>

#define EVENT_ALIASES 4
#define EVENT_VALUES  XP_MAX_VALUES

/* What the kind costs whatever causes its events, beside the stacks that are taken. */
enum event_cost {
    EVENT_COST_LOW,    /* a share of the events interrupts its CPU, at the sampling rate */
    EVENT_COST_MEDIUM, /* a program runs at each event: less than a microsecond */
    EVENT_COST_HIGH,   /* a program runs at each event, and events are as frequent as function calls */
};

/* One of the numbers that a stack has of a kind: a sum, and the number of occurrences that it is the sum of. */
struct event_value {
    const char *type;  /* pprof type of the sum: "cpu", "alloc_space", ... */
    const char *unit;  /* its pprof unit: "nanoseconds", "bytes" or "count" */
    const char *count; /* pprof type of the number; NULL: "samples", which kinds share; "": it has none */
};

struct event_kind {
    const char *name;                        /* -e NAME */
    const char *aliases[EVENT_ALIASES + 1];  /* names that stand for `name`; NULL after the last */
    struct probe_event probe;                /* how it is attached, except hz */
    struct event_value values[EVENT_VALUES]; /* the type is NULL after the last */
    size_t main;                             /* the value that formats with room for one have */
    bool sparse;                             /* stacks that have nothing of it are left out */
    struct event_value period;               /* pprof type of the period; NULL: that of a clock, or none */
    const char *series;                      /* label __name__ on servers: first part of Pyroscope's profile type ID */
    unsigned default_hz;                     /* samples per second per CPU; 0: it has no rate, every event counts */
    enum event_cost cost;
    const char *tag;   /* label of samples that says what they were about, if asked for; NULL: there is none */
    const char *needs; /* beyond what every recording needs; "": nothing */
    const char *help;  /* what it counts */
};

/* `name` may be an alias. NULL when there is none. */
const struct event_kind *event_kind_find(const char *name);
/* All rows, in --help order. */
const struct event_kind *event_kinds(size_t *n);
/* What `memory` is where only leaks are wanted: it has the same values, and by how much a call path grew. */
const struct event_kind *event_kind_leaks(void);
/* The name of the i-th kind, NULL past the last; the name that a name or an alias stands for, NULL when there is none.
 */
const char *event_name(size_t i);
const char *event_name_of(const char *name);
/* Returns the number of values that a kind has, at least 1. */
size_t event_width(const struct event_kind *kind);
/* What one sample stands for, in the unit of the kind's period; 1: what is counted is exact. `heap_period`: as in
 * struct probe_config. */
u64 event_period(const struct event_kind *kind, unsigned hz, u64 heap_period);
/* Returns what a value of a kind is called where there is no room for more: the kind's name if it has one only. */
const char *event_value_name(const struct event_kind *kind, size_t value);
/* Names of what may be left out of the time of `offcpu`: "idle" for 0, NULL past the last. */
const char *event_hideable(size_t i);
/* Names of the means by which user stacks of waits are taken, in the order of enum probe_wait_stacks; NULL past the
 * last. event_wait_stacks_of: the means that has this name; NULL has the first one, and so has an unknown name. */
const char *event_wait_stacks(size_t i);
enum probe_wait_stacks event_wait_stacks_of(const char *name);
/* The same of the means by which probes are attached, and enum probe_links. */
const char *event_probe_links(size_t i);
enum probe_links event_probe_links_of(const char *name);
/* Names of the labels that kinds have if asked for, each once (struct event_kind: tag); NULL past the last. */
const char *event_tag(size_t i);
/* Whether it is one of these. */
bool event_is_tag(const char *name);
/* Whether a kind has this label. */
bool event_has_tag(const struct event_kind *kind, const char *label);
/* Returns the first kind that has this label; NULL: there is none. */
const struct event_kind *event_kind_with_tag(const char *label);
/* Has the probes of those kinds tagged whose label is listed. */
void events_tag(const char *const *labels, size_t count, const struct event_kind *const *kinds,
                struct probe_event *probes, size_t n);
/* "low", "medium" or "high". */
const char *event_cost_name(enum event_cost cost);

/* Copies the listed names and appends those of the kinds that cost nothing until somebody wants them. Returns their
 * number; those that do not fit are left out. */
size_t events_offered(const char *const *listed, size_t count, const char *names[XP_MAX_EVENTS]);

struct events_wanted {
    const char *const *names;
    size_t n;
    unsigned hz; /* samples per second per CPU of the kinds that have a rate; 0: the default of each */
    /* Finds kinds beside those of the table; NULL: there are none. */
    const struct event_kind *(*find)(void *ctx, const char *name);
    void *ctx;
};
/* Finds the kinds of the named events and the probe events for them, in the same order. Returns 0; -EINVAL: there is no
 * kind `names[*n]`; -EEXIST: `names[*n]` is a kind that was named before, perhaps by an alias; -E2BIG: more than
 * XP_MAX_EVENTS, or than XP_MAX_PERF that perf counts. */
int events_choose(const struct events_wanted *w, const struct event_kind *kinds[XP_MAX_EVENTS],
                  struct probe_event probes[XP_MAX_EVENTS], size_t *n);
