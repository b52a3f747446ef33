/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * All maps, and the accessors that the unwinder uses; bpf/host/ has the same accessors for user space. Sizes that
 * depend on the machine (0 here) are set before loading.
 */
#pragma once

/* Rows and block indexes of all tables: identical shards, written by user space through mmap. */
struct xp_chunk {
    u32 word[XP_CHUNK_WORDS];
};
struct xp_shard {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, XP_SHARD_CHUNKS);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, u32);
    __type(value, struct xp_chunk);
} shard0 SEC(".maps"); /* the first one always exists; it also makes clang emit the whole type */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, XP_MAX_SHARDS);
    __type(key, u32);
    __array(values, struct xp_shard);
} shards SEC(".maps") = {.values = {[0] = (void *)&shard0}};

/* The rule dictionary of the machine. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, XP_MAX_RULES);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, u32);
    __type(value, struct xp_rule);
} rules SEC(".maps");

/* Files by identity. The kernel side inserts a file when it first sees it; user space completes the entry. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_FILES);
    __type(key, struct xp_file_key);
    __type(value, struct xp_file);
} files SEC(".maps");

/* Number of files added by stacks of each cgroup. User space lowers it when files are evicted. A cgroup that is evicted
 * from this map starts again at 0. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_FILE_CGROUPS); /* 1 if there is no limit */
    __type(key, u64);
    __type(value, u32);
} cgroup_files SEC(".maps");

/* The vdso has no file: its table is stored here. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_file);
} vdso SEC(".maps");

/* Mappings of generated code that have a table. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_REGIONS);
    __type(key, struct xp_region_key);
    __type(value, struct xp_file);
} regions SEC(".maps");

/* What is known of processes with a runtime. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_MACHINES);
    __type(key, struct xp_process_key);
    __type(value, struct xp_machine);
} machines SEC(".maps");

/* pc -> rule, one value per CPU. An ordinary array, because per-CPU values are limited to 32 KiB. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);            /* set to the number of possible CPUs */
    __uint(map_flags, BPF_F_MMAPABLE); /* only so that it begins with a cache line */
    __type(key, u32);
    __type(value, struct xp_cache);
} pc_cache SEC(".maps");

/* One state per CPU, like pc_cache; the iterator, which samples interrupt, has its own. Programs on wake-ups interrupt
 * others, and those on locks of the kernel are interrupted: their objects (bpf/wakers.bpf.c, bpf/contention.bpf.c) have
 * a scratch and a pc_cache of their own. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);            /* set to the number of possible CPUs */
    __uint(map_flags, BPF_F_MMAPABLE); /* only so that it begins with a cache line */
    __type(key, u32);
    __type(value, struct xp_state);
} scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_state);
} iter_scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_stats);
} stats SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 21); /* set according to the number of CPUs */
} ring SEC(".maps");

enum {
    XP_LANE_SAMPLES,
    XP_LANE_ITERATOR,
    XP_LANE_SLEEPERS,
    XP_LANE_WAKERS,
    XP_LANE_CONTENTION,
    XP_LANE_LATE,
    XP_LANE_SLOTS, /* of programs that are preempted (slots.bpf.h) */
    XP_LANE_KINDS, /* one per level */
    XP_LANES = XP_LANE_KINDS + XP_LEVELS
};
#ifndef XP_LANE
#define XP_LANE XP_LANE_SAMPLES
#endif
/* Number of file IDs assigned by each CPU, in one lane per kind of program that may interrupt the other. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, XP_LANES);
    __type(key, u32);
    __type(value, u32);
} id_count SEC(".maps");

/* Requested processes (XP_TARGET_PIDS); the kernel side adds children. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768); /* 1 if no processes are requested */
    __type(key, u32);
    __type(value, u32);
} wanted_pids SEC(".maps");

/* Cgroup id -> want (XP_TARGET_CGROUP), written by user space. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_WANTS); /* 1 if no cgroup is requested */
    __type(key, u64);
    __type(value, u64);
} wants SEC(".maps");

/* What wants say of single events. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, XP_MAX_PARTS); /* the same */
    __type(key, u32);
    __type(value, struct xp_parts);
} parts SEC(".maps");

struct xp_decision {
    u64 want;  /* that results from `wants`, */
    u32 valid; /* while xp_live.wants is this */
    u32 pad;
};
/* By cgroup ID. Not an LRU map,
 * because its lists use locks and samples run in interrupts. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_DECISIONS); /* the same */
    __type(key, u64);
    __type(value, struct xp_decision);
} decisions SEC(".maps");

XP_INLINE struct xp_state *xp_iter_state(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&iter_scratch, &zero);
}

#ifdef XP_NESTED
/* The number of programs of kinds that run on a CPU (bpf/kind.bpf.h). */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u32);
} depth SEC(".maps");

XP_INLINE u32 *xp_depth(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&depth, &zero);
}

/* The place in scratch and pc_cache. */
XP_INLINE u32 xp_slot(void)
{
    u32 *d = xp_depth(), level = d ? *d - 1 : XP_LEVELS;
    return level < XP_LEVELS ? bpf_get_smp_processor_id() * XP_LEVELS + level : ~0u;
}

XP_INLINE u32 xp_lane(void)
{
    u32 *d = xp_depth(), level = d ? *d - 1 : XP_LEVELS;
    return level < XP_LEVELS ? XP_LANE_KINDS + level : XP_LANES;
}
#endif

#ifdef XP_SLOTTED
#include "bpf/slots.bpf.h"
#endif

/* An object that consists of iterators defines XP_ITERATES: nobody else uses their scratch. Programs of one that
 * defines XP_NESTED may interrupt each other; those of one that defines XP_SLOTTED may preempt each other. */
XP_INLINE struct xp_state *xp_state_get(void)
{
#if defined(XP_ITERATES)
    return xp_iter_state();
#elif defined(XP_NESTED) || defined(XP_SLOTTED)
    u32 slot = xp_slot();
    return bpf_map_lookup_elem(&scratch, &slot);
#else
    u32 cpu = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&scratch, &cpu);
#endif
}

XP_INLINE struct xp_stats *xp_stats_get(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&stats, &zero);
}

/* Returns word i of the shards; 0 if there is none. The verifier inlines both look-ups. */
XP_INLINE u32 xp_shard_word(u32 i)
{
    u32 shard = i >> XP_SHARD_SHIFT, chunk = (i >> XP_CHUNK_SHIFT) & (XP_SHARD_CHUNKS - 1);
    void *map = bpf_map_lookup_elem(&shards, &shard);
    if (!map)
        return 0;
    struct xp_chunk *c = bpf_map_lookup_elem(map, &chunk);
    return c ? c->word[i & (XP_CHUNK_WORDS - 1)] : 0;
}

XP_INLINE struct xp_rule *xp_rule_get(u32 i)
{
    return bpf_map_lookup_elem(&rules, &i);
}

XP_INLINE struct xp_cache *xp_cache_get(struct xp_state *s)
{
#if defined(XP_NESTED) || defined(XP_SLOTTED)
    u32 cpu = xp_slot();
#else
    u32 cpu = s->sample.cpu;
#endif
    return bpf_map_lookup_elem(&pc_cache, &cpu);
}

XP_INLINE int xp_read_user(void *to, u32 len, u64 from)
{
    return bpf_probe_read_user(to, len, (void *)from);
}

/* Reads the stack that is unwound. What was copied is read from the copy, and only there (bpf/host). */
XP_INLINE int xp_read_stack(void *to, u32 len, u64 from)
{
    return xp_read_user(to, len, from);
}
