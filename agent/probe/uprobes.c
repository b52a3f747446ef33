/* Attaches programs of kinds to places in files of wanted processes (bpf/mapped.bpf.h), by uprobe_multi links (Linux
 * 6.6), which need no more than CAP_BPF and CAP_PERFMON. libbpf knows them from 1.3 on; older ones are in use.
 */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "probe/object.h"
#include "probe/probe_internal.h"
#include "bpf/goroutines.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI of enum bpf_attach_type (include/uapi/linux/bpf.h) */
#define RETURNS      1u /* BPF_F_UPROBE_MULTI_RETURN */

struct link_request { /* union bpf_attr: link_create.uprobe_multi */
    u32 program, target, type, flags;
    u64 path, offsets, ref_counters, cookies;
    u32 count, uprobe_flags, pid, pad;
};

static bool changes(u64 call)
{
    return XP_HEAP_OLD(call) != 0;
}
static bool changes_and_ends(u64 call)
{
    return XP_HEAP_OLD(call) && XP_HEAP_SIZE(call);
}
static bool allocates(u64 call)
{
    return !XP_HEAP_OLD(call) && XP_HEAP_SIZE(call);
}
static bool go_ends(u64 call)
{
    return call == XP_GO_ENDS;
}
static bool go_waits(u64 call)
{
    return call == XP_GO_WAITS;
}
static bool is_called(u64 call)
{
    return call == XP_PLACE_CALLED;
}
static bool returns(u64 call)
{
    return call == XP_PLACE_RETURNS;
}

/* Which program is attached to which places, in this order: what ends something first, so that whatever is seen to
 * begin is seen to its end. Of allocators, what frees comes before what only allocates. */
static const struct part {
    const char *program;
    bool (*takes)(u64 call);
    u32 flags;
    enum probe_heap_parts part;
} PARTS[PROBE_HEAP_LINKS] = {
    {"xp_on_heap_return", changes_and_ends, RETURNS, PROBE_HEAP_FREES},
    {"xp_on_heap_call", changes, 0, PROBE_HEAP_FREES},
    {"xp_on_heap_return", allocates, RETURNS, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_heap_call", allocates, 0, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_go_end", go_ends, 0, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_go_wait", go_waits, 0, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_mapped_function", is_called, 0, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_mapped_function", returns, RETURNS, PROBE_HEAP_ALLOCATIONS},
};

int uprobes_prepare(struct bpf_object *object)
{
    struct bpf_program *program;
    if (!object_kernel_has("bpf_uprobe_multi_link", BTF_KIND_STRUCT))
        return -ENOTSUP;
    bpf_object__for_each_program(program, object)
    {
        if (bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
            bpf_program__set_expected_attach_type(program, UPROBE_MULTI);
    }
    return 0;
}

struct bpf_object *uprobes_object(const struct probe *p, size_t event)
{
    return event < XP_MAX_EVENTS ? __atomic_load_n(&p->attached[event], __ATOMIC_ACQUIRE) : NULL;
}

u32 probe_heap_wants(const struct probe *p)
{
    return __atomic_load_n((u32 *)&p->skel->bss->xp_live.wants, __ATOMIC_ACQUIRE);
}

int probe_heap_wanted(struct probe *p, size_t event, probe_processes *out)
{
    struct bpf_object *object = uprobes_object(p, event);
    struct bpf_program *lists = object ? bpf_object__find_program_by_name(object, "xp_list_wanted") : NULL;
    struct bpf_link *link = lists ? bpf_program__attach_iter(lists, NULL) : NULL;
    AUTO_CLOSE int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    int rc = fd < 0 ? -ENODATA : 0;
    struct xp_wanted some[64];
    for (ssize_t n = 1; !rc && n > 0;) {
        n = read(fd, some, sizeof(some)); /* whole entries (fs/seq_file.c) */
        rc = n < 0 ? -errno : 0;
        for (ssize_t i = 0; i < n / (ssize_t)sizeof(*some) && !rc; i++) {
            struct xp_wanted *place = VEC_PUSH(out);
            rc = place ? 0 : -ENOMEM;
            if (place)
                *place = some[i];
        }
    }
    bpf_link__destroy(link);
    return rc;
}

static int create_link(const struct bpf_program *program, struct link_request *request)
{
    request->program = (u32)bpf_program__fd(program);
    request->type = UPROBE_MULTI;
    int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, request, sizeof(*request));
    return link < 0 ? -errno : link;
}

#define ENOTSUPP 524 /* of the kernel: it does not probe such an instruction (arch/x86/kernel/uprobes.c) */

bool uprobes_is_of_instruction(int rc)
{
    return rc == -ENOTSUPP || rc == -ENOEXEC;
}

/* A link is to all of its places or to none. So those around an instruction that is refused get smaller ones. */
static int attach_some(const struct bpf_program *program, const struct probe_places *places, struct link_request all,
                       size_t first, size_t n, struct uprobes *out)
{
    struct link_request request = all;
    request.offsets = (uintptr_t)(places->offsets + first);
    request.ref_counters = places->counters ? (uintptr_t)(places->counters + first) : 0;
    request.cookies += first * sizeof(u64);
    request.count = (u32)n;
    if (VEC_RESERVE(&out->links, out->links.n + 1))
        return -ENOMEM;
    int rc = create_link(program, &request);
    if (rc >= 0)
        return out->links.v[out->links.n++] = rc, 0;
    if (!uprobes_is_of_instruction(rc) || places->n == 1)
        return rc;
    if (n == 1)
        return out->refused++, 0;
    rc = attach_some(program, places, all, first, n / 2, out);
    return rc ? rc : attach_some(program, places, all, first + n / 2, n - n / 2, out);
}

int uprobes_attach(const struct bpf_program *program, const struct probe_places *places, struct uprobes *out)
{
    char path[64];
    bool returns = places->when == PROBE_RETURNS || (places->when == PROBE_BOTH && kind_is_after(program));
    AUTO_FREE u64 *cookies = calloc(places->n, sizeof(*cookies));
    struct link_request request = {
        .path = (uintptr_t)path,
        .cookies = (uintptr_t)cookies,
        .uprobe_flags = returns ? RETURNS : 0,
    };
    if (!cookies)
        return -ENOMEM;
    for (size_t i = 0; i < places->n; i++)
        cookies[i] = i;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", places->fd);
    int rc = attach_some(program, places, request, 0, places->n, out);
    rc = rc || out->links.n ? rc : -ENOTSUPP;
    if (rc)
        uprobes_detach(out);
    return rc;
}

void uprobes_detach(struct uprobes *u)
{
    for (size_t i = 0; i < u->links.n; i++)
        close(u->links.v[i]);
    vec_free(&u->links);
    u->refused = 0;
}

void uprobes_say_left_out(const struct uprobes *u, const struct probe_places *places, char *why, size_t len)
{
    size_t harmed = places ? places->harmed : 0, all = places ? places->n + harmed : 0;
    const char *some = harmed ? "some" : "their";
    if (why[0] || !(u->refused || harmed))
        return;
    int n = snprintf(why, len, "%zu of %zu places are not probed: ", u->refused + harmed, all);
    if (u->refused)
        n += snprintf(why + n, len - (size_t)n, "the kernel refuses %s instructions%s", some, harmed ? ", and " : "");
    if (harmed)
        snprintf(why + n, len - (size_t)n, "%zu do not return as other functions do", harmed);
}

static size_t choose(const struct part *part, const struct probe_heap_file *f, u64 *offsets, u64 *cookies)
{
    size_t chosen = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!part->takes(f->sites[i].call))
            continue;
        offsets[chosen] = f->sites[i].offset;
        cookies[chosen++] = XP_HEAP_COOKIE(f->sites[i].call, f->place);
    }
    return chosen;
}

