/* Files with the real parser and the kernel side of probe/fake_test.h: how they are built, shared, tried again, given
 * up, and get rows for code without unwind information.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "cache/cache.h"
#include "files/files_internal.h"
#include "parser/parser.h"
#include "probe/fake_test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct shelf {
    char dir[64];
    struct probe *probe;
    struct parser *parser;
    struct cache *cache;
    struct files *files;
};

static void shelf_free(struct shelf *s)
{
    char command[128];
    files_free(&s->files);
    cache_free(&s->cache);
    parser_free(&s->parser);
    probe_free(&s->probe);
    snprintf(command, sizeof(command), "rm -rf %s", s->dir);
    if (*s->dir && system(command))
        printf("  %s stays\n", s->dir);
}
#define AUTO_SHELF CLEANUP(shelf_free) struct shelf

static int shelf_new(struct shelf *s, bool cached)
{
    char why[256];
    struct probe_config c = {.table_bytes = 16 << 20};
    strcpy(s->dir, "/tmp/xprof-test-XXXXXX");
    if (!mkdtemp(s->dir))
        return -errno;
    int rc = probe_new(&s->probe, &c, why, sizeof(why));
    rc = rc ? rc : parser_new(&s->parser, &(struct parser_limits)PARSER_LIMITS_DEFAULT);
    rc = rc || !cached ? rc : cache_open(&s->cache, s->dir, 1 << 30);
    return rc ? rc : files_new(&s->files, s->probe, s->parser, s->cache, true);
}

static struct xp_file_key key_of(u32 id, u64 size)
{
    return (struct xp_file_key){.ino = 1000 + id, .dev = 1, .size = size};
}

/* Announces a fixture under this id. */
static const struct file *build(struct shelf *s, u32 id, const char *fixture)
{
    char path[4096];
    struct stat st = {0};
    snprintf(path, sizeof(path), "%s/%s", test_data(), fixture);
    struct file_job job = {.event.id = id, .fd = open(path, O_RDONLY | O_CLOEXEC), .path = strdup(path)};
    if (fstat(job.fd, &st))
        job.error = -errno;
    job.event.key = key_of(id, (u64)st.st_size);
    files_build(s->files, &job);
    return files_get(s->files, id);
}

/* One that could not be opened. */
static const struct file *fail(struct shelf *s, u32 id, int error)
{
    struct file_job job = {.event = {.id = id, .key = key_of(7, 1)}, .fd = -1, .error = error};
    files_build(s->files, &job);
    return files_get(s->files, id);
}

static struct xp_file published(struct shelf *s, const struct file *f)
{
    return fake_file(s->probe, &f->key);
}

TEST(files_of_the_same_content_share_a_table)
{
    AUTO_SHELF s = {.dir = ""};
    size_t n;
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *one = build(&s, 10, "elf/cfi.so");
    CHECK(one && !one->error);
    CHECK_EQ(strlen(one->build_id), 40);
    CHECK_EQ(published(&s, one).state, XP_FILE_READY);
    CHECK_EQ(published(&s, one).id, 10);
    CHECK(one->rows > 0 && one->fd >= 0 && one->value.nblocks > 0);
    u32 uid = one->value.uid, rows = one->rows;
    const struct file *two = build(&s, 11, "elf/cfi.so"), *other = build(&s, 12, "elf/moved");
    CHECK_EQ(two->value.uid, uid);
    CHECK_EQ(two->rows, rows);
    CHECK(other->value.uid && other->value.uid != uid);
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(s.files->open_fds, 3);
    CHECK_EQ(published(&s, build(&s, 13, "elf/plt.c")).state, XP_FILE_FP); /* no ELF file */
    CHECK(!files_get(s.files, 14));
    CHECK(files_all(s.files, &n) && n == 4);
    unsigned before = fake_forgotten(s.probe);
    build(&s, 10, "elf/moved"); /* its number is another file's */
    CHECK_EQ(fake_forgotten(s.probe), before + 1);
    CHECK(files_all(s.files, &n) && n == 4);
}

TEST(files_that_could_not_be_opened_are_tried_again)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    u32 id = 10;
    for (; id < 10 + 64; id++)
        CHECK_EQ(fail(&s, id, -ESRCH)->error, -ESRCH);
    CHECK_EQ(fake_forgotten(s.probe), 64); /* at once, */
    fail(&s, id++, 0);                     /* but not for ever */
    u64 now = now_ns();
    files_tick(s.files, now);
    CHECK_EQ(fake_forgotten(s.probe), 64);
    files_tick(s.files, now + 2 * NS_PER_SEC);
    CHECK_EQ(fake_forgotten(s.probe), 65);
    files_tick(s.files, now + 4 * NS_PER_SEC);
    CHECK_EQ(fake_forgotten(s.probe), 65);
    CHECK_EQ(files_get(s.files, id - 1)->error, -ENOENT);
    struct file_job job = {.event = {.id = id, .key = key_of(8, 1)}, .fd = -1, .error = -EPERM};
    files_build(s.files, &job);
    CHECK_EQ(published(&s, files_get(s.files, id)).state, XP_FILE_FAILED); /* nobody will have more luck */
    CHECK_EQ(fake_forgotten(s.probe), 65);
}

