/* What the fake of the kernel side does not have: programs that are attached to files of processes, and other kinds. */
#include "probe/fake_test.h"
#include "probe/address.h"
#include <errno.h>

int probe_disks(struct probe *p, probe_disk_list *out, u64 *left_out)
{
    *left_out = 0;
    return 0;
}

bool probe_run_times(const struct probe *p, u64 ns[PROBE_RUN_TIMES])
{
    for (size_t i = 0; i < PROBE_RUN_TIMES; i++)
        ns[i] = 1000 * i;
    return true;
}

bool probe_published(const struct probe *p, u32 id)
{
    return true;
}

u32 probe_see_costs(struct probe *p)
{
    return 0;
}

bool probe_may_rest(const struct probe *p)
{
    return false;
}

bool probe_rests(const struct probe *p, size_t event)
{
    return false;
}

int probe_cost(const struct probe *p, size_t event, struct probe_cost *out)
{
    return -ENOENT;
}

int probe_add_pid(struct probe *p, u32 tgid)
{
    return 0;
}

int probe_want(struct probe *p, u64 cgroup, u64 want)
{
    return 0;
}

int probe_set_parts(struct probe *p, u32 row, const struct xp_parts *parts)
{
    return 0;
}

void probe_unwant(struct probe *p, u64 cgroup)
{
}

int probe_cgroup_subsys(const char *controller)
{
    return -ENOENT;
}

int probe_cpus(const struct probe *p)
{
    return 4;
}

bool probe_can_take(enum probe_wait_stacks means)
{
    return means == PROBE_STACKS_SWITCH;
}

enum probe_links probe_links_here(bool kernel)
{
    return PROBE_LINKS_MULTI;
}

void probe_stop(struct probe *p)
{
}

u32 probe_heap_wants(const struct probe *p)
{
    return 0;
}

int probe_heap_wanted(struct probe *p, size_t event, probe_processes *out)
{
    return -ENODATA;
}

void probe_heap_begin(struct probe *p, size_t event, u32 place)
{
}

int probe_heap_attach(struct probe *p, size_t event, const struct probe_heap_file *f, unsigned parts,
                      struct probe_heap_links *l)
{
    return -ENOTSUP;
}

int probe_usdt_sites(struct probe *p, size_t event, u32 first, const struct xp_usdt_site *sites, size_t n)
{
    return -ENODATA;
}

void probe_heap_detach(struct probe_heap_links *l, unsigned parts)
{
}

int probe_heap_hits(struct probe *p, size_t event, u32 place, struct probe_heap_hits *out)
{
    return -ENODATA;
}

int probe_heap_prices(struct probe *p, size_t event, struct probe_heap_hits *out)
{
    return -ENODATA;
}

void probe_heap_rest(struct probe *p, size_t event, u32 place, bool resting)
{
}

int probe_heap_gone(struct probe *p, size_t event, u32 place, enum xp_heap_gone how, u64 since)
{
    return 0;
}

u64 probe_heap_forget(struct probe *p, size_t event)
{
    return 0;
}

int probe_heap_look(struct probe *p, size_t event, u64 by_ns, probe_heap_held *held, void *ctx)
{
    return 0;
}

void probe_heap_end(struct probe *p, size_t event)
{
}

int address_namer_new(struct address_namer **out)
{
    return -EPERM;
}

void address_namer_free(struct address_namer **a)
{
}

int address_namer_find(struct address_namer *a, u64 address, char *text, size_t len)
{
    return -EPERM;
}
