/* How files get rows for code without unwind information. */
#include "base/clock.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

static struct xp_file published(struct shelf *s, const struct file *f)
{
    return fake_file(s->probe, &f->key);
}

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
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    u32 rows = f->rows, uid = f->value.uid;
    CHECK(files_is_open(s.files, 10) && !files_is_open(s.files, 99));
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    files_want_synth(s.files, 99, 0);
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_want_synth(s.files, 10, 0);
    files_want_synth(s.files, 10, 0);
    CHECK(files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_DONE), 1);
    CHECK_EQ(outcomes(&s), 1);
    CHECK(!files_synth_waiting(s.files, now_ns()));
    CHECK(!files_is_open(s.files, 10));
    CHECK(f->synth_rows > 0 && f->rows > rows);
    CHECK(f->value.uid != uid);
    CHECK_EQ(published(&s, f).uid, f->value.uid);
    CHECK_EQ(fake_changes(s.probe), 1); /* the kernel side looks at it anew */
    CHECK_EQ(s.files->tables.n, 1);     /* the old one was given back */
    files_want_synth(s.files, 10, 0);   /* once */
    CHECK(!files_synth_waiting(s.files, now_ns()));
}

TEST(files_keep_rows_for_the_next_agent)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, true), 0);
    CHECK_EQ(shelf_build(&s, 10, "synth/shapes.so")->synth_rows, 0);
    CHECK_EQ(shelf_build(&s, 11, "synth/go.so")->error, 0);
    for (u32 id = 10; id < 12; id++) {
        files_want_synth(s.files, id, 0);
        files_synth_one(s.files);
    }
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_DONE), 1);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_LEFT_OUT), 1);
    u32 rows = files_get(s.files, 10)->synth_rows;
    files_free(&s.files);
    CHECK(!s.files);
    CHECK_EQ(files_new(&s.files, s.probe, s.parser, s.cache, true), 0);
    const struct file *f = shelf_build(&s, 20, "synth/shapes.so");
    CHECK_EQ(f->synth_rows, rows); /* from the beginning */
    CHECK(!files_is_open(s.files, 20));
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_KEPT), 1);
    shelf_build(&s, 21, "synth/go.so");
    files_want_synth(s.files, 21, 0);
    files_synth_one(s.files); /* it is known that nothing comes of it */
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_NOTHING), 1);
    CHECK_STR(files_synth_slug(FILES_SYNTH_NOTHING), "nothing");
}

TEST(files_that_wait_too_long_for_rows_are_closed)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    files_want_synth(s.files, 10, 0);
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
    shelf_build(&s, 10, "synth/shapes.so");
    shelf_build(&s, 11, "synth/tails.so");
    files_want_synth(s.files, 11, 0);
    files_want_synth(s.files, 10, 0);
    files_synth_one(s.files);
    CHECK(!files_is_open(s.files, 11) && files_is_open(s.files, 10));
    s.files->synth_budget.ns = -(s64)NS_PER_SEC; /* spent */
    s.files->synth_budget.paid_ns = now_ns();
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    CHECK(files_is_open(s.files, 10));
    CHECK(files_synth_waiting(s.files, now_ns() + 60 * NS_PER_SEC));
}

/* Files of the same content share these rows, too. */
TEST(files_share_rows_that_were_made)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    shelf_build(&s, 10, "synth/shapes.so");
    shelf_build(&s, 11, "synth/shapes.so");
    for (u32 id = 10; id < 12; id++) {
        files_want_synth(s.files, id, 0);
        files_synth_one(s.files);
    }
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_DONE), 1);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_KEPT), 1);
    const struct file *a = files_get(s.files, 10), *b = files_get(s.files, 11);
    CHECK(b->synth_rows > 0 && a->value.uid == b->value.uid && a->synth_rows == b->synth_rows);
    CHECK_EQ(published(&s, b).uid, a->value.uid);
    CHECK_EQ(s.files->tables.n, 1);
    CHECK(s.files->synth_budget.ns < FILES_BUDGET_NS); /* it took some time */
}

/* Another process left them on the disk after this one has built the file. */
TEST(files_take_rows_from_the_disk)
{
    AUTO_SHELF s = {.dir = ""};
    struct table_key key;
    struct parser_synth made;
    CHECK_EQ(shelf_new(&s, true), 0);
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    CHECK_EQ(parser_synth_identify(s.parser, f->fd, &key), 0);
    CHECK_EQ(parser_synth(s.parser, f->fd, &key, &made), 0);
    CHECK_EQ(cache_put(s.cache, &key, made.table, made.len), 0);
    parser_reply_free(&made.bytes);
    files_want_synth(s.files, 10, 0);
    files_synth_one(s.files);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_KEPT), 1);
    CHECK(f->synth_rows > 0 && !files_is_open(s.files, 10));
}

