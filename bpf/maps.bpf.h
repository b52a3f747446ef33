/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Every map, and the accessors through which the unwinder sees them; bpf/host/ has the same accessors for user space.
 * Sizes that depend on the machine (0 here) are set before loading.
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
} shard0 SEC(".maps"); /* the first one is always there; it also makes clang emit the whole type */
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

/* Files by identity; inserted by the kernel side at first sight, completed by user space. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_FILES);
    __type(key, struct xp_file_key);
    __type(value, struct xp_file);
} files SEC(".maps");

/* How many of them came with stacks of a cgroup; user space lowers the count of one whose files were given up. A cgroup
 * that falls out begins again. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, XP_FILE_CGROUPS); /* 1 when there is no limit */
    __type(key, u64);
    __type(value, u32);
} cgroup_files SEC(".maps");

/* The vdso has no file: its table stands here. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct xp_file);
} vdso SEC(".maps");

/* pc -> rule, one value per CPU: an ordinary array because per-CPU values end at 32 KiB. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set to the number of possible CPUs */
    __type(key, u32);
    __type(value, struct xp_cache);
} pc_cache SEC(".maps");

/* One state per CPU, like pc_cache; the iterator, which samples interrupt, has its own. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set to the number of possible CPUs */
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
    __uint(max_entries, 1 << 21); /* set to what the number of CPUs asks for */
} ring SEC(".maps");

/* How many file ids each CPU has given out, one lane per kind of program that may interrupt the other. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, u32);
    __type(value, u32);
} id_count SEC(".maps");

/* Processes asked for (XP_TARGET_PIDS); children are added by the kernel side. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768); /* 1 when nobody asks for processes */
    __type(key, u32);
    __type(value, u32);
} wanted_pids SEC(".maps");

/* Cgroup id -> want (XP_TARGET_CGROUP), written by user space. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_WANTS); /* 1 when nobody asks for a cgroup */
    __type(key, u64);
    __type(value, u32);
} wants SEC(".maps");

/* Cgroup id -> what follows for it from `wants`, below the xp_live.wants that this holds for. Not an LRU map: its
 * lists lock, and samples interrupt. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_DECISIONS); /* the same */
    __type(key, u64);
    __type(value, u64);
} decisions SEC(".maps");

XP_INLINE struct xp_state *xp_state_get(void)
{
    u32 cpu = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&scratch, &cpu);
}

XP_INLINE struct xp_state *xp_iter_state(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&iter_scratch, &zero);
}

XP_INLINE struct xp_stats *xp_stats_get(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&stats, &zero);
}

/* Word i of the shards; 0 where there is none. Both look-ups are inlined by the verifier. */
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
    u32 cpu = s->sample.cpu;
    return bpf_map_lookup_elem(&pc_cache, &cpu);
}

XP_INLINE int xp_read_user(void *to, u32 len, u64 from)
{
    return bpf_probe_read_user(to, len, (void *)from);
}