/* The names of a process that was gone are those of the next one's file. */
TEST(files_are_found_under_their_next_number)
{
    AUTO_SHELF s = {.dir = ""};
    struct stat st;
    char path[4096];
    CHECK_EQ(shelf_new(&s, false), 0);
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    CHECK_EQ(stat(path, &st), 0);
    struct file_job gone = {.event = {.id = 20, .key = key_of(10, (u64)st.st_size)}, .fd = -1, .error = -ESRCH};
    files_build(s.files, &gone);
    CHECK_EQ(files_get(s.files, 20)->id, 20);
    CHECK_EQ(build(&s, 10, "elf/cfi.so")->error, 0);
    CHECK_EQ(files_get(s.files, 20)->id, 10);
}

TEST(files_that_are_others_by_now_are_not_used)
{
    AUTO_SHELF s = {.dir = ""};
    char path[128];
    CHECK_EQ(shelf_new(&s, false), 0);
    snprintf(path, sizeof(path), "%s/f", s.dir);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK_EQ(write(fd, "text", 4), 4);
    struct file_job job = {.event = {.id = 10, .key = key_of(10, 5)}, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    files_build(s.files, &job);
    CHECK_EQ(files_get(s.files, 10)->error, -ESTALE);
    job = (struct file_job){.event = {.id = 11, .key = key_of(11, 4)}, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    files_build(s.files, &job);
    const struct file *f = files_get(s.files, 11);
    CHECK_EQ(f->error, -ENOEXEC);
    CHECK(!files_changed(f));
    CHECK_EQ(write(fd, "more", 4), 4);
    CHECK(files_changed(f));
}

/* ---- Giving up --------------------------------------------------------------------------------------------------- */

static void age(struct shelf *s, unsigned rounds, u32 used)
{
    for (unsigned i = 0; i < rounds; i++)
        files_age(s->files, &used, 1);
}

TEST(files_are_given_up_when_room_is_short)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const char *const files[] = {"elf/cfi.so", "elf/moved", "elf/plt", "elf/cfi.so"};
    for (u32 i = 0; i < 4; i++)
        CHECK_EQ(build(&s, 10 + i, files[i])->error, 0);
    u32 uid = files_get(s.files, 10)->value.uid;
    age(&s, 10, 10);
    CHECK_EQ(files_evicted(s.files), 0); /* there is room enough */
    s.files->starved = true;
    build(&s, 14, "synth/tails.so"); /* new */
    age(&s, 1, 10);
    CHECK_EQ(files_evicted(s.files), 3);
    CHECK(!s.files->starved);
    CHECK(files_get(s.files, 10) && files_get(s.files, 14));
    CHECK(!files_get(s.files, 11) && !files_get(s.files, 12) && !files_get(s.files, 13));
    CHECK_EQ(s.files->open_fds, 2);
    CHECK_EQ(fake_forgotten(s.probe), 3); /* they are announced again at their next sight */
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(build(&s, 20, "elf/cfi.so")->value.uid, uid); /* what stays is found */
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(build(&s, 21, "elf/moved")->error, 0);
    CHECK_EQ(s.files->tables.n, 3);
    CHECK(files_get(s.files, 21)->value.uid != uid);
}

TEST(files_of_the_last_rounds_stay)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    build(&s, 10, "elf/cfi.so");
    build(&s, 11, "elf/moved");
    for (u32 i = 0; i < 3; i++) {
        s.files->starved = true; /* stacks on their way still name them */
        age(&s, 1, 10);
        CHECK_EQ(files_evicted(s.files), 0);
    }
    age(&s, 1, 10);
    CHECK_EQ(files_evicted(s.files), 1);
    CHECK(files_get(s.files, 10) && !files_get(s.files, 11));
}

TEST(files_give_up_descriptors)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    s.files->max_fds = 2;
    build(&s, 10, "elf/cfi.so");
    build(&s, 11, "elf/moved");
    CHECK_EQ(build(&s, 12, "elf/plt")->fd, -1);
    CHECK_EQ(s.files->open_fds, 2);
    age(&s, 6, 10);
    CHECK(files_evicted(s.files) >= 1);
    CHECK_EQ(s.files->open_fds, 1);
    CHECK(build(&s, 13, "elf/moved")->fd >= 0);
}

