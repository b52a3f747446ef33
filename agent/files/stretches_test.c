/* Which stretches of a file's code are wanted, and when; and files that are read by stretches. */
#include "files/stretches.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "base/cleanup.h"
#include "cache/cache.h"
#include "files/shelf_test.h"
#include "parser/synth_table.h"
#include "synth/crafted.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(stretches_are_noted_once_in_order)
{
    struct stretches s = {0};
    struct shares all = {.limit = 100};
    static const u32 numbers[] = {5, 1, 9, 5, 0, 9, 3};
    static const u32 sorted[] = {0, 1, 3, 5, 9};
    bool news[7];
    for (unsigned i = 0; i < 7; i++)
        news[i] = stretches_note(&s, &all, SHARES_ALL, numbers[i] * (u64)SYNTH_STRETCH + i);
    CHECK(news[0] && news[1] && news[2] && !news[3] && news[4] && !news[5] && news[6]);
    CHECK_EQ(s.wanted.n, 5);
    CHECK(!memcmp(s.wanted.v, sorted, sizeof(sorted)));
    CHECK(!stretches_note(&s, &all, SHARES_ALL, (u64)STRETCHES_LIMIT * SYNTH_STRETCH));
    stretches_free(&s, &all, SHARES_ALL);
    CHECK_EQ(all.used, 0);
    shares_free(&all);
}

TEST(stretches_are_bounded)
{
    struct stretches s = {0}, other = {0};
    struct shares all = {.limit = 100}, many = {.limit = STRETCHES_ALL};
    for (u64 i = 0; i < 100; i++)
        stretches_note(&s, &all, 7, i * SYNTH_STRETCH);
    CHECK_EQ(s.wanted.n, 80);
    CHECK(stretches_note(&other, &all, 8, 0)); /* another cgroup finds room */
    stretches_free(&s, &all, 7);
    stretches_free(&other, &all, 8);
    for (u64 i = 0; i < STRETCHES_MAX + 10; i++)
        stretches_note(&s, &many, SHARES_ALL, i * SYNTH_STRETCH);
    CHECK_EQ(s.wanted.n, STRETCHES_MAX);
    stretches_free(&s, &many, SHARES_ALL);
    shares_free(&all);
    shares_free(&many);
}

TEST(stretches_have_pauses)
{
    struct stretches s = {0};
    u64 start = 1000 * NS_PER_SEC;
    CHECK(stretches_due(&s, 0)); /* its first turn is that of a whole file */
    stretches_begin(&s, start);
    CHECK(stretches_due(&s, start));
    stretches_pause(&s, 1, start + 1);
    CHECK(!stretches_due(&s, start + STRETCHES_MIN_NS));
    CHECK(stretches_due(&s, start + STRETCHES_MIN_NS + 1));
    stretches_pause(&s, NS_PER_SEC, start);
    CHECK(!stretches_due(&s, start + NS_PER_SEC - 1));
    stretches_pause(&s, 1, start + 40 * NS_PER_SEC);
    CHECK(!stretches_due(&s, start + 49 * NS_PER_SEC));
    CHECK(stretches_due(&s, start + 50 * NS_PER_SEC));
    stretches_pause(&s, 1, start + 10000 * NS_PER_SEC);
    CHECK(stretches_due(&s, start + 10060 * NS_PER_SEC));
}

/* ---- Files ---- */

#define CODE_BYTES ((16u << 20) + 2 * SYNTH_STRETCH) /* more than is analysed as a whole */

static int write_program(const char *path, bool frames)
{
    AUTO_FREE u8 *code = malloc(CODE_BYTES), *file = malloc(CRAFTED_BASE + CODE_BYTES);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    crafted_functions(code, CODE_BYTES, frames);
    crafted_file(file, code, CODE_BYTES);
    return write(fd, file, CRAFTED_BASE + CODE_BYTES) == CRAFTED_BASE + CODE_BYTES ? 0 : -1;
}

static const struct file *announce(struct shelf *s, u32 id, const char *path)
{
    struct file_job job = {.event.id = id, .fd = open(path, O_RDONLY | O_CLOEXEC), .path = strdup(path)};
    job.event.key = shelf_key_of(0, path);
    job.event.magic = EXT4_SUPER_MAGIC;
    files_build(s->files, &job);
    return files_get(s->files, id);
}

static const struct file *build(struct shelf *s, u32 id, bool frames)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%u", s->dir, id);
    return write_program(path, frames) ? NULL : announce(s, id, path);
}

static void wait_and_build(struct shelf *s)
{
    u64 deadline = now_ns() + 60 * NS_PER_SEC;
    while (!files_synth_waiting(s->files, now_ns()) && now_ns() < deadline)
        usleep(10000);
    s->files->synth_budget.ns = FILES_BUDGET_NS; /* however slow this machine is */
    files_synth_one(s->files);
}

