/* The parser process against children that die, hang, lie (doubles_test.h) or try to get out. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "parser/doubles_test.h"
#include "parser/protocol.h"
#include "parser/synth_table.h"
#include "base/child.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- Helpers ---------------------------------------------------------------------------------------------------- */
static const struct parser_limits quick = {.timeout_ms = 300, .memory = 256 << 20};
static const struct parser_limits patient = PARSER_LIMITS_DEFAULT;

static int identify(struct parser *p, const char *order)
{
    AUTO_CLOSE int fd = file_saying(order);
    struct table_key key;
    return parser_identify(p, fd, &key);
}

static bool gone(pid_t pid)
{
    return kill(pid, 0) && errno == ESRCH;
}

/* ---- Life and death --------------------------------------------------------------------------------------------- */
TEST(parser_answers_and_keeps_its_child)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    pid_t pid = parser_pid(p);
    u8 secret[16] = "0123456789abcde";
    parser_set_secret(p, secret);
    AUTO_CLOSE int fd = file_saying("ok");
    struct table_key key;
    CHECK_EQ(parser_identify(p, fd, &key), 0);
    CHECK(memcmp(key.digest, secret, 16) == 0);
    CHECK_EQ(identify(p, "fail"), -EBADMSG);
    CHECK_EQ(parser_pid(p), pid);
    CHECK_EQ(parser_restarts(p), 0);
    parser_free(&p);
    CHECK(gone(pid));
}

TEST(parser_outlives_a_child_that_dies)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    pid_t pid = parser_pid(p);
    CHECK_EQ(identify(p, "die"), -EPIPE);
    CHECK(gone(pid));
    CHECK_EQ(parser_pid(p), 0);
    CHECK_EQ(identify(p, "ok"), 0);
    CHECK_EQ(identify(p, "crash"), -EPIPE);
    CHECK_EQ(identify(p, "open"), -EPIPE); /* SIGSYS */
    CHECK_EQ(identify(p, "ok"), 0);
    CHECK_EQ(parser_restarts(p), 3);
}

TEST(parser_outlives_a_child_killed_in_a_request)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    pid_t victim = parser_pid(p), killer = fork();
    if (!killer) {
        usleep(100000);
        kill(victim, SIGKILL);
        _exit(0);
    }
    CHECK_EQ(identify(p, "hang"), -EPIPE);
    waitpid(killer, NULL, 0);
    CHECK_EQ(identify(p, "ok"), 0);
}

static void *churn(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        free(malloc(1000));
    return NULL;
}

TEST(parser_restarts_while_other_threads_run)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    bool stop = false;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, churn, &stop), 0);
    int lost = 0, good = 0;
    for (int i = 0; i < START_BURST - 1; i++) {
        lost += identify(p, "die") == -EPIPE;
        good += identify(p, "ok") == 0;
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK_EQ(lost, START_BURST - 1);
    CHECK_EQ(good, START_BURST - 1);
}

TEST(parser_forgives_a_child_killed_between_requests)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    siginfo_t info;
    kill(parser_pid(p), SIGKILL);
    CHECK_EQ(waitid(P_PID, (id_t)parser_pid(p), &info, WEXITED | WNOWAIT), 0);
    CHECK_EQ(identify(p, "ok"), 0);
    CHECK_EQ(parser_restarts(p), 1);
}

TEST(parser_kills_a_child_that_hangs)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &quick, ROLE_WORKER), 0);
    pid_t pid = parser_pid(p);
    uint64_t t = now_ns();
    CHECK_EQ(identify(p, "hang"), -ETIMEDOUT);
    t = now_ns() - t;
    CHECK(t >= 300000000ull && t < 5000000000ull);
    CHECK(gone(pid));
    CHECK_EQ(identify(p, "ok"), 0);
}

/* Its counter never goes back, and max-cpu counts what a child did that is no more. */
TEST(parser_counts_the_time_of_children_that_ended)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &quick, ROLE_WORKER), 0);
    CHECK_EQ(identify(p, "hang"), -ETIMEDOUT);
    CHECK_EQ(parser_pid(p), 0);
    u64 one = parser_cpu_ns(p);
    CHECK(one >= 5000000); /* of 300 ms, on a machine that may be busy */
    CHECK_EQ(identify(p, "ok"), 0);
    u64 two = parser_cpu_ns(p);
    CHECK(two > one);
    CHECK_EQ(identify(p, "hang"), -ETIMEDOUT);
    CHECK(parser_cpu_ns(p) >= two + 5000000);
    parser_rest(p);
    CHECK(parser_cpu_ns(p) >= two + 5000000);
}

TEST(parser_bounds_memory)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &quick, ROLE_WORKER), 0); /* 64 MiB private; the order is for 1 GiB */
    CHECK_EQ(identify(p, "eat"), -ENOMEM);
    CHECK_EQ(identify(p, "fill"), -EPIPE); /* SIGXFSZ */
    CHECK_EQ(identify(p, "ok"), 0);
}

TEST(parser_start_fails_with_a_reason)
{
    struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &quick, ROLE_MUTE), -EPIPE);
    CHECK_EQ(parser_new_as(&p, &quick, ROLE_NAKED), -EPERM);
    CHECK(!p);
}

TEST(parser_refuses_files_the_child_could_write_or_block_on)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    struct table_key key;
    AUTO_CLOSE int rw = memfd_create("rw", MFD_CLOEXEC);
    CHECK_EQ(parser_identify(p, rw, &key), -EINVAL);
    CHECK_EQ(parser_identify(p, -1, &key), -EBADF);
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    int rc = parser_identify(p, ends[0], &key);
    close(ends[0]);
    close(ends[1]);
    CHECK_EQ(rc, -ENOEXEC);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_waits_after_many_losses)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_WORKER), 0);
    uint64_t t = now_ns();
    for (int i = 0; i < START_BURST + 2; i++)
        CHECK_EQ(identify(p, "die"), -EPIPE);
    CHECK(now_ns() - t >= START_EVERY_NS / 2); /* the first start was free, and so were START_BURST more */
}

/* ---- Liars ------------------------------------------------------------------------------------------------------ */
TEST(parser_believes_no_liar)
{
    static const char *const lies[] = {"image", "unsealed", "short",          "long",     "id",    "status",
                                       "errno", "flags",    "size",           "oversize", "no-fd", "two-fds",
                                       "pipe",  "unasked",  "failed-with-fd", "wants"};
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        CLEANUP(parser_free) struct parser *p = NULL;
        CHECK_EQ(parser_new_as(&p, &patient, ROLE_LIAR), 0);
        pid_t pid = parser_pid(p);
        AUTO_CLOSE int fd = file_saying(lies[i]);
        struct parser_reply reply = {.len = 77};
        int rc = parser_table(p, fd, &(struct table_key){0}, &reply);
        if (rc != -EPROTO)
            printf("  the lie: %s\n", lies[i]);
        CHECK_EQ(rc, -EPROTO);
        CHECK_EQ(reply.len, 77);
        CHECK(gone(pid));
    }
}

TEST(parser_believes_no_liar_about_names)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_LIAR), 0);
    AUTO_CLOSE int fd = file_saying("image");
    struct parser_reply reply;
    struct names view;
    u64 offsets[2] = {4096, 8192};
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), offsets, 2, &reply, &view), -EPROTO);
    CHECK_EQ(parser_name_index(p, &(struct names_fds)NAMES_FDS_OF(fd), &reply), -EPROTO);
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), offsets, PARSER_MAX_OFFSETS + 1, &reply, &view),
             -E2BIG);
}