TEST(files_without_room_get_it_later)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    build(&s, 10, "elf/cfi.so");
    build(&s, 11, "elf/moved");
    s.files->all.v[0].error = -EDQUOT;
    s.files->starved = true;
    age(&s, 8, 10);
    CHECK(!files_get(s.files, 11));
    CHECK(s.files->all.v[0].replaced);
    CHECK_EQ(s.files->retries.n, 1);
    unsigned before = fake_forgotten(s.probe);
    files_tick(s.files, now_ns());
    CHECK_EQ(fake_forgotten(s.probe), before); /* the words that came free are still read for a moment */
    files_tick(s.files, now_ns() + 3600 * NS_PER_SEC);
    CHECK_EQ(fake_forgotten(s.probe), before + 1);
}

/* ---- Rows for code without unwind information -------------------------------------------------------------------- */

static u64 outcomes(const struct shelf *s)
{
    u64 sum = 0;
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        sum += files_synth_count(s->files, (enum files_synth)i);
    return sum;
}

TEST(files_get_rows_where_stacks_stop)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = build(&s, 10, "synth/shapes.so");
    u32 rows = f->rows, uid = f->value.uid;
    CHECK(files_is_open(s.files, 10) && !files_is_open(s.files, 99));
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    files_want_synth(s.files, 99);
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_want_synth(s.files, 10);
    files_want_synth(s.files, 10);
    CHECK(files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_DONE), 1);
    CHECK_EQ(outcomes(&s), 1);
    CHECK(!files_synth_waiting(s.files, now_ns()));
    CHECK(!files_is_open(s.files, 10));
    CHECK(f->synth_rows > 0 && f->rows > rows);
    CHECK(f->value.uid != uid);
    CHECK_EQ(published(&s, f).uid, f->value.uid);
    CHECK_EQ(s.files->tables.n, 1); /* the old one was given back */
    files_want_synth(s.files, 10);  /* once */
    CHECK(!files_synth_waiting(s.files, now_ns()));
}

TEST(files_keep_rows_for_the_next_agent)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, true), 0);
    CHECK_EQ(build(&s, 10, "synth/shapes.so")->synth_rows, 0);
    CHECK_EQ(build(&s, 11, "synth/go.so")->error, 0);
    for (u32 id = 10; id < 12; id++) {
        files_want_synth(s.files, id);
        files_synth_one(s.files);
    }
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_DONE), 1);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_LEFT_OUT), 1);
    u32 rows = files_get(s.files, 10)->synth_rows;
    files_free(&s.files);
    CHECK_EQ(files_new(&s.files, s.probe, s.parser, s.cache, true), 0);
    const struct file *f = build(&s, 20, "synth/shapes.so");
    CHECK_EQ(f->synth_rows, rows); /* from the beginning */
    CHECK(!files_is_open(s.files, 20));
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_KEPT), 1);
    build(&s, 21, "synth/go.so");
    files_want_synth(s.files, 21);
    files_synth_one(s.files); /* it is known that nothing comes of it */
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_NOTHING), 1);
    CHECK_STR(files_synth_slug(FILES_SYNTH_NOTHING), "nothing");
}

TEST(files_that_wait_too_long_for_rows_are_closed)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = build(&s, 10, "synth/shapes.so");
    files_want_synth(s.files, 10);
    files_tick(s.files, now_ns() + NS_PER_SEC);
    CHECK(files_is_open(s.files, 10));
    CHECK(published(&s, f).flags & XP_FILE_OPEN);
    files_tick(s.files, now_ns() + 3 * NS_PER_SEC);
    CHECK(!files_is_open(s.files, 10));
    CHECK(!(published(&s, f).flags & XP_FILE_OPEN));
    files_synth_one(s.files); /* and gets its rows all the same */
    CHECK(f->synth_rows > 0);
}

TEST(files_wait_for_rows_in_turn)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    build(&s, 10, "synth/shapes.so");
    build(&s, 11, "synth/tails.so");
    files_want_synth(s.files, 11);
    files_want_synth(s.files, 10);
    files_synth_one(s.files);
    CHECK(!files_is_open(s.files, 11) && files_is_open(s.files, 10));
    s.files->synth_budget.ns = -(s64)NS_PER_SEC; /* spent */
    s.files->synth_budget.paid_ns = now_ns();
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    CHECK(files_is_open(s.files, 10));
    CHECK(files_synth_waiting(s.files, now_ns() + 60 * NS_PER_SEC));
}
