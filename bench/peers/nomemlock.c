/* nomemlock COMMAND...: runs a command whose setting of RLIMIT_MEMLOCK seems to succeed and does nothing.
 *
 * Profilers raise that limit first thing and end when they may not (no CAP_SYS_RESOURCE), though since Linux 5.11 maps
 * are charged to the cgroup and need no limit. The filter works for programs without libc too.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, offset) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, offset)

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        LOAD(nr),
        UNLESS(SYS_prlimit64, 3),
        LOAD(args[1]),
        UNLESS(RLIMIT_MEMLOCK, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    if (argc < 2)
        return 2;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("nomemlock: seccomp");
        return 1;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