int probe_heap_attach(struct probe *p, size_t event, const struct probe_heap_file *f, unsigned parts,
                      struct probe_heap_links *l)
{
    struct bpf_object *object = uprobes_object(p, event);
    char path[64];
    AUTO_FREE u64 *offsets = calloc(2 * f->n + 1, sizeof(*offsets));
    if (!object || !offsets)
        return object ? -ENOMEM : -ENODATA;
    guard_start(p); /* without it, all works as long as nobody kills this process */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
    for (size_t i = 0; i < PROBE_HEAP_LINKS; i++) {
        const struct part *part = &PARTS[i];
        const struct bpf_program *program =
            l->fd[i] < 0 && part->part & parts ? bpf_object__find_program_by_name(object, part->program) : NULL;
        size_t chosen = program ? choose(part, f, offsets, offsets + f->n) : 0;
        if (!chosen)
            continue;
        struct link_request request = {
            .path = (uintptr_t)path,
            .offsets = (uintptr_t)offsets,
            .cookies = (uintptr_t)(offsets + f->n),
            .count = (u32)chosen,
            .uprobe_flags = part->flags,
            .pid = f->tgid,
        };
        int rc = create_link(program, &request);
        if (rc < 0) {
            probe_heap_detach(l, parts);
            return rc;
        }
        l->fd[i] = rc;
    }
    return 0;
}

void probe_heap_detach(struct probe_heap_links *l, unsigned parts)
{
    for (size_t i = PROBE_HEAP_LINKS; i-- > 0;) {
        if (!(PARTS[i].part & parts))
            continue;
        xp_cleanup_close(&l->fd[i]);
        l->fd[i] = -1;
    }
}

void probe_heap_end(struct probe *p, size_t event)
{
    struct bpf_object *object = uprobes_object(p, event);
    if (object)
        heap_end(object);
}