TEST(stretches_of_files_that_are_too_large)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, true), 0);
    const struct file *f = build(&s, 10, true);
    files_want_synth(s.files, 10, 5 * SYNTH_STRETCH + 6);
    wait_and_build(&s);
    CHECK(f->stretches.on && !f->synth_rows && files_is_open(s.files, 10));
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_LIMIT), 1);
    wait_and_build(&s);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 1);
    u32 rows = f->synth_rows, uid = f->value.uid;
    CHECK(rows >= SYNTH_STRETCH / 16 * 3 && rows < SYNTH_STRETCH / 16 * 6);
    CHECK(files_is_open(s.files, 10) && fake_file(s.probe, &f->key).flags & XP_FILE_OPEN);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC)); /* nothing is new */
    files_want_synth(s.files, 10, 5 * SYNTH_STRETCH + 99);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC));
    files_want_synth(s.files, 10, 50 * SYNTH_STRETCH);
    files_tick(s.files, now_ns() + 30 * NS_PER_SEC);
    CHECK(files_is_open(s.files, 10)); /* however long the pause is */
    wait_and_build(&s);
    CHECK(f->synth_rows > rows + rows / 2 && f->value.uid != uid);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 1); /* once for each file */
    CHECK_EQ(s.files->tables.n, 2);                                 /* with the empty one that it began with */
}

/* Code that keeps no frame pointers gets no rows, and is given up. */
TEST(stretches_without_rows_come_to_an_end)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = build(&s, 10, false);
    for (u64 i = 0; i <= STRETCHES_TRIES; i++) {
        CHECK(files_is_open(s.files, 10));
        files_want_synth(s.files, 10, i * SYNTH_STRETCH);
        wait_and_build(&s);
    }
    CHECK(!files_is_open(s.files, 10) && !f->synth_rows);
    CHECK_EQ(s.files->stretch_shares.used, 0);
    files_want_synth(s.files, 10, 90 * SYNTH_STRETCH);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC));
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 0);
}

/* The next agent begins with the stretches that this one has read, unless the file has changed. */
TEST(stretches_are_kept_on_disk)
{
    AUTO_SHELF s = {.dir = ""};
    char path[128];
    CHECK_EQ(shelf_new(&s, true), 0);
    build(&s, 10, true);
    for (u64 i = 0; i < 3; i++) {
        files_want_synth(s.files, 10, 7 * i * SYNTH_STRETCH + 6);
        wait_and_build(&s);
    }
    const struct file *f = files_get(s.files, 10);
    CHECK_EQ(f->stretches.read, 3);
    CHECK_EQ(f->stretches.kept, 3);
    u32 rows = f->synth_rows;
    snprintf(path, sizeof(path), "%s/10", s.dir);
    files_free(&s.files);
    parser_rest(s.parser); /* nor does another child read them again */
    CHECK_EQ(files_new(&s.files, s.probe, s.parser, s.cache, true), 0);
    f = announce(&s, 11, path);
    CHECK(!f->synth_rows && files_is_open(s.files, 11) && files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files); /* without that any stack has stopped */
    CHECK_EQ(f->synth_rows, rows);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 1);
    files_want_synth(s.files, 11, 14 * SYNTH_STRETCH + 99);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC));
    files_want_synth(s.files, 11, 50 * SYNTH_STRETCH);
    wait_and_build(&s);
    CHECK(f->synth_rows > rows && f->stretches.kept == 4);
    CHECK_EQ(utimensat(AT_FDCWD, path, NULL, 0), 0);
    f = announce(&s, 12, path);
    CHECK(f->value.id == 12 && !f->stretches.wanted.n && !files_synth_waiting(s.files, now_ns()));
}

/* The parser has read another file meanwhile, so it takes from the disk what it knew of this one. */
TEST(stretches_of_two_files_are_read_once)
{
    AUTO_SHELF s = {.dir = ""};
    struct parser_synth made;
    static const u32 wanted[] = {0, 7};
    u8 digest[16];
    CHECK_EQ(shelf_new(&s, true), 0);
    const struct file *f = build(&s, 10, true);
    files_want_synth(s.files, 10, 6);
    files_want_synth(s.files, 10, 7 * SYNTH_STRETCH + 6);
    wait_and_build(&s);
    wait_and_build(&s);
    CHECK_EQ(f->stretches.kept, 2);
    parser_rest(s.parser);
    synth_stretches_key(cache_secret(s.cache), &f->key, digest);
    AUTO_CLOSE int image = cache_get_index(s.cache, CACHE_STRETCHES, digest);
    CHECK(image >= 0);
    CHECK_EQ(parser_stretches(s.parser, f->fd, -1, wanted, 2, &made), 0);
    u64 insns = made.counts.insns;
    CHECK(made.table && insns > 0);
    parser_reply_free(&made.bytes);
    parser_rest(s.parser);
    CHECK_EQ(parser_stretches(s.parser, f->fd, image, wanted, 1, &made), 0);
    CHECK_EQ(made.counts.insns, insns); /* of the image: with both */
    CHECK(made.table && table_rule_at(made.table, 7 * SYNTH_STRETCH + 4).kind & XP_RULE_SYNTH);
    parser_reply_free(&made.bytes);
}
