/* Splits the profile of an interval into one profile per container and event, adds labels, and puts each into the
 * spool.
 *
 * Each sample carries a cgroup id. The discovery thread maps cgroup ids to identities. Samples that arrive before the
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
    struct label_set labels; /* of its profiles */
    bool by_program;         /* no container and no service: each program is a profile, its name the service's */
    bool unwanted;           /* its samples, on their way when that was decided, go nowhere; counted */
    bool by_rule;            /* unwanted but for the programs that a rule matches */
    bool pending;            /* more will be known: wait before publishing */
    bool gone;               /* forget it, once samples on their way have arrived */
};
void identity_free(struct identity **i);

/* A program, or a single process, with labels of its own, whatever its cgroup is. */
struct process_rule {
    const char *comm; /* '*' stands for any characters; NULL: any */
    u32 pid;          /* 0: any */
    const struct label_set *labels;
};

struct publisher_config {
    struct exports *exports;       /* borrowed */
    const struct label_set *every; /* labels of all profiles; copied */
    enum process_frames process_frames;
    /* Samples came from a cgroup that nobody has told of, among others from this process. On the worker's thread. */
    void (*unknown)(void *ctx, u64 cgroup, u32 tgid);
    void *ctx;
};

/* 0 or -ENOMEM. */
int publisher_new(struct publisher **out, const struct publisher_config *config);
void publisher_free(struct publisher **p);

/* Takes the identity; from any one thread. 0; -ENOSPC: too many at once, it is still the caller's. */
int publisher_know(struct publisher *p, struct identity *i);
/* Rules for programs, instead of those before; copied. From any one thread. 0 or -ENOMEM. */
int publisher_set_rules(struct publisher *p, const struct process_rule *rules, size_t n);
/* What an interval brought. */
void publisher_publish(struct publisher *p, const struct profile *interval);
/* What still waits goes out as it is: at the end. */
void publisher_flush(struct publisher *p);

struct publisher_stats {
    u64 profiles, samples; /* handed to the exports */
    u64 unwanted;          /* samples of cgroups that are not wanted any more */
    u64 unknown;           /* samples whose cgroup nobody could name: published without a name */
    u64 waiting;           /* parts that wait for a name now */
    u64 refused;           /* samples that the exports did not take, or for which there was no memory */
    u64 splits;            /* profiles that were too large for one push */
    u64 labels_left_out;
};
/* From any thread; the counters are read one by one. */
void publisher_stats(const struct publisher *p, struct publisher_stats *out);
