/* Histograms of the latency of disks (bpf/kinds/disk.bpf.c). The kernel side counts while somebody wants the event
 * `disk`; what it has counted is kept here when its object goes.
 */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

static void add_up(struct xp_disk_latency *to, const struct xp_disk_latency *from)
{
    to->ns += from->ns;
    to->requests += from->requests;
    for (size_t i = 0; i <= XP_DISK_BUCKETS; i++)
        to->bucket[i] += from->bucket[i];
}

static struct probe_disk *find(probe_disk_list *list, const struct xp_disk_key *key)
{
    for (size_t i = 0; i < list->n; i++)
        if (!memcmp(&list->v[i].key, key, sizeof(*key)))
            return &list->v[i];
    struct probe_disk *fresh = list->n < XP_DISK_SERIES ? VEC_PUSH(list) : NULL;
    if (fresh)
        *fresh = (struct probe_disk){.key = *key};
    return fresh;
}

/* Adds what all CPUs have. Returns the requests for which there was no room. */
static u64 read_series(int map, int cpus, probe_disk_list *to)
{
    AUTO_FREE struct xp_disk_latency *each = calloc((size_t)cpus, sizeof(*each));
    struct xp_disk_key key, *before = NULL;
    u64 lost = 0;
    for (size_t n = 0; each && n < XP_DISK_SERIES && !bpf_map_get_next_key(map, before, &key); n++, before = &key) {
        struct probe_disk *d = bpf_map_lookup_elem(map, &key, each) ? NULL : find(to, &key);
        for (int cpu = 0; cpu < cpus; cpu++)
            if (d)
                add_up(&d->sum, &each[cpu]);
            else
                lost += each[cpu].requests;
    }
    return lost;
}

static u64 read_left_out(int map, int cpus)
{
    AUTO_FREE u64 *each = calloc((size_t)cpus, sizeof(*each));
    u32 zero = 0;
    u64 sum = 0;
    if (each && !bpf_map_lookup_elem(map, &zero, each))
        for (int cpu = 0; cpu < cpus; cpu++)
            sum += each[cpu];
    return sum;
}

void disks_init(struct disks *d)
{
    pthread_mutex_init(&d->lock, NULL);
}

void disks_free(struct disks *d)
{
    vec_free(&d->ended);
    vec_free(&d->now);
    pthread_mutex_destroy(&d->lock);
}

void disks_take(struct disks *d, const struct bpf_object *object, int cpus, bool last)
{
    int series = bpf_object__find_map_fd_by_name(object, "disk_latency");
    if (series < 0) /* another kind's */
        return;
    pthread_mutex_lock(&d->lock);
    if (last)
        d->left_out += read_series(series, cpus, &d->ended);
    d->now.n = 0;
    d->left_out_now = last ? 0 : read_series(series, cpus, &d->now);
    u64 left_out = read_left_out(bpf_object__find_map_fd_by_name(object, "disk_left_out"), cpus);
    *(last ? &d->left_out : &d->left_out_now) += left_out;
    pthread_mutex_unlock(&d->lock);
}

int probe_disks(struct probe *p, probe_disk_list *out, u64 *left_out)
{
    struct disks *d = &p->disks;
    int rc = 0;
    pthread_mutex_lock(&d->lock);
    *left_out = d->left_out + d->left_out_now;
    for (size_t i = 0; i < d->ended.n + d->now.n && !rc; i++) {
        const struct probe_disk *from = i < d->ended.n ? &d->ended.v[i] : &d->now.v[i - d->ended.n];
        struct probe_disk *to = find(out, &from->key);
        if (to)
            add_up(&to->sum, &from->sum);
        else if (out->n == XP_DISK_SERIES)
            *left_out += from->sum.requests;
        else
            rc = -ENOMEM;
    }
    pthread_mutex_unlock(&d->lock);
    return rc;
}
