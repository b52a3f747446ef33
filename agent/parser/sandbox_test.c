/* The sandbox that the parser's child lives in: each way out of it ends the process, and it has no privilege. */
#include "parser/sandbox.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "parser/doubles_test.h"
#include "parser/protocol.h"
#include "base/child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char probe_stat[256];
static const struct {
    const char *name;
    long nr, args[6];
} probes[] = {
    {"open", SYS_open, {(long)"/", O_RDONLY}},
    {"openat", SYS_openat, {AT_FDCWD, (long)"/", O_RDONLY}},
    {"stat of a path", SYS_newfstatat, {AT_FDCWD, (long)"/", 0, 0}},
    {"stat of a path, as if of none", SYS_newfstatat, {AT_FDCWD, (long)"/", (long)probe_stat, AT_EMPTY_PATH}},
    {"socket", SYS_socket, {AF_INET, SOCK_STREAM, 0}},
    {"execve", SYS_execve, {(long)"/bin/true", 0, 0}},
    {"fork", SYS_clone, {SIGCHLD}},
    {"ptrace", SYS_ptrace, {PTRACE_TRACEME}},
    {"kill", SYS_kill, {1, 0}},
    {"executable memory", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
    {"code", SYS_mprotect, {0, 4096, PROT_EXEC}},
    {"prctl", SYS_prctl, {4, 1}},
    {"bpf", SYS_bpf, {0, 0, 0}},
    {"memfd with other flags", SYS_memfd_create, {(long)"x", MFD_HUGETLB}},
    {"dup", SYS_fcntl, {0, F_DUPFD, 0}},
    {"ioctl", SYS_ioctl, {0, 0, 0}},
};

static int wait_status_of_probe(size_t i)
{
    int status = 0, ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -1;
    pid_t pid = fork();
    if (!pid) {
        struct sandbox s = {.socket = ends[0], .memory = 1 << 30, .file_size = 1 << 20, .cpu_seconds = 10};
        unsigned layers;
        if (sandbox_enter(&s, &layers))
            _exit(1);
        const long *a = probes[i].args;
        syscall(probes[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]);
        _exit(2);
    }
    close(ends[0]);
    close(ends[1]);
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

TEST(sandbox_kills_what_tries_to_get_out)
{
    for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
        int status = wait_status_of_probe(i);
        if (!WIFSIGNALED(status))
            printf("  the probe: %s\n", probes[i].name);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGSYS);
    }
}

/* The value of a field of /proc/PID/status, its blanks dropped. */
static void status_field(pid_t pid, const char *field, char out[64])
{
    char path[64];
    AUTO_FREE char *text = NULL;
    size_t len;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    out[0] = 0;
    if (fs_read_file(path, 1 << 16, &text, &len))
        return;
    const char *at = strstr(text, field);
    at = at ? at + strlen(field) : "";
    at += strspn(at, " \t");
    snprintf(out, 64, "%.*s", (int)strcspn(at, "\n"), at);
}

TEST(sandbox_leaves_no_privilege)
{
    static const struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &limits, ROLE_WORKER), 0);
    static const struct {
        const char *field, *value;
        bool of_root; /* only root has it to give up */
    } left[] = {{"\nNoNewPrivs:", "1", false},
                {"\nSeccomp:", "2", false},
                {"\nCapPrm:", "0000000000000000", false},
                {"\nCapBnd:", "0000000000000000", true},
                {"\nUid:", "65534\t65534\t65534\t65534", true},
                {"\nGroups:", "", true}};
    for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
        char v[64];
        if (left[i].of_root && geteuid())
            continue;
        status_field(parser_pid(p), left[i].field, v);
        CHECK_STR(v, left[i].value);
    }
}

/* fstat is what the C library makes of it: the call that can also take a path. */
TEST(sandbox_lets_files_be_examined)
{
    int status = 0, ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    if (!pid) {
        struct sandbox s = {.socket = ends[0], .memory = 1 << 30, .file_size = 1 << 20, .cpu_seconds = 10};
        struct stat st;
        unsigned layers;
        if (sandbox_enter(&s, &layers))
            _exit(1);
        long rc = syscall(SYS_newfstatat, SANDBOX_SOCKET, "", &st, AT_EMPTY_PATH);
        long bad = syscall(SYS_newfstatat, 1000, "", &st, AT_EMPTY_PATH) == -1 && errno == EBADF;
        _exit(!rc && S_ISSOCK(st.st_mode) && bad ? 42 : 2);
    }
    close(ends[0]);
    close(ends[1]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

TEST(sandbox_tells_what_holds)
{
    static const struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &limits, ROLE_WORKER), 0);
    unsigned layers = parser_layers(p);
    CHECK_EQ(layers >> SANDBOX_LAYER_COUNT, 0);
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
    CHECK_EQ(layers >> SANDBOX_LANDLOCK & 1, abi > 0);
    if (!geteuid())
        CHECK(layers >> SANDBOX_USER & 1);
    CHECK(sandbox_layer_text(SANDBOX_LAYER_COUNT - 1) && !sandbox_layer_text(SANDBOX_LAYER_COUNT));
}
