/* Kinds of events that are made for a recording, by name: of a tracepoint (`tracepoint:CATEGORY:NAME`), a system call
 * (`syscall:NAME`), a function of a program or library (`uprobe:FILE:FUNCTION`, `uretprobe:FILE:FUNCTION`), or a probe
 * that it has built in (`usdt:FILE:PROVIDER:NAME`). They are recorded as kinds of the table are (events.h).
 */
#pragma once
#include "events/events.h"

struct event_choice {      /* of all that are made */
    const char *as;        /* a name of its own (event_check_name); NULL: the one that it is made by */
    const char *condition; /* which occurrences count (condition.h); NULL: all */
    const char *value;     /* FIELD or FIELD:UNIT, by which they count; NULL: each as one */
    u64 period;            /* one of so many is taken, for all of them; 0: 1 */
    /* Finds a function of a file: fills in out->fd and out->offsets, both owned. Returns 0, or -errno and a line. */
    int (*find)(void *ctx, const char *file, const char *function, struct probe_places *out, char *why, size_t len);
    /* The same for USDT probes, `probe` is PROVIDER:NAME: out->counters and out->sites, too. */
    int (*find_usdt)(void *ctx, const char *file, const char *probe, struct probe_places *out, char *why, size_t len);
    void *ctx;
};
struct event_made { /* what was made for a recording, which outlives it; release with event_made_free */
    struct event_probe *v[XP_MAX_EVENTS];
    size_t n;
};

/* Writes the name that -e takes for a tracepoint. */
void event_name_of_tracepoint(const char *category, const char *point, char *out, size_t len);
/* Whether a name is of this form. */
bool event_is_made(const char *name);
/* Returns the kind, which is *made's; NULL: there is no such thing, or another error, which has its line. */
const struct event_kind *event_make(struct event_made *made, const char *name, const struct event_choice *choice,
                                    char *why, size_t len);
void event_made_free(struct event_made *made);
/* Returns the kind with this name; NULL: none. */
const struct event_kind *event_made_find(const struct event_made *made, const char *name);
/* Whether a kind may have this name of its own: annotations, pprof and servers take it, and no other has it. Returns 0,
 * or -EINVAL and a line. */
int event_check_name(const struct event_made *made, const char *name, char *why, size_t len);
/* As event_choice.find, for functions of a file that is meant by name, in whatever process (probe_places.file). */
int event_find_by_name(void *ctx, const char *file, const char *function, struct probe_places *out, char *why,
                       size_t len);
/* The same as event_choice.find_usdt. Whether sites have arguments is known when a process has mapped the file. */
int event_find_usdt_by_name(void *ctx, const char *file, const char *probe, struct probe_places *out, char *why,
                            size_t len);
/* Returns the length of the first one of a list of names: between slashes, PMU events have commas of their own,
 * and functions between parentheses and brackets. */
size_t event_item_length(const char *text);
/* Where FUNCTION begins in FILE:FUNCTION: behind the last colon that is none of a pair, as in ns::f, and not in
 * brackets, as in f[abi:cxx11]. NULL: there is none. */
const char *event_function_of(const char *text);
/* The value of -e: as event_name_of, and names of this form as they are. */
const char *event_name_or_made(const char *name);
