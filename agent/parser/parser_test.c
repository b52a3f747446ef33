/* The parser process against children that die, hang, lie (doubles_test.h) or try to get out. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/dwarf.h"
#include "dwarf/name_index.h"
#include "cfi/fixture.h"
#include "parser/doubles_test.h"
#include "parser/protocol.h"
#include "parser/synth_table.h"
#include "base/child.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- Helpers ---------------------------------------------------------------------------------------------------- */
static const struct parser_limits quick = {.timeout_ms = 300, .memory = 256 << 20};
static const struct parser_limits patient = PARSER_LIMITS_DEFAULT;

/* A regular file, opened read-only, that says `order`. */
static int file_saying(const char *order)
{
    char path[64];
    AUTO_CLOSE int fd = memfd_create("order", MFD_CLOEXEC);
    if (fd < 0 || fs_write_all(fd, order, strlen(order)))
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

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

/* ---- The real work ------------------------------------------------------------------------------------------------
 */
TEST(parser_reads_a_real_file)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new(&p, &limits), 0);
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct table_key key, again;
    CHECK_EQ(parser_identify(p, fd, &key), 0);
    CHECK_EQ(parser_identify(p, fd, &again), 0);
    CHECK(memcmp(&key, &again, sizeof(key)) == 0);
    CLEANUP(parser_reply_free) struct parser_reply image = {0}, names = {0};
    CHECK_EQ(parser_table(p, fd, &key, &image), 0);
    const struct xp_table *t = image.data;
    CHECK(t->nrows > 100 && t->nblocks > 10);
    u64 offsets[2] = {t->lo, 0xffffffffffull};
    struct names view;
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), offsets, 2, &names, &view), 0);
    CHECK_EQ(view.n, 2);
    CHECK(view.first[2] >= 2);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_keys_cannot_be_foreseen)
{
    static const u8 zeros[16];
    struct table_key key[3];
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    for (unsigned i = 0; i < 2; i++) {
        CLEANUP(parser_free) struct parser *p = NULL;
        CHECK_EQ(parser_new(&p, &patient), 0);
        CHECK_EQ(parser_identify(p, fd, &key[i]), 0);
    }
    CHECK_EQ(table_identify(fd, zeros, &key[2]), 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(!table_key_equal(&key[i], &key[(i + 1) % 3]));
}

TEST(parser_synthesises_rows)
{
    char path[4096];
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    struct table_key plain, whole, again;
    struct parser_synth s = {0}, untouched = {.len = 77};
    CHECK_EQ(parser_new(&p, &limits), 0);
    snprintf(path, sizeof(path), "%s/parser/trampoline.so", test_data());
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_EQ(parser_identify(p, fd, &plain), 0);
    CHECK_EQ(parser_synth_identify(p, fd, &whole), 0);
    CHECK_EQ(parser_synth_identify(p, fd, &again), 0);
    CHECK(table_key_equal(&whole, &again) && !table_key_equal(&whole, &plain));
    CHECK_EQ(parser_synth(p, fd, &whole, &s), 0);
    CHECK(s.table && s.table->source_rows[XP_SOURCE_SYNTH] && s.counts.claimed_bytes && !s.dropped);
    parser_reply_free(&s.bytes);
    static const u32 wanted[] = {0, 7};
    CHECK_EQ(parser_stretches(p, fd, -1, wanted, 2, &s), 0); /* nothing in it has frames */
    CHECK(!s.table && s.counts.gap_bytes && !s.counts.claimed_bytes);
    parser_reply_free(&s.bytes);
    CHECK_EQ(parser_stretches(p, fd, -1, wanted, PARSER_MAX_STRETCHES + 1, &s), -E2BIG);
    AUTO_CLOSE int text = file_saying("#!/bin/sh");
    CHECK_EQ(parser_synth(p, text, NULL, &untouched), -ENOEXEC);
    CHECK_EQ(parser_stretches(p, text, -1, wanted, 2, &untouched), -ENOEXEC);
    CHECK_EQ(parser_restarts(p), 0);
    parser_free(&p);
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_LIAR), 0);
    AUTO_CLOSE int lie = file_saying("image");
    CHECK_EQ(parser_synth(p, lie, NULL, &untouched), -EPROTO);
    CHECK_EQ(parser_stretches(p, lie, -1, wanted, 2, &untouched), -EPROTO);
    CHECK_EQ(untouched.len, 77);
}

