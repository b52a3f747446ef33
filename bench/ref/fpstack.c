/* fpstack HZ SECONDS COMMAND...: runs the command, samples it with bpf_get_stack and prints "ns frames samples": median
 * ns and mean frames of a sample. The reference of bench/unwind.sh.
 */
#include "bpf/types.h"
#include "fpstack.skel.h"
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void attach(struct fpstack_bpf *skel, unsigned hz)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
    attr.sample_period = 1000000000ull / hz;
    for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
        int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skel->progs.fp_stack)))
            perror("perf event");
    }
}

static int by_size(const void *x, const void *y)
{
    u32 a = *(const u32 *)x, b = *(const u32 *)y;
    return a < b ? -1 : a > b;
}

static u32 median(struct fpstack_bpf *skel)
{
    size_t n = skel->bss->samples < sizeof(skel->bss->times) / 4 ? skel->bss->samples : sizeof(skel->bss->times) / 4;
    qsort(skel->bss->times, n, sizeof(u32), by_size);
    return n ? skel->bss->times[n / 2] : 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    struct fpstack_bpf *skel = fpstack_bpf__open();
    pid_t child = fork();
    if (!child) {
        raise(SIGSTOP);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    if (!skel || waitpid(child, NULL, WUNTRACED) < 0)
        return 1;
    *(unsigned *)&skel->rodata->wanted_tgid = (unsigned)child;
    if (fpstack_bpf__load(skel))
        return 1;
    attach(skel, (unsigned)atoi(argv[1]));
    kill(child, SIGCONT);
    sleep((unsigned)atoi(argv[2]));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    double n = skel->bss->samples ? (double)skel->bss->samples : 1;
    printf("%u %.1f %llu\n", median(skel), (double)skel->bss->frames / n, (unsigned long long)skel->bss->samples);
    fpstack_bpf__destroy(skel);
    return 0;
}
