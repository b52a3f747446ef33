/* The kernel's tracepoints as tracefs describes them. It need not be mounted: a mount of our own, which no path leads
 * to, does as well.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/tracepoint.h"
#include <stddef.h>

#define TRACEPOINT_FIELDS 64
#define TRACEPOINT_NAME   64

struct tracepoint_field {
    char name[TRACEPOINT_NAME];
    char type[TRACEPOINT_NAME]; /* as in C: "unsigned long", "char [16]" */
    struct xp_tp_field place;   /* XP_TP_NOTHING: neither a number nor text */
};
struct tracepoint {
    u64 id;                                            /* for perf_event_open */
    struct tracepoint_field fields[TRACEPOINT_FIELDS]; /* those that all tracepoints have are left out */
    size_t nfields;
};

/* Returns a descriptor of its folder, or -errno. -EPERM: it is not mounted, and we must not do that. */
int tracefs_open(void);
/* Reads events/CATEGORY/NAME. Returns 0; -ENOENT: there is none; or another -errno. */
int tracefs_read(int tracefs, const char *category, const char *name, struct tracepoint *out);
/* Reads the text of events/CATEGORY/NAME/format; -EBADMSG: it is none. */
int tracefs_format(char *text, struct tracepoint *out);
/* NULL: there is no such field. */
const struct tracepoint_field *tracepoint_field_find(const struct tracepoint *t, const char *name);

/* Calls `each` for every tracepoint, sorted by category and name, until it returns other than 0, and returns that;
 * otherwise 0 or -errno. */
typedef int tracefs_each(void *ctx, const char *category, const char *name);
int tracefs_list(int tracefs, tracefs_each *each, void *ctx);
