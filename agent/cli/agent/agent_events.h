/* The events of an agent: kinds that --events lists, kinds that cost nothing until somebody wants them, and probes of
 * the configuration file, which have names of their own:
 *
 *     events:
 *       - cpu
 *       - {name: tls-bytes, probe: "uprobe:libssl.so.3:SSL_write", value: arg3, unit: bytes}
 *
 * A probe is recorded where it is asked for by name; with `default: on`, of whatever is profiled. An agent has those
 * that it started with.
 */
#pragma once
#include "cli/agent/agent_options.h"
#include "events/made.h"

#define AGENT_PROBES 16 /* at most: 32 events have room for all other kinds beside them */

struct agent_events { /* release with agent_events_free */
    const char
        *names[XP_MAX_EVENTS]; /* those that are recorded by default first: their places are their bits in wants */
    size_t n, usual;
    struct event_made made;
    struct buf text; /* what the file says about probes */
};

/* `file` may be NULL. Returns 0, or -errno and one line in `message`. */
int agent_events_make(struct agent_events *out, const struct agent_options *o, struct config_file *file,
                      struct buf *message);
void agent_events_free(struct agent_events *e);
/* Finds a probe by its name, as events_wanted.find. */
const struct event_kind *agent_events_find(void *events, const char *name);
/* Whether both have the same probes. */
bool agent_events_same(const struct agent_events *a, const struct agent_events *b);
