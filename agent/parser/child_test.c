/* What a child is like from outside: its limits, its session, its end. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "parser/client_internal.h"
#include "parser/doubles_test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct parser_limits small = {.timeout_ms = 3000, .memory = 256 << 20};

static char *read_proc(pid_t pid, const char *what)
{
    char path[64], *text = NULL;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
    return fs_read_file(path, 1 << 16, &text, NULL) ? NULL : text;
}

/* The first number behind this text. */
static u64 number_behind(const char *text, const char *label, int base)
{
    const char *at = text ? strstr(text, label) : NULL;
    return at ? strtoull(at + strlen(label), NULL, base) : ~0ull;
}

TEST(child_has_limits)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &small, ROLE_WORKER), 0);
    AUTO_FREE char *limits = read_proc(parser_pid(p), "limits"), *status = read_proc(parser_pid(p), "status");
    CHECK(limits && status);
    CHECK_EQ(number_behind(limits, "Max cpu time", 10), 2 * 4 + 1); /* three seconds and one, twice */
    CHECK_EQ(number_behind(limits, "Max file size", 10), PARSER_MAX_REPLY);
    CHECK_EQ(number_behind(limits, "Max open files", 10), 16);
    CHECK_EQ(number_behind(limits, "Max core file size", 10), 0);
    u64 data = number_behind(status, "VmData:", 10) << 10, all = number_behind(status, "VmSize:", 10) << 10;
    u64 data_limit = number_behind(limits, "Max data size", 10), limit = number_behind(limits, "Max address space", 10);
    CHECK(data_limit > data + (48 << 20) && data_limit < data + (80 << 20)); /* a quarter */
    CHECK(limit > all + (200 << 20) && limit < all + (312 << 20));
}

TEST(child_is_apart)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    struct stat st;
    char path[64];
    CHECK_EQ(parser_new_as(&p, &small, ROLE_WORKER), 0);
    pid_t pid = parser_pid(p);
    AUTO_FREE char *name = read_proc(pid, "comm"), *oom = read_proc(pid, "oom_score_adj");
    CHECK_STR(name, "xprof-parser\n");
    CHECK_STR(oom, "1000\n");
    CHECK_EQ(getsid(pid), pid); /* the terminal's Ctrl-C is not for it */
    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    CHECK(!stat(path, &st) && st.st_uid == 0); /* not of the user that it runs as, who might look into it */
}

/* Is this process allowed what the sandbox does as far as it is? */
static bool may_leave_places(void)
{
    int status = 1;
    pid_t pid = fork();
    if (!pid)
        _exit(unshare(CLONE_NEWNET | CLONE_NEWIPC) != 0);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool is_elsewhere(pid_t pid, const char *what)
{
    char path[64];
    struct stat ours, its;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
    int rc = stat(path, &its);
    snprintf(path, sizeof(path), "/proc/self/%s", what);
    return !rc && !stat(path, &ours) && (its.st_ino != ours.st_ino || its.st_dev != ours.st_dev);
}

TEST(child_is_in_an_empty_place)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    if (geteuid() || !may_leave_places())
        SKIP("namespaces cannot be left without privileges");
    CHECK_EQ(parser_new_as(&p, &small, ROLE_WORKER), 0);
    CHECK(is_elsewhere(parser_pid(p), "ns/net"));
    CHECK(is_elsewhere(parser_pid(p), "ns/ipc"));
    CHECK(is_elsewhere(parser_pid(p), "root/"));
    CHECK(is_elsewhere(parser_pid(p), "cwd/"));
}

/* Whatever its parent ignores or blocks. */
TEST(child_takes_signals)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    sigset_t some, old, now;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGTERM);
    sigprocmask(SIG_BLOCK, &some, &old);
    sighandler_t before = signal(SIGHUP, SIG_IGN);
    int rc = parser_new_as(&p, &small, ROLE_WORKER);
    sigprocmask(SIG_SETMASK, NULL, &now);
    signal(SIGHUP, before);
    sigprocmask(SIG_SETMASK, &old, NULL);
    CHECK_EQ(rc, 0);
    CHECK(sigismember(&now, SIGUSR2) && sigismember(&now, SIGTERM) && !sigismember(&now, SIGINT));
    AUTO_FREE char *status = read_proc(parser_pid(p), "status");
    CHECK_EQ(number_behind(status, "SigBlk:", 16), 0);
    u64 libc = 1ull << (32 - 1) | 1ull << (33 - 1); /* the C library keeps these two to itself */
    CHECK_EQ(number_behind(status, "SigIgn:", 16) & ~libc, 0);
}

