#include "parser/sandbox.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOBODY   65534
#define FILES    16 /* socket, 0-2, the file, the offsets, the reply; libdw holds a few */
#define LAST_FD  65535
#define NO_STDIO "/dev/null"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* ---- Descriptors ------------------------------------------------------------------------------------------------ */
static void close_from(unsigned first)
{
    if (!syscall(SYS_close_range, first, ~0u, 0))
        return;
    for (unsigned fd = first; fd <= LAST_FD; fd++) /* Linux < 5.9, or an outer seccomp filter that does not know it */
        close((int)fd);
}

static int keep_only(int socket)
{
    if (socket != SANDBOX_SOCKET && dup3(socket, SANDBOX_SOCKET, O_CLOEXEC) < 0)
        return -errno;
    close_from(SANDBOX_SOCKET + 1);
    AUTO_CLOSE int null = open(NO_STDIO, O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < (SANITIZED ? 2 : 3); fd++)
        if (fd != null && (null < 0 || dup3(null, fd, O_CLOEXEC) < 0))
            close(fd);
    if (null < SANDBOX_SOCKET) /* it took the place of one that was closed, and stays */
        TAKE_FD(null);
    return 0;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */
/* A tmpfs that is mounted nowhere, so that no directory is needed to put it (fsopen: Linux 5.2). */
static int empty_root(void)
{
    AUTO_CLOSE int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
        return -errno;
    unsigned attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    AUTO_CLOSE int mnt = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attr);
    if (mnt < 0 || fchdir(mnt) || chroot("."))
        return -errno;
    return 0;
}

/* Without CAP_SYS_ADMIN, or below an outer filter, seccomp alone forbids sockets and paths. The mount namespace stays:
 * a node may have thousands of mounts to copy, and from the empty root none can be named. */
static unsigned leave_places(void)
{
    unsigned layers = unshare(CLONE_NEWNET | CLONE_NEWIPC) ? 0 : 1u << SANDBOX_NETWORK;
    return layers | (empty_root() ? 0 : 1u << SANDBOX_ROOT);
}

/* A ruleset that handles all rights that the kernel knows and grants none (Documentation/userspace-api/landlock.rst).
 * Needs no capability, but no_new_privs. */
static unsigned enter_landlock(void)
{
    static const unsigned long long fs_rights[] = {13, 14, 15, 15, 16}; /* their number by version of the ABI */
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    size_t known = sizeof(fs_rights) / sizeof(*fs_rights);
    if (abi < 1)
        return 0;
    unsigned long long rights[2] = {(1ull << fs_rights[(size_t)abi < known ? (size_t)abi - 1 : known - 1]) - 1, 0};
    rights[1] = abi >= 4 ? 3 : 0; /* TCP: bind, connect */
    AUTO_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, rights, abi >= 4 ? 16 : 8, 0);
    return rules >= 0 && !syscall(SYS_landlock_restrict_self, rules, 0) ? 1u << SANDBOX_LANDLOCK : 0;
}

/* ---- Privileges ------------------------------------------------------------------------------------------------- */
static bool has_capability(unsigned cap)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {0};
    return !syscall(SYS_capget, &head, have) && have[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

/* Not if the parent, which has the same capabilities, could not end another user's process. */
static int become_nobody(void)
{
    if (geteuid() != 0 || !has_capability(CAP_KILL))
        return 0;
    if (setgroups(0, NULL) && errno != EPERM) /* EPERM: a user namespace that denies setgroups; it has none to drop */
        return -errno;
    /* EINVAL: a user namespace without this id; EPERM: a container without CAP_SETUID. The
     * capability sets are emptied all the same, and files cannot be opened by anybody. */
    if (setresgid(NOBODY, NOBODY, NOBODY) && errno != EINVAL && errno != EPERM)
        return -errno;
    if (setresuid(NOBODY, NOBODY, NOBODY) && errno != EINVAL && errno != EPERM)
        return -errno;
    return 0;
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &head, none) ? -errno : 0;
}

/* So that not even a file with capabilities could give them back; ends at the first number the kernel does not know. */
static void drop_bounding_set(void)
{
    for (unsigned cap = 0; !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);)
        cap++;
}

static int drop_privileges(void)
{
    drop_bounding_set(); /* while there still is CAP_SETPCAP */
    int rc = become_nobody();
    if (rc || (rc = drop_capabilities()))
        return rc;
    /* After the change of user, which resets both. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    return 0;
}

/* ---- Limits ----------------------------------------------------------------------------------------------------- */
/* What the process has already: code, libraries, and in sanitised builds terabytes of reserved shadow. In bytes. */
static void memory_now(rlim_t *all, rlim_t *private)
{
    unsigned long pages[6] = {0}; /* size resident shared text 0 data */
    AUTO_FCLOSE FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu %lu %lu %lu %lu %lu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]) < 6)
        pages[0] = pages[5] = 0;
    *all = pages[0] * (rlim_t)sysconf(_SC_PAGESIZE);
    *private = pages[5] * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int set_limits(const struct sandbox *s, rlim_t all, rlim_t private)
{
    const struct {
        int resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_AS, all + s->memory}, {RLIMIT_DATA, private + s->memory / 4},
        {RLIMIT_CPU, s->cpu_seconds}, {RLIMIT_FSIZE, s->file_size},
        {RLIMIT_NOFILE, FILES},       {RLIMIT_CORE, 0},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        struct rlimit r;
        if (getrlimit(limits[i].resource, &r))
            return -errno;
        r.rlim_cur = limits[i].value < r.rlim_max ? limits[i].value : r.rlim_max;
        r.rlim_max = r.rlim_cur;
        if (setrlimit(limits[i].resource, &r))
            return -errno;
    }
    return 0;
}

