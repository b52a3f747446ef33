/* fpstack HZ SECONDS COMMAND...: runs the command, samples it with bpf_get_stack and prints "ns frames samples": ns and
 * frames a sample. The reference of bench/unwind.sh.
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
    printf("%.0f %.1f %llu\n", (double)skel->bss->ns / n, (double)skel->bss->frames / n, (unsigned long long)skel->bss->samples);
    fpstack_bpf__destroy(skel);
    return 0;
}
