/* Connects the modules and threads of `xprof agent`.
 *
 *   pipeline   samples -> profile of an interval                        a collector thread and a worker thread
 *   discover   cgroups, containers, pods -> what to sample, and labels   one thread, and those of kube/
 *   publish    profile of an interval -> one per container, with labels  the worker's thread
 *   export     profiles -> spool -> servers and directories              threads per target
 *   serve      /metrics /healthz /readyz /targets                        one thread
 *
 * Everything here belongs to the thread that calls agent_look_after. It may wait for disks and servers; the collector
 * must not, so that thread has nothing else to do.
 */
#pragma once
#include "discover/discover.h"
#include "export/export.h"
#include "pipeline/pipeline.h"
#include "publish/publish.h"

struct agent;

struct agent_limits {
    u64 interval_ns;  /* duration of a profile */
    unsigned max_cpu; /* CPU limit, in percent of one CPU, on a node of GOVERNOR_CPUS or fewer */
};

struct agent_config {                /* borrowed until agent_stop, except exports */
    struct pipeline_config pipeline; /* except its sink and the controller of version 1 hierarchies */
    const struct export_config *exports;
    struct publisher_config publisher; /* except exports and unknown */
    struct discover_config discover;   /* except sampler, publisher, hierarchy */
    const char *listen;                /* ADDRESS:PORT of the server; NULL: none */
    const char *targets_token_file;    /* of the token for /targets; NULL: none */
    const char *node;                  /* name of this machine, for the metrics */
    bool exclusive;                    /* refuse to start while another agent runs on this machine */
    struct agent_limits limits;
};

/* Starts all modules and sampling. Takes ownership of `rules`, also on failure. Returns 0, or -errno and a line in
 * why[]. */
int agent_start(struct agent **out, const struct agent_config *config, const struct discover_rules *rules, char *why,
                size_t len);
/* Does the work that is due: adjusts the rate, logs what exporters have to say. Call it every second or so. */
void agent_look_after(struct agent *a);
/* Replaces targets, rules and limits; takes ownership of `rules`. Returns 0, or -errno and a line in why[]: then
 * nothing has changed, and the caller keeps the rules. */
int agent_reload(struct agent *a, const struct export_config *exports, struct discover_rules **rules,
                 const struct agent_limits *limits, char *why, size_t len);
/* Counts a failed reload of the configuration. */
void agent_note_reload_error(struct agent *a);
/* Ends sampling, sends remaining profiles for up to flush_ms, and frees the agent. Returns 0; -ETIMEDOUT: not all were
 * sent. */
int agent_stop(struct agent **a, unsigned flush_ms);