/* With a name index the file itself is not read. */
TEST(parser_makes_a_name_index_and_reads_it)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply index = {0}, with = {0}, without = {0};
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), text = file_saying("no program");
    struct names_fds file = NAMES_FDS_OF(fd), other = NAMES_FDS_OF(text);
    struct names a, b;
    CHECK_EQ(parser_new(&p, &limits), 0);
    CHECK_EQ(parser_name_index(p, &file, &index), 0);
    AUTO_CLOSE int names = fs_sealed_memfd("index", index.data, index.len);
    struct name_index x;
    CHECK_EQ(name_index_open(&x, index.data, index.len), 0);
    u64 offset = x.h->base;
    other.names = names;
    CHECK_EQ(parser_names(p, &file, &offset, 1, &without, &a), 0);
    CHECK_EQ(parser_names(p, &other, &offset, 1, &with, &b), 0);
    CHECK(*(a.strings + a.frames[0].name));
    CHECK_STR(b.strings + b.frames[0].name, a.strings + a.frames[0].name);
    parser_reply_free(&with);
    other.names = text; /* one that makes no sense is none */
    CHECK_EQ(parser_names(p, &other, &offset, 1, &with, &b), -ENOEXEC);
    other.names = -1;
    parser_reply_free(&index);
    CHECK_EQ(parser_name_index(p, &other, &index), -ENOEXEC);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_makes_a_line_index_and_reads_it)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply lines = {0}, with = {0}, without = {0};
    CHECK_EQ(parser_new(&p, &limits), 0);
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(parser_lines(p, &(struct dwarf_fds)DWARF_FDS_OF(fd), &lines), 0);
    AUTO_CLOSE int index = fs_sealed_memfd("index", lines.data, lines.len);
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(elf_open(&e, fd), 0);
    const struct dwarf_index_header *h = lines.data;
    const struct elf_segment *s = elf_segment_at(&e, h->base, PF_X);
    CHECK(s);
    u64 offset = h->base - s->vaddr + s->offset;
    struct names view;
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = fd, .index = index, .symbols = -1, .names = -1}, &offset, 1,
                          &with, &view),
             0);
    CHECK(strstr(view.strings + view.frames[0].file, ".c") && view.frames[0].line);
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), &offset, 1, &without, &view), 0);
    CHECK_EQ(view.frames[0].line, 0);
    AUTO_CLOSE int text = file_saying("no index");
    parser_reply_free(&with);
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = fd, .index = text, .symbols = -1, .names = -1}, &offset, 1,
                          &with, &view),
             0); /* one that makes no sense is none */
    CHECK_EQ(view.frames[0].line, 0);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_says_what_is_wrong_with_a_file)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new(&p, &limits), 0);
    struct parser_reply reply;
    struct table_key key = {0};
    AUTO_CLOSE int text = file_saying("#!/bin/sh");
    CHECK_EQ(parser_table(p, text, &key, &reply), -ENOEXEC);
    CHECK_EQ(parser_identify(p, text, &key), -ENOEXEC);
    struct facts facts;
    struct debug_links links;
    struct names view;
    u64 offset = 0;
    CHECK_EQ(parser_synth_identify(p, text, &key), -ENOEXEC);
    CHECK_EQ(parser_facts(p, text, &facts), -ENOEXEC);
    CHECK_EQ(parser_links(p, text, false, &links), -ENOEXEC);
    CHECK_EQ(parser_lines(p, &(struct dwarf_fds)DWARF_FDS_OF(text), &reply), -ENOEXEC);
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(text), &offset, 1, &reply, &view), -ENOEXEC);
    AUTO_CLOSE int empty = file_saying("");
    CHECK(parser_table(p, empty, &key, &reply) < 0);
    CHECK_EQ(parser_restarts(p), 0);
}

static void count_names(void *n, const struct names *names)
{
    *(u32 *)n += names->n;
}

/* Of a map that a runtime wrote. */
TEST(parser_reads_maps_of_runtimes)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    AUTO_CLOSE int map = file_saying("1000 100 one\n2000 10 two\n");
    const u64 addresses[] = {0x1080, 0x1100, 0x2000};
    struct names v;
    u32 n = 0;
    CHECK_EQ(parser_new(&p, &limits), 0);
    CHECK_EQ(parser_jit(p, map, -1, addresses, 3, &reply, &v), 0);
    CHECK_EQ(v.n, 3);
    CHECK_STR(v.strings + v.frames[v.first[0]].name, "one");
    CHECK_STR(v.strings + v.frames[v.first[1]].name, "");
    CHECK_STR(v.strings + v.frames[v.first[2]].name, "two");
    CHECK_EQ(parser_jit_read(p, map, -1, addresses, 3, count_names, &n), 0);
    CHECK_EQ(n, 3);
    CHECK_EQ(parser_jit_read(p, -1, -1, addresses, 3, count_names, &n), -EBADF);
    CHECK_EQ(n, 3);
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
