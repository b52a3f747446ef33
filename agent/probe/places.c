#include "probe/places.h"
#include "base/cleanup.h"
#include "probe/object.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_MULTI \
    48 /* BPF_TRACE_UPROBE_MULTI of enum bpf_attach_type (include/uapi/linux/bpf.h): libbpf knows it from */
#define KPROBE_MULTI 42 /* 1.3 on, older ones are in use; BPF_TRACE_KPROBE_MULTI */
#define RETURNS      1u /* BPF_F_UPROBE_MULTI_RETURN, BPF_F_KPROBE_MULTI_RETURN */

#define UPROBES "/sys/bus/event_source/devices/uprobe"
#define KPROBES "/sys/bus/event_source/devices/kprobe"

/* ---- By which means ---------------------------------------------------------------------------------------------- */

static bool has_links(const struct probe_places *places)
{
    return object_kernel_has(places && places->kernel ? "bpf_kprobe_multi_link" : "bpf_uprobe_multi_link",
                             BTF_KIND_STRUCT);
}

/* Cookies came with this struct, and links to perf events. */
static bool has_cookies(void)
{
    return object_kernel_has("bpf_trace_run_ctx", BTF_KIND_STRUCT);
}

/* Later kernels preempt the programs, which have to be kept from that. */
static bool can_be_plain(void)
{
    return !has_cookies() || object_kernel_has("bpf_preempt_disable", BTF_KIND_FUNC);
}

enum probe_links places_means(enum probe_links wanted, const struct probe_places *places)
{
    if (wanted == PROBE_LINKS_MULTI || (wanted == PROBE_LINKS_AUTO && has_links(places)))
        return PROBE_LINKS_MULTI;
    if (places->kernel) /* where cookies are not needed */
        return PROBE_LINKS_PLAIN;
    if (wanted == PROBE_LINKS_PLAIN && can_be_plain())
        return PROBE_LINKS_PLAIN;
    return has_cookies() ? PROBE_LINKS_PERF : PROBE_LINKS_PLAIN;
}

enum probe_links probe_links_here(bool kernel)
{
    const struct probe_places places = {.kernel = kernel};
    return places_means(PROBE_LINKS_AUTO, &places);
}

/* Whether there may be perf events of places later: this one is of no file. */
static int try_perf(void)
{
    struct places_pmu pmu;
    struct perf_event_attr attr;
    u64 offset = 0;
    const struct probe_places nowhere = {.offsets = &offset, .n = 1};
    int rc = places_pmu_read(UPROBES, &pmu);
    if (!rc)
        rc = places_perf_attr(&pmu, &nowhere, 0, false, "", &attr);
    if (rc)
        return rc == -ENOENT ? -ENODEV : rc;
    AUTO_CLOSE int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 && (errno == EACCES || errno == EPERM) ? -EPERM : 0;
}

int places_prepare(struct bpf_object *object, enum probe_links means, const struct probe_places *places)
{
    struct bpf_program *program;
    if (places && means != PROBE_LINKS_MULTI)
        return places->n > PLACES_PERF_MOST ? -E2BIG : 0;
    if (means != PROBE_LINKS_MULTI)
        return means == PROBE_LINKS_PERF ? try_perf() : -ENOTSUP;
    if (!has_links(places))
        return -ENOTSUP;
    bpf_object__for_each_program(program, object)
    {
        if (bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
            bpf_program__set_expected_attach_type(program, places && places->kernel ? KPROBE_MULTI : UPROBE_MULTI);
    }
    return 0;
}

/* ---- Attaching --------------------------------------------------------------------------------------------------- */

struct attaching {
    struct places_request r;
    struct places_pmu pmu;
    char path[64];
};

static int link_in_kernel(const struct attaching *a, size_t first, size_t n)
{
    struct { /* union bpf_attr: link_create.kprobe_multi */
        u32 program, target, type, flags;
        u32 kprobe_flags, count;
        u64 symbols, addresses, cookies;
    } request = {
        .program = (u32)bpf_program__fd(a->r.program),
        .type = KPROBE_MULTI,
        .kprobe_flags = a->r.returns ? RETURNS : 0,
        .count = (u32)n,
        .addresses = (uintptr_t)(a->r.places->offsets + first),
    };
    int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof(request));
    return link < 0 ? -errno : link;
}

static int link_in_file(const struct attaching *a, size_t first, size_t n)
{
    const struct probe_places *places = a->r.places;
    struct { /* union bpf_attr: link_create.uprobe_multi */
        u32 program, target, type, flags;
        u64 path, offsets, ref_counters, cookies;
        u32 count, uprobe_flags, pid, pad;
    } request = {
        .program = (u32)bpf_program__fd(a->r.program),
        .type = UPROBE_MULTI,
        .path = (uintptr_t)a->path,
        .offsets = (uintptr_t)(places->offsets + first),
        .ref_counters = places->counters ? (uintptr_t)(places->counters + first) : 0,
        .cookies = (uintptr_t)(a->r.cookies + first),
        .count = (u32)n,
        .uprobe_flags = a->r.returns ? RETURNS : 0,
        .pid = a->r.tgid,
    };
    int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof(request));
    return link < 0 ? -errno : link;
}

