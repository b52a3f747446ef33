/* Programs of kinds that perf calls, at each occurrence of one of its software events. */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "probe/probe.h"
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event_of(const char *program)
{
    static const struct {
        const char *program;
        int event;
    } known[] = {
        {"xp_on_minor", PERF_COUNT_SW_PAGE_FAULTS_MIN},
        {"xp_on_major", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(known[i].program, program))
            return known[i].event;
    return -1;
}

/* A link that owns the event; NULL, with errno. */
static struct bpf_link *attach_to(const struct bpf_program *program, struct perf_event_attr *attr, pid_t pid, int cpu)
{
    AUTO_CLOSE int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
    if (link)
        (void)TAKE_FD(fd);
    return link;
}

struct bpf_link *kind_attach_perf(const struct bpf_program *program, int cpu)
{
    int event = event_of(bpf_program__name(program));
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = (u64)event, .sample_period = 1};
    errno = EINVAL;
    return event < 0 ? NULL : attach_to(program, &attr, -1, cpu);
}

bool kind_is_after(const struct bpf_program *program)
{
    return !strcmp(bpf_program__name(program), "xp_after_call");
}

/* One event is enough, of whatever thread: programs of tracepoints run at all occurrences (kernel/trace/bpf_trace.c).
 */
struct bpf_link *kind_attach_tracepoint(const struct bpf_program *program, u64 tracepoint)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .config = tracepoint, .sample_period = 1};
    return attach_to(program, &attr, 0, -1);
}

struct bpf_link *kind_attach_kprobe(const struct bpf_program *program, const struct probe_symbol *symbol)
{
    DECLARE_LIBBPF_OPTS(bpf_kprobe_opts, options, .offset = symbol->offset, .retprobe = symbol->returns);
    return bpf_program__attach_kprobe_opts(program, symbol->name, &options);
}
