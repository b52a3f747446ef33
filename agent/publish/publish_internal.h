/* Declarations shared by publish.c, which splits an interval, and send.c, which builds a profile from each part. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "publish/publish.h"

struct known {
    struct identity *identity;
    u32 gone_for; /* intervals */
};

struct part { /* the stacks of one cgroup, waiting for its name */
    u64 cgroup;
    struct profile profile;
    u32 rounds;
};

struct rule_set { /* owned copies */
    size_t n;
    struct own_rule {
        char *comm;
        u32 pid;
        struct label_set labels;
    } v[];
};

struct group { /* the stacks of one profile */
    u64 key, cgroup;
    const struct identity *identity; /* NULL: unknown */
    const struct own_rule *rule;     /* NULL: none matches */
    u32 program;                     /* a process of the program */
    bool several;                    /* several programs with a relevant share of samples */
    VEC(u32) stacks;
};
typedef VEC(struct group) group_list;

struct publisher {
    struct publisher_config config;
    struct label_set every;
    struct queue *news; /* struct identity * */
    VEC(struct known) known;
    struct map by_cgroup; /* -> row of known + 1 */
    VEC(struct part) waiting;
    struct rule_set *rules, *next_rules; /* in effect; to be taken over (atomic) */
    struct publisher_stats stats;
};

static inline void publish_count(u64 *counter, u64 n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Sets `program` to the busiest program of the group, and `several` if more than a twentieth of the samples are of
 * others. */
void publish_programs(const struct profile *all, struct group *g);
/* Passes the group's samples of one event to the exports, as one or several profiles. */
void publish_group(struct publisher *p, const struct profile *all, const struct group *g, size_t event);
