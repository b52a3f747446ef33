/* Keeps the tables of generated code (generated/generated.h): which mappings of which processes have one. They count
 * against the share of the cgroup of their process, like those of files, and are given up when it ends. Owned by the
 * worker thread.
 */
#pragma once
#include "generated/generated.h"
#include "probe/probe.h"

struct code_tables;

struct code_owner {
    u32 tgid;
    u64 start; /* of the process, as in samples */
    u64 stack; /* of its program (xp_region_key) */
    u64 cgroup;
};
struct code_tables_stats {
    u64 processes, regions; /* that have tables now */
    u64 loaded, refused;    /* tables so far; those that found no room */
};

/* `share`: each cgroup has a share of XP_MAX_REGIONS and of the memory for tables. Returns 0 or -ENOMEM. */
int code_tables_new(struct code_tables **out, struct probe *probe, bool share);
void code_tables_free(struct code_tables **t);
/* Takes what was read of a process. It replaces everything that was known of it. */
void code_tables_put(struct code_tables *t, const struct code_owner *who, const struct generated *code);
/* Gives up the tables of processes that have ended. Call it every few seconds. */
void code_tables_age(struct code_tables *t);
/* Tells whether a table found no room since the last code_tables_make_room. */
bool code_tables_starved(const struct code_tables *t);
/* Gives up the tables of those who hold more than their share, because others find no room. They are read again. */
void code_tables_make_room(struct code_tables *t);
/* Finds the table that a mapping had at a time (monotonic): a later one may be of other code. NULL: none. Borrowed
 * until the next call of the others. */
const struct xp_file *code_tables_find(const struct code_tables *t, u32 tgid, u64 process_start, u64 start,
                                       u64 time_ns);
struct code_tables_stats code_tables_stats(const struct code_tables *t);