/* What the parent forgot to mark as close-on-exec is not the child's either, nor are its input and output. */
TEST(child_has_no_descriptors_of_its_parent)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    int ends[2], high, kept[2], rc;
    CHECK_EQ(pipe(ends), 0);
    high = fcntl(ends[1], F_DUPFD, 500);
    for (int i = 0; i < 2; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
        dup2(ends[1], i);
    }
    rc = parser_new_as(&p, &small, ROLE_WORKER);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    close(ends[1]);
    close(high);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    poll(&end, 1, 0);
    close(ends[0]);
    CHECK_EQ(rc, 0);
    CHECK(end.revents & POLLHUP); /* nobody has the other end */
}

static int identify(struct parser *p)
{
    struct table_key key;
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    return parser_identify(p, fd, &key);
}

/* After so many requests it leaves, which is no loss. */
TEST(child_leaves_when_it_is_worn_out)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &small, ROLE_WORKER), 0);
    pid_t first = parser_pid(p);
    for (int i = 0; i < 999; i++) {
        CHECK_EQ(identify(p), 0);
        CHECK_EQ(parser_pid(p), first);
    }
    CHECK_EQ(identify(p), 0);
    CHECK_EQ(parser_pid(p), 0);
    CHECK_EQ(identify(p), 0);
    CHECK(parser_pid(p) && parser_pid(p) != first);
    CHECK_EQ(parser_restarts(p), 0);
}

/* Every request has a number of its own, which is never 0. */
TEST(child_is_asked_with_numbers)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &small, ROLE_WORKER), 0);
    CHECK_EQ(identify(p), 0);
    CHECK_EQ(identify(p), 0);
    CHECK_EQ(p->id, 2);
    p->id = UINT32_MAX;
    CHECK_EQ(identify(p), 0);
    CHECK_EQ(p->id, 1);
    parser_rest(p);
    CHECK_EQ(parser_pid(p), 0);
    CHECK_EQ(identify(p), 0);
    CHECK_EQ(parser_restarts(p), 0); /* it was sent away */
    parser_free(&p);
    CHECK(!p);
}

TEST(child_names_nothing_when_nothing_is_asked)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    struct names view;
    CHECK_EQ(parser_new(&p, &small), 0);
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), NULL, 0, &reply, &view), 0);
    CHECK_EQ(view.n, 0);
}

/* Descriptors that could be written to are not for the child, whichever slot they are for. */
TEST(child_gets_no_file_that_it_could_write_to)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    AUTO_CLOSE int writable = memfd_create("writable", MFD_CLOEXEC);
    AUTO_CLOSE int path = open("/", O_PATH | O_CLOEXEC);
    struct names view;
    u64 offset = 0;
    CHECK_EQ(parser_new(&p, &small), 0);
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = fd, .index = -1, .symbols = writable, .names = -1}, &offset, 1,
                          &reply, &view),
             -EINVAL);
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = path, .index = -1, .symbols = -1, .names = -1}, &offset, 1,
                          &reply, &view),
             -ENOEXEC);
    CHECK(!reply.data);
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = fd, .index = -1, .symbols = fd, .names = -1}, &offset, 1,
                          &reply, &view),
             0);
}

/* Without descriptors there is no socket to speak to a child: that is not the file's fault, and goes by. */
TEST(child_that_cannot_be_had)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    struct rlimit all;
    CHECK_EQ(parser_new_as(&p, &small, ROLE_WORKER), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    struct table_key key;
    struct rlimit none = {.rlim_cur = 0, .rlim_max = all.rlim_max};
    parser_rest(p);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = parser_identify(p, fd, &key);
    setrlimit(RLIMIT_NOFILE, &all);
    CHECK_EQ(rc, -ECHILD);
    CHECK_EQ(parser_pid(p), 0);
    CHECK_EQ(identify(p), 0);
}