static void volunteer_for_oom(void)
{
    AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) != 4)
        return; /* a wish, not a condition */
}

/* ---- System calls ----------------------------------------------------------------------------------------------- */
struct allowed {
    int nr;
    unsigned nargs;
    struct scmp_arg_cmp arg;
};
#define ANY(name)          \
    {                      \
        SCMP_SYS(name), 0, \
        {                  \
            0              \
        }                  \
    }
#define ARG(name, i, value)                                     \
    {                                                           \
        SCMP_SYS(name), 1, SCMP_CMP64(i, SCMP_CMP_EQ, value, 0) \
    }
#define BITS(name, i, mask, value)                                        \
    {                                                                     \
        SCMP_SYS(name), 1, SCMP_CMP64(i, SCMP_CMP_MASKED_EQ, mask, value) \
    }

static const struct allowed allow[] = {
    /* what it was given */
    ANY(read),
    ANY(pread64),
    ANY(readv),
    ANY(preadv),
    ANY(lseek),
    ANY(fstat),
    ANY(close),
    /* memory, none of it executable */
    BITS(mmap, 2, PROT_EXEC, 0),
    BITS(mprotect, 2, PROT_EXEC, 0),
    ANY(munmap),
    ANY(mremap),
    ANY(madvise),
    ANY(brk),
    /* the reply */
    ARG(memfd_create, 1, MFD_CLOEXEC | MFD_ALLOW_SEALING),
    ANY(write),
    ANY(pwrite64),
    ANY(ftruncate),
    ARG(fcntl, 1, F_ADD_SEALS),
    ARG(fcntl, 1, F_GET_SEALS),
    ARG(fcntl, 1, F_GETFL),
    ARG(fcntl, 1, F_GETFD),
    ANY(recvmsg),
    ANY(sendmsg),
    /* the C library's needs; sysinfo is qsort asking how much memory there is */
    ANY(futex),
    ANY(getrandom),
    ANY(sysinfo),
    ANY(clock_gettime),
    ANY(restart_syscall),
    ANY(rt_sigreturn),
    ANY(exit),
    ANY(exit_group),
#if SANITIZED
    ANY(getpid),
    ANY(gettid),
    ANY(sched_yield),
    ANY(sigaltstack),
    ANY(rt_sigaction),
    ANY(rt_sigprocmask),
#endif
};

/* Newer C libraries spell fstat(fd) as newfstatat(fd, "", AT_EMPTY_PATH). The filter cannot read the path, so the call
 * is trapped and done as what it means. With any other path it is what the process is killed for. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    bool is_fstat = info->si_syscall == SYS_newfstatat && r[REG_R10] == AT_EMPTY_PATH && !*(const char *)r[REG_RSI];
    long rc = syscall(is_fstat ? SYS_fstat : SYS_kill, r[REG_RDI], r[REG_RDX]);
    r[REG_RAX] = rc < 0 ? -errno : rc;
}

static int trap_fstat(scmp_filter_ctx ctx)
{
    struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigset_t traps;
    sigemptyset(&traps);
    sigaddset(&traps, SIGSYS);
    if (sigaction(SIGSYS, &a, NULL) || sigprocmask(SIG_UNBLOCK, &traps, NULL))
        return -errno;
    return seccomp_rule_add(ctx, SCMP_ACT_TRAP, SCMP_SYS(newfstatat), 0);
}

static int filter_calls(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!ctx)
        return -ENOMEM;
    int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    /* Linux before 5.16 would slow the process down against speculation in code that it runs for others: it runs none.
     */
    (void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_SSB, 1);
    for (size_t i = 0; !rc && i < sizeof(allow) / sizeof(*allow); i++)
        rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, allow[i].nr, allow[i].nargs, &allow[i].arg);
    if (!rc)
        rc = trap_fstat(ctx);
    if (!rc)
        rc = seccomp_load(ctx);
    if (!rc)
        seccomp_release(ctx);
    return rc;
}

const struct sandbox_layer_text *sandbox_layer_text(unsigned layer)
{
    static const struct sandbox_layer_text texts[] = {
#define TEXT(name, slug, text) {slug, text},
        SANDBOX_LAYERS(TEXT)
#undef TEXT
    };
    return layer < SANDBOX_LAYER_COUNT ? &texts[layer] : NULL;
}

int sandbox_enter(const struct sandbox *s, unsigned *layers)
{
    rlim_t all, private;
    memory_now(&all, &private); /* while there is a /proc */
    volunteer_for_oom();
    int rc = keep_only(s->socket);
    if (rc)
        return rc;
    *layers = leave_places();
    if ((rc = drop_privileges()) || (rc = set_limits(s, all, private)))
        return rc;
    *layers |= enter_landlock();
    if (getuid() && getgid())
        *layers |= 1u << SANDBOX_USER;
    return filter_calls();
}
