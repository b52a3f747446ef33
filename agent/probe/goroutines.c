/* What user space does about locks of Go (bpf/kinds/goroutines.bpf.c) besides attaching: goroutines do not say when
 * their process ends.
 */
#include "base/map.h"
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include "bpf/goroutines.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>

static bool lives(u32 tgid)
{
    return !kill((pid_t)tgid, 0) || errno != ESRCH;
}

/* Deletes those of dead processes, and counts the others by cgroup. */
static void count_all(int map, struct map *counts)
{
    struct xp_goroutine_key key, next;
    struct xp_goroutine w;
    bool more = !bpf_map_get_next_key(map, NULL, &next);
    for (u32 i = 0; more && i < XP_MAX_GOROUTINES; i++) {
        key = next;
        more = !bpf_map_get_next_key(map, &key, &next);
        if (bpf_map_lookup_elem(map, &key, &w))
            continue;
        bool stays = lives(w.tgid);
        u64 *n = stays ? map_put(counts, w.cgroup) : NULL;
        if (n)
            ++*n;
        if (!stays)
            bpf_map_delete_elem(map, &key);
    }
}

/* Goroutines that begin or end to wait meanwhile may be counted wrong until the next time. */
static void set_counts(int map, const struct map *counts)
{
    u64 cgroup, next;
    bool more = !bpf_map_get_next_key(map, NULL, &next);
    for (u32 i = 0; more && i < XP_MAX_GOROUTINES; i++) {
        cgroup = next;
        more = !bpf_map_get_next_key(map, &cgroup, &next);
        const u64 *n = map_get(counts, cgroup);
        if (n)
            bpf_map_update_elem(map, &cgroup, n, BPF_EXIST);
        else
            bpf_map_delete_elem(map, &cgroup);
    }
}

void goroutines_tidy(struct bpf_object *object)
{
    struct map counts = {0};
    int all = bpf_object__find_map_fd_by_name(object, "goroutines");
    int groups = bpf_object__find_map_fd_by_name(object, "goroutine_groups");
    if (all < 0 || groups < 0)
        return;
    count_all(all, &counts);
    set_counts(groups, &counts);
    map_free(&counts);
}
