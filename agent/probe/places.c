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

int places_prepare(struct bpf_object *object, enum probe_links means, const struct probe_places *places)
{
    struct bpf_program *program;
    if (means != PROBE_LINKS_MULTI)
        return places->n > PLACES_PERF_MOST ? -E2BIG : 0;
    if (!has_links(places))
        return -ENOTSUP;
    bpf_object__for_each_program(program, object)
    {
        if (bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
            bpf_program__set_expected_attach_type(program,
                                                  places && places->kernel ? PLACES_KPROBE_MULTI : PLACES_UPROBE_MULTI);
    }
    return 0;
}

/* ---- Attaching --------------------------------------------------------------------------------------------------- */

struct attaching {
    const struct bpf_program *program;
    const struct probe_places *places;
    enum probe_links means;
    bool returns;
    struct places_pmu pmu;
    char path[64];
    const u64 *cookies;
};

int places_link(const struct bpf_program *program, struct places_link *request)
{
    request->program = (u32)bpf_program__fd(program);
    request->type = PLACES_UPROBE_MULTI;
    int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, request, sizeof(*request));
    return link < 0 ? -errno : link;
}

static int link_in_kernel(const struct attaching *a, size_t first, size_t n)
{
    struct { /* union bpf_attr: link_create.kprobe_multi */
        u32 program, target, type, flags;
        u32 kprobe_flags, count;
        u64 symbols, addresses, cookies;
    } request = {
        .program = (u32)bpf_program__fd(a->program),
        .type = PLACES_KPROBE_MULTI,
        .kprobe_flags = a->returns ? PLACES_RETURNS : 0,
        .count = (u32)n,
        .addresses = (uintptr_t)(a->places->offsets + first),
    };
    int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof(request));
    return link < 0 ? -errno : link;
}

static int link_in_file(const struct attaching *a, size_t first, size_t n)
{
    struct places_link request = {
        .path = (uintptr_t)a->path,
        .offsets = (uintptr_t)(a->places->offsets + first),
        .ref_counters = a->places->counters ? (uintptr_t)(a->places->counters + first) : 0,
        .cookies = (uintptr_t)(a->cookies + first),
        .count = (u32)n,
        .uprobe_flags = a->returns ? PLACES_RETURNS : 0,
    };
    return places_link(a->program, &request);
}

/* One event is enough, of whatever CPU: its programs run at all occurrences (kernel/trace/trace_uprobe.c:
 * __uprobe_perf_func calls them before it looks for events of this CPU). */
static int attach_perf(const struct attaching *a, size_t i)
{
    struct perf_event_attr attr;
    int rc = places_perf_attr(&a->pmu, a->places, i, a->returns, a->path, &attr);
    if (rc)
        return rc;
    AUTO_CLOSE int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) /* EACCES is what verifiers say, too */
        return errno == EACCES && !a->places->kernel ? -EPERM : -errno;
    int program = bpf_program__fd(a->program);
    if (a->means == PROBE_LINKS_PLAIN)
        return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? -errno : TAKE_FD(fd);
    DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = i);
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
           (a->places->kernel && (rc == -EINVAL || rc == -EILSEQ || rc == -EADDRNOTAVAIL || rc == -ENOENT ||
                                  rc == -ESRCH || rc == -EOPNOTSUPP));
}

/* A link is to all of its places or to none. So those around one that is refused get smaller ones. A perf event has one
 * place. */
static int attach_some(const struct attaching *a, size_t first, size_t n, struct places_held *out)
{
    bool many = a->means == PROBE_LINKS_MULTI, split = !many && n > 1;
    if (VEC_RESERVE(&out->fds, out->fds.n + 1))
        return -ENOMEM;
    int rc = split               ? 0
             : !many             ? attach_perf(a, first)
             : a->places->kernel ? link_in_kernel(a, first, n)
                                 : link_in_file(a, first, n);
    if (!split && rc >= 0)
        return out->fds.v[out->fds.n++] = rc, 0;
    if (!split && (!is_refused(a, rc) || a->places->n == 1))
        return rc;
    if (n == 1)
        return out->refused++, 0;
    rc = attach_some(a, first, n / 2, out);
    return rc ? rc : attach_some(a, first + n / 2, n - n / 2, out);
}

static int find_means(struct attaching *a)
{
    const struct probe_places *places = a->places;
    snprintf(a->path, sizeof(a->path), "/proc/self/fd/%d", places->fd);
    int rc = a->means == PROBE_LINKS_MULTI ? 0 : places_pmu_read(places->kernel ? KPROBES : UPROBES, &a->pmu);
    return rc == -ENOENT ? -ENODEV : rc; /* perf events have other reasons for ENOENT */
}

int places_attach(const struct bpf_program *program, enum probe_links means, const struct probe_places *places,
                  bool returns, struct places_held *out)
{
    AUTO_FREE u64 *cookies = calloc(places->n, sizeof(*cookies));
    struct attaching a = {.program = program, .places = places, .means = means, .returns = returns, .cookies = cookies};
    for (size_t i = 0; cookies && i < places->n; i++)
        cookies[i] = i;
    int rc = cookies ? find_means(&a) : -ENOMEM;
    if (!rc)
        rc = attach_some(&a, 0, places->n, out);
    rc = rc || out->fds.n ? rc : -ENOTSUPP;
    if (rc)
        places_detach(out);
    return rc;
}

/* Closing perf events takes the kernel tens of milliseconds each, under a lock: many at once take no less. */
void places_detach(struct places_held *h)
{
    for (size_t i = 0; i < h->fds.n; i++)
        close(h->fds.v[i]);
    vec_free(&h->fds);
    h->refused = 0;
}
