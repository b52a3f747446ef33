/* Connects the rooms and threads of `xprof agent` to a running agent.
 *
 *   pipeline   samples -> an interval's profile            the caller's thread collects, a worker names
 *   discover   cgroups, containers, pods -> whom to sample, and with which labels       one thread, and those of kube/
 *   publish    an interval's profile -> one per container, with its labels              on the worker's thread
 *   export     profiles -> spool -> servers and folders                                 threads per target
 *   serve      /metrics /healthz /readyz /targets                                       one thread
 *
 * Everything here belongs to the thread that calls agent_poll.
 */
#pragma once
#include "discover/discover.h"
#include "export/export.h"
#include "pipeline/pipeline.h"
#include "publish/publish.h"

struct agent;

struct agent_limits {
    u64 interval_ns;  /* of a profile */
    unsigned max_cpu; /* percent of one CPU; above it the agent samples at a smaller share of the rate */
};

struct agent_config {                /* borrowed until agent_stop, except exports */
    struct pipeline_config pipeline; /* but for its sink and the controller of version 1 hierarchies */
    const struct export_config *exports;
    struct publisher_config publisher; /* but for exports and unknown */
    struct discover_config discover;   /* but for sampler, publisher, hierarchy */
    const char *listen;                /* ADDRESS:PORT of the server; NULL: none */
    const char *node;                  /* name of this machine, for the metrics */
    bool exclusive;                    /* refuse to run beside another agent of this machine */
    struct agent_limits limits;
};

/* Starts everything; samples begin. `rules` are taken, also on failure. 0, or -errno and a line in why[]. */
int agent_start(struct agent **out, const struct agent_config *config, const struct discover_rules *rules, char *why,
                size_t len);
/* Drains the ring, waiting at most timeout_ms, and does what is due: ends an interval, adjusts the rate. */
void agent_poll(struct agent *a, int timeout_ms);
/* Other targets, rules and limits from now on; what `rules` were is taken. On failure (0 or -errno, why[]) everything
 * goes on as before, and the rules are still the caller's. */
int agent_reload(struct agent *a, const struct export_config *exports, struct discover_rules **rules,
                 const struct agent_limits *limits, char *why, size_t len);
/* The configuration could not be read again: counted. */
void agent_note_reload_error(struct agent *a);
/* Sampling ends; what was sampled is sent as far as servers take it within flush_ms: 0 or -ETIMEDOUT. Then frees. */
int agent_stop(struct agent **a, unsigned flush_ms);