/* The kernel side does not take the new table: the old one stays, and is what the file is known with. */
TEST(files_keep_their_table_when_the_new_one_is_refused)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    u32 uid = f->value.uid, rows = f->rows;
    files_want_synth(s.files, 10, 0);
    fake_refuse_files(s.probe, -E2BIG);
    files_synth_one(s.files);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_FAILED), 1);
    CHECK(f->value.uid == uid && f->rows == rows && !f->synth_rows);
    CHECK_EQ(s.files->tables.n, 1);
    CHECK_EQ(s.files->tables.v[0].place.uid, uid);
    CHECK(!files_is_open(s.files, 10));
    CHECK_EQ(published(&s, f).uid, uid);
}

TEST(files_without_room_for_rows)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    u32 rows = f->rows;
    files_want_synth(s.files, 10, 0);
    fake_refuse_tables(s.probe, -ENOSPC);
    files_synth_one(s.files);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_NO_ROOM), 1);
    CHECK_EQ(outcomes(&s), 1);
    CHECK_EQ(f->rows, rows);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC)); /* it had its turn */
}

/* No process can be started for the parser: that is not the file's fault, and it has three tries. */
TEST(files_try_later_without_a_parser)
{
    AUTO_SHELF s = {.dir = ""};
    struct rlimit all;
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
    files_want_synth(s.files, 10, 0);
    for (unsigned i = 1; i <= 3; i++) {
        struct rlimit none = {.rlim_cur = 0, .rlim_max = all.rlim_max};
        parser_rest(s.parser);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
        files_synth_one(s.files);
        setrlimit(RLIMIT_NOFILE, &all);
        CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_FAILED), i);
        CHECK_EQ(f->synth_tries, i);
        CHECK(f->synth_asked);
        CHECK(!files_is_open(s.files, 10)); /* nothing waits for it meanwhile */
        CHECK(!files_synth_waiting(s.files, now_ns()));
        CHECK_EQ(files_synth_waiting(s.files, now_ns() + 31 * NS_PER_SEC), i < 3);
        s.files->synth_due_ns = 0; /* the pause is over */
    }
    files_synth_one(s.files);
    CHECK_EQ(outcomes(&s), 3);
}

TEST(files_that_were_written_to_get_no_rows)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = shelf_build(&s, 10, "synth/shapes.so");
    files_want_synth(s.files, 10, 0);
    s.files->all.v[0].mtime_ns--;
    files_synth_one(s.files);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_FAILED), 1);
    CHECK(!f->synth_rows && !f->synth_tries && !s.files->synth_wanted.n);
}

/* Stacks do not wait for what will not come: files that failed, whose descriptor is closed, or that were replaced. */
TEST(files_that_can_get_no_rows_are_closed)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    for (u32 id = 10; id < 13; id++)
        shelf_build(&s, id, "synth/shapes.so");
    struct file *f = s.files->all.v;
    f[0].error = -EIO;
    close(TAKE_FD(f[1].fd));
    f[2].replaced = true;
    for (u32 i = 0; i < 3; i++) {
        unsigned before = fake_changes(s.probe);
        CHECK(files_is_open(s.files, 10 + i));
        files_want_synth(s.files, 10 + i, 0);
        CHECK(!files_is_open(s.files, 10 + i));
        CHECK_EQ(published(&s, &f[i]).flags & XP_FILE_OPEN, i == 2 ? XP_FILE_OPEN : 0); /* its successor's */
        CHECK_EQ(fake_changes(s.probe), before + 1);
        files_want_synth(s.files, 10 + i, 0);
        CHECK_EQ(fake_changes(s.probe), before + 1); /* once */
    }
    CHECK_EQ(s.files->synth_wanted.n, 0);
}

TEST(files_that_want_rows_are_bounded)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    s.files->max_fds = 300;
    for (u32 id = 10; id < 10 + 257; id++) {
        shelf_build(&s, id, "synth/shapes.so");
        files_want_synth(s.files, id, 0);
    }
    CHECK_EQ(s.files->synth_wanted.n, 256);
    CHECK(files_is_open(s.files, 10) && files_is_open(s.files, 265) && !files_is_open(s.files, 266));
    files_synth_one(s.files);
    CHECK_EQ(s.files->synth_wanted.n, 255);
    CHECK_EQ(s.files->synth_wanted.v[0], 11);
    CHECK_EQ(s.files->synth_wanted.v[254], 265);
}

/* A file that was given up, closed or replaced while it waited costs its turn and nothing else. */
TEST(files_that_went_while_they_waited)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    for (u32 id = 10; id < 13; id++) {
        shelf_build(&s, id, "synth/shapes.so");
        files_want_synth(s.files, id, 0);
    }
    *map_put(&s.files->by_id, 10) = 0;
    close(TAKE_FD(s.files->all.v[1].fd));
    s.files->all.v[2].replaced = true;
    for (size_t left = 3; left > 0; left--) {
        CHECK_EQ(s.files->synth_wanted.n, left);
        files_tick(s.files, now_ns() + 10 * NS_PER_SEC);
        files_synth_one(s.files);
    }
    CHECK_EQ(s.files->synth_wanted.n, 0);
    CHECK_EQ(outcomes(&s), 0);
}
