/* Splits the profile of an interval into one profile per container and event, adds labels, and puts each into the
 * spool.
 *
 * Each sample carries a cgroup ID. The discovery thread maps cgroup IDs to identities. Samples that arrive before the
 * metadata of their container are held, already symbolized, for a few intervals. All functions except publisher_know
 * belong to the worker's thread.
 */
#pragma once
#include "base/labels.h"
#include "bpf/types.h"
#include "export/export.h"
#include "profile/profile.h"

struct publisher;

enum process_frames { PROCESS_FRAMES_AUTO, PROCESS_FRAMES_ALWAYS, PROCESS_FRAMES_NEVER };

struct identity { /* what a cgroup is */
    u64 cgroup;
    struct label_set labels; /* labels of its profiles */
    bool by_program;         /* neither container nor service: one profile per program, which names the service */
    bool unwanted;           /* samples that were in flight at that decision are dropped and counted */
    bool by_rule;            /* unwanted, except programs that a rule matches */
    bool pending;            /* metadata is not complete yet: wait before publishing */
    bool gone;               /* remove it once samples in flight have arrived */
};
void identity_free(struct identity **i);

/* Gives a program or a single process its own labels, regardless of its cgroup. */
struct process_rule {
    const char *comm; /* '*' stands for any characters; NULL: any */
    u32 pid;          /* 0: any */
    const struct label_set *labels;
};

struct publisher_config {
    struct exports *exports;       /* borrowed */
    const struct label_set *every; /* labels of all profiles; copied */
    enum process_frames process_frames;
    /* Called by the worker's thread for samples of an unknown cgroup; `tgid` is one of its processes. */
    void (*unknown)(void *ctx, u64 cgroup, u32 tgid);
    void *ctx;
};

/* 0 or -ENOMEM. */
int publisher_new(struct publisher **out, const struct publisher_config *config);
void publisher_free(struct publisher **p);

/* Adds an identity and takes ownership. Call it from one thread only. Returns 0; -ENOSPC: too many at once; the caller
 * keeps it. */
int publisher_know(struct publisher *p, struct identity *i);
/* Replaces the rules for programs by a copy of these. Call it from one thread only. Returns 0 or -ENOMEM. */
int publisher_set_rules(struct publisher *p, const struct process_rule *rules, size_t n);
/* Publishes the profile of an interval. */
void publisher_publish(struct publisher *p, const struct profile *interval);
/* Publishes all held samples as they are, at shutdown. */
void publisher_flush(struct publisher *p);

struct publisher_stats {
    u64 profiles, samples; /* passed to the exports */
    u64 unwanted;          /* samples of cgroups that are no longer wanted */
    u64 unknown;           /* samples of unknown cgroups, published without a name */
    u64 waiting;           /* parts currently waiting for a name */
    u64 refused;           /* samples refused by the exports, of too much text, or lost because memory ran out */
    u64 splits;            /* profiles split because they were too large for one push */
    u64 labels_left_out;
};
/* Any thread may call it. The counters are read one by one. */
void publisher_stats(const struct publisher *p, struct publisher_stats *out);
