/* The shards as eBPF maps, and the files that are published with their tables. */
#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define RULES_BYTES (sizeof(struct xp_rule) * XP_MAX_RULES)

/* The first one is part of the object; the others are made. */
static int add_shard(void *ctx, u32 number)
{
    struct probe *p = ctx;
    if (!number) {
        int first = fcntl(bpf_map__fd(p->skel->maps.shard0), F_DUPFD_CLOEXEC, 3);
        return first < 0 ? -errno : first;
    }
    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
    AUTO_CLOSE int fd =
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "shard", 4, sizeof(u32) * XP_CHUNK_WORDS, XP_SHARD_CHUNKS, &opts);
    if (fd < 0 || bpf_map_update_elem(bpf_map__fd(p->skel->maps.shards), &number, &fd, BPF_ANY))
        return -errno;
    return TAKE_FD(fd);
}

int tables_init(struct probe *p)
{
    p->rules = mmap(NULL, RULES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(p->skel->maps.rules), 0);
    if (p->rules == MAP_FAILED)
        return p->rules = NULL, -errno;
    struct shards_config c = {.bytes = p->config.table_bytes, .rules = p->rules, .ctx = p, .add = add_shard};
    return shards_init(&p->tables, &c);
}

void tables_fini(struct probe *p)
{
    shards_fini(&p->tables);
    if (p->rules)
        munmap(p->rules, RULES_BYTES);
}

int probe_table_load(struct probe *p, u64 owner, const struct xp_table *image, struct probe_table *out)
{
    return shards_load(&p->tables, owner, image, out);
}

void probe_table_free(struct probe *p, const struct probe_table *t)
{
    shards_free(&p->tables, t);
}

bool probe_over_share(const struct probe *p, u64 owner)
{
    return shards_over_share(&p->tables, owner);
}

void probe_count_files(struct probe *p, u64 cgroup, u32 n)
{
    bpf_map__update_elem(p->skel->maps.cgroup_files, &cgroup, sizeof(cgroup), &n, sizeof(n), BPF_EXIST);
}

void probe_tables_rest(struct probe *p)
{
    shards_rest(&p->tables);
}

const u32 *probe_shard_words(struct probe *p, u32 *limit)
{
    return shards_words(&p->tables, limit);
}

const struct xp_rule *probe_rule_array(const struct probe *p)
{
    return p->rules;
}

void probe_files_changed(struct probe *p)
{
    __atomic_add_fetch((u32 *)&p->skel->bss->xp_live.files, 1, __ATOMIC_RELEASE);
}

int probe_publish(struct probe *p, const struct xp_file_key *key, u32 id, enum xp_file_state state,
                  const struct probe_table *table, struct xp_file *out)
{
    *out = shards_file(id, state, table);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the rows before the file that points to them */
    int rc = bpf_map__update_elem(p->skel->maps.files, key, sizeof(*key), out, sizeof(*out), BPF_ANY);
    if (p->published && id < XP_FILE_IDS)
        __atomic_fetch_or(&p->published[id / 8], (u8)(1u << id % 8), __ATOMIC_RELEASE);
    return rc;
}

bool probe_published(const struct probe *p, u32 id)
{
    return p->published && id < XP_FILE_IDS && __atomic_load_n(&p->published[id / 8], __ATOMIC_ACQUIRE) >> id % 8 & 1;
}

int probe_republish(struct probe *p, const struct xp_file_key *key, const struct xp_file *value)
{
    return bpf_map__update_elem(p->skel->maps.files, key, sizeof(*key), value, sizeof(*value), BPF_EXIST);
}

int probe_publish_vdso(struct probe *p, const struct probe_table *table, struct xp_file *out)
{
    u32 zero = 0;
    *out = shards_file(XP_FILE_VDSO, XP_FILE_READY, table);
    return bpf_map__update_elem(p->skel->maps.vdso, &zero, sizeof(zero), out, sizeof(*out), BPF_ANY);
}

void probe_forget(struct probe *p, const struct xp_file_key *key)
{
    bpf_map__delete_elem(p->skel->maps.files, key, sizeof(*key), 0);
}

int probe_publish_region(struct probe *p, const struct xp_region_key *key, const struct probe_table *table,
                         struct xp_file *out)
{
    *out = shards_file(0, XP_FILE_READY, table);
    out->flags |= XP_FILE_GENERATED;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as above */
    return bpf_map__update_elem(p->skel->maps.regions, key, sizeof(*key), out, sizeof(*out), BPF_ANY);
}

void probe_forget_region(struct probe *p, const struct xp_region_key *key)
{
    bpf_map__delete_elem(p->skel->maps.regions, key, sizeof(*key), 0);
}

int probe_publish_machine(struct probe *p, const struct xp_process_key *key, const struct xp_machine *machine)
{
    return bpf_map__update_elem(p->skel->maps.machines, key, sizeof(*key), machine, sizeof(*machine), BPF_ANY);
}

void probe_forget_machine(struct probe *p, const struct xp_process_key *key)
{
    bpf_map__delete_elem(p->skel->maps.machines, key, sizeof(*key), 0);
}
