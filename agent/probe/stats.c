#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

int probe_stats(const struct probe *p, struct xp_stats *out)
{
    struct xp_stats sum = {0};
    u32 zero = 0;
    AUTO_FREE struct xp_stats *cpu = calloc((size_t)p->ncpus, sizeof(*cpu));
    if (!cpu)
        return -ENOMEM;
    if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.stats), &zero, cpu))
        return -errno;
    for (int i = 0; i < p->ncpus; i++)
        for (size_t w = 0; w < sizeof(sum) / 8; w++)
            ((u64 *)&sum)[w] += ((const u64 *)&cpu[i])[w];
    *out = sum;
    return 0;
}

int probe_cpus(const struct probe *p)
{
    return p->ncpus;
}

u64 probe_malformed(const struct probe *p)
{
    return p->malformed;
}

void probe_run_time(const struct probe *p, u64 *ns, u64 *runs)
{
    *ns = *runs = 0;
    for (size_t i = 0; i < p->config.nevents; i++) {
        struct bpf_prog_info info = {0};
        u32 len = sizeof(info);
        if (bpf_obj_get_info_by_fd(p->progs[i], &info, &len))
            continue;
        *ns += info.run_time_ns;
        *runs += info.run_cnt;
    }
}

int probe_cgroup_subsys(const char *controller)
{
    char name[48];
    int found = -ENOENT;
    struct btf *btf = btf__load_vmlinux_btf();
    int id = btf ? btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM) : -1;
    /* The kernel calls blkio "io" in this one place. */
    snprintf(name, sizeof(name), "%s_cgrp_id", strcmp(controller, "blkio") ? controller : "io");
    const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
    for (u32 i = 0; t && i < btf_vlen(t); i++)
        if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
            found = btf_enum(t)[i].val;
    btf__free(btf);
    return found;
}

/* The kernel's own account of a map (fdinfo, Linux 4.12). */
u64 probe_map_memlock(int fd)
{
    char path[64], line[128];
    unsigned long long bytes = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    AUTO_FCLOSE FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "memlock: %llu", &bytes) == 1)
            break;
    return bytes;
}

u64 probe_map_bytes(const struct probe *p)
{
    struct bpf_map *m;
    u64 sum = (u64)(p->tables.nshards - 1) << (XP_SHARD_SHIFT + 2); /* shard 0 is a map of the object */
    bpf_object__for_each_map(m, p->skel->obj) sum += probe_map_memlock(bpf_map__fd(m));
    return sum + __atomic_load_n(&p->wait_bytes, __ATOMIC_RELAXED);
}

#define BATCH 512 /* entries that a system call brings */

int probe_empty(const struct bpf_map *map, bool (*keep)(void *ctx, const void *key, const void *value), void *ctx)
{
    LIBBPF_OPTS(bpf_map_batch_opts, opts);
    size_t key = bpf_map__key_size(map), value = bpf_map__value_size(map);
    AUTO_FREE u8 *keys = calloc(BATCH, key);
    AUTO_FREE u8 *values = calloc(BATCH, value);
    u32 from = 0, at, n;
    int rc = keys && values ? 0 : -ENOMEM;
    for (bool first = true; !rc; first = false, from = at) {
        n = BATCH;
        if (bpf_map_lookup_and_delete_batch(bpf_map__fd(map), first ? NULL : &from, &at, keys, values, &n, &opts))
            rc = -errno; /* -ENOENT: these are the last */
        for (u32 i = 0; keep && (!rc || rc == -ENOENT) && i < n; i++)
            if (!keep(ctx, keys + i * key, values + i * value))
                return -ENOMEM;
    }
    return rc == -ENOENT ? 0 : rc;
}

static int list_mappings(const struct probe *p, u32 tgid, probe_mappings *out)
{
    struct bpf_program *prog = p->skel->progs.xp_list_mappings;
    if (bpf_program__fd(prog) < 0)
        return -ENOTSUP;
    union bpf_iter_link_info info = {.task.pid = tgid};
    LIBBPF_OPTS(bpf_iter_attach_opts, opts);
    if (tgid) {
        opts.link_info = &info;
        opts.link_info_len = sizeof(info);
    }
    struct bpf_link *link = bpf_program__attach_iter(prog, &opts);
    if (!link && tgid) /* no such parameter before 6.1: list all */
        link = bpf_program__attach_iter(prog, NULL);
    if (!link)
        return -errno;
    AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(link));
    struct xp_listed lines[256];
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && (n = read(fd, lines, sizeof(lines))) > 0)
        for (size_t i = 0; i < (size_t)n / sizeof(*lines); i++) {
            struct xp_listed *m = tgid && lines[i].at.tgid != tgid ? NULL : VEC_PUSH(out);
            if (m)
                *m = lines[i];
        }
    int rc = n < 0 ? -errno : 0;
    bpf_link__destroy(link);
    return rc;
}

int probe_list_mappings(struct probe *p, u32 tgid, probe_mappings *out)
{
    pthread_mutex_lock(&p->listing);
    int rc = list_mappings(p, tgid, out);
    pthread_mutex_unlock(&p->listing);
    return rc;
}