/* One event is enough, of whatever CPU: its programs run at all occurrences (kernel/trace/trace_uprobe.c:
 * __uprobe_perf_func calls them before it looks for events of this CPU). */
static int attach_perf(const struct attaching *a, size_t i)
{
    struct perf_event_attr attr;
    int rc = places_perf_attr(&a->pmu, a->r.places, i, a->r.returns, a->path, &attr), process = (int)a->r.tgid;
    if (rc)
        return rc;
    AUTO_CLOSE int fd =
        (int)syscall(SYS_perf_event_open, &attr, process ? process : -1, process ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) /* EACCES is what verifiers say, too */
        return errno == EACCES && !a->r.places->kernel ? -EPERM : -errno;
    int program = bpf_program__fd(a->r.program);
    if (a->r.means == PROBE_LINKS_PLAIN)
        return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? -errno : TAKE_FD(fd);
    DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = a->r.cookies[i]);
    int link = bpf_link_create(program, fd, BPF_PERF_EVENT, &options); /* it keeps the event */
    return link < 0 ? -errno : link;
}

#define ENOTSUPP 524 /* of the kernel: it does not probe such an instruction (arch/x86/kernel/uprobes.c) */

bool places_is_of_instruction(int rc)
{
    return rc == -ENOTSUPP || rc == -ENOEXEC;
}

/* In the kernel, what is not to be traced has several error numbers (kernel/kprobes.c, kernel/trace/ftrace.c). */
static bool is_refused(const struct attaching *a, int rc)
{
    return places_is_of_instruction(rc) ||
           (a->r.places->kernel && (rc == -EINVAL || rc == -EILSEQ || rc == -EADDRNOTAVAIL || rc == -ENOENT ||
                                    rc == -ESRCH || rc == -EOPNOTSUPP));
}

/* A link is to all of its places or to none. So those around one that is refused get smaller ones. A perf event has one
 * place. */
static int attach_some(const struct attaching *a, size_t first, size_t n, struct places_held *out)
{
    bool many = a->r.means == PROBE_LINKS_MULTI, split = !many && n > 1;
    if (VEC_RESERVE(&out->fds, out->fds.n + 1))
        return -ENOMEM;
    int rc = split                 ? 0
             : !many               ? attach_perf(a, first)
             : a->r.places->kernel ? link_in_kernel(a, first, n)
                                   : link_in_file(a, first, n);
    if (!split && rc >= 0)
        return out->fds.v[out->fds.n++] = rc, 0;
    if (!split && (!is_refused(a, rc) || a->r.places->n == 1))
        return rc;
    if (n == 1)
        return out->refused++, 0;
    rc = attach_some(a, first, n / 2, out);
    return rc ? rc : attach_some(a, first + n / 2, n - n / 2, out);
}

static int find_means(struct attaching *a)
{
    const struct probe_places *places = a->r.places;
    int rc = a->r.means == PROBE_LINKS_MULTI ? 0 : places_pmu_read(places->kernel ? KPROBES : UPROBES, &a->pmu);
    return rc == -ENOENT ? -ENODEV : rc; /* perf events have other reasons for ENOENT */
}

/* How many places from there on are in one file. */
static size_t in_one_file(const struct probe_places *places, size_t first)
{
    size_t end = first + 1;
    if (!places->files)
        return places->n - first;
    while (end < places->n && places->files[end] == places->files[first])
        end++;
    return end - first;
}

int places_request(const struct places_request *r, struct places_held *out)
{
    struct attaching a = {.r = *r};
    const struct probe_places *places = r->places;
    int rc = find_means(&a);
    for (size_t i = 0, n; i < places->n && !rc; i += n) {
        n = in_one_file(places, i);
        snprintf(a.path, sizeof(a.path), "/proc/self/fd/%d", places->files ? places->files[i] : places->fd);
        rc = attach_some(&a, i, n, out);
    }
    rc = rc || out->fds.n ? rc : -ENOTSUPP;
    if (rc)
        places_detach(out);
    return rc;
}

int places_attach(const struct bpf_program *program, enum probe_links means, const struct probe_places *places,
                  bool returns, struct places_held *out)
{
    AUTO_FREE u64 *cookies = calloc(places->n, sizeof(*cookies));
    struct places_request r = {program, means, places, returns, cookies, 0};
    for (size_t i = 0; cookies && i < places->n; i++)
        cookies[i] = i;
    return cookies ? places_request(&r, out) : -ENOMEM;
}

/* Closing perf events takes the kernel tens of milliseconds each, under a lock: many at once take no less. */
void places_detach(struct places_held *h)
{
    for (size_t i = 0; i < h->fds.n; i++)
        close(h->fds.v[i]);
    vec_free(&h->fds);
    h->refused = 0;
}
