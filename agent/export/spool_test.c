#include "export/spool_fixture_test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(spool_keeps_order_across_a_restart)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL, *again = NULL;
    struct spool_reader *r;
    CHECK_EQ(test_folder_new(&f), 0);
    CHECK_EQ(fill(f.path, 5), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(next_number(s, r), i);
    spool_commit(s, r, 3); /* records are numbered from 1: two are done with */
    spool_free(&s);
    CHECK_EQ(reopen(&again, &r, f.path), 0);
    for (int i = 2; i < 5; i++)
        CHECK_EQ(next_number(again, r), i);
    CHECK_EQ(next_number(again, r), -1);
    CHECK_EQ(put_number(again, 5, T0), 0);
    CHECK_EQ(next_number(again, r), 5);
}

TEST(spool_removes_what_all_have_read)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *a, *b;
    CHECK_EQ(test_folder_new(&f), 0);
    CHECK_EQ(fill(f.path, 3), 0);
    CHECK_EQ(reopen(&s, &a, f.path), 0);
    CHECK_EQ(spool_reader_open(s, "b", &b), 0);
    CHECK_EQ(next_number(s, b), -1); /* new: begins behind */
    CHECK_EQ(put_number(s, 3, T0), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(next_number(s, a), i);
    spool_commit(s, a, UINT64_MAX);
    CHECK_EQ(test_folder_count(&f, ".seg"), 1);
    CHECK_EQ(next_number(s, b), 3);
}

TEST(spool_is_for_one)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL, *second = NULL;
    CHECK_EQ(test_folder_new(&f), 0);
    struct spool_config c = config_of(f.path);
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_new(&second, &c), -EBUSY);
    spool_free(&s);
    CHECK_EQ(spool_new(&second, &c), 0);
}

/* What all files in a folder take of the disk. */
static u64 bytes_on_disk(const char *folder)
{
    u64 sum = 0;
    DIR *d = opendir(folder);
    struct stat st;
    for (struct dirent *e; d && (e = readdir(d));)
        if (!fstatat(dirfd(d), e->d_name, &st, 0) && S_ISREG(st.st_mode))
            sum += (u64)st.st_blocks * 512;
    if (d)
        closedir(d);
    return sum;
}

TEST(spool_full_drops_the_oldest_and_counts)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *r;
    struct spool_lost lost;
    struct spool_stats stats;
    CHECK_EQ(test_folder_new(&f), 0);
    struct spool_config c = config_of(f.path);
    c.max_bytes = 64 << 10;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQ(put_number(s, i, T0), 0);
        spool_stats(s, &stats);
        CHECK(stats.disk_bytes > 0 && bytes_on_disk(f.path) <= c.max_bytes);
    }
    spool_take_lost(s, r, &lost);
    CHECK(lost.full > 100);
    CHECK(lost.full_bytes >= lost.full * 1024);
    CHECK_EQ(next_number(s, r), (int)lost.full);
    u64 oldest;
    CHECK_EQ(spool_unread(s, r, &oldest), 200 - lost.full - 1);
    CHECK_EQ(oldest, T0);
}

/* A record larger than the whole spool costs no other one its place; it may fit into memory. */
TEST(spool_refuses_what_would_not_fit_alone)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    AUTO_FREE char *large = calloc(1, 128 << 10);
    struct spool_reader *r;
    struct spool_stats stats;
    CHECK(large && !test_folder_new(&f));
    struct spool_config c = config_of(f.path);
    c.max_bytes = 64 << 10;
    c.memory_bytes = 100 << 10;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    CHECK_EQ(put_number(s, 0, T0), 0);
    CHECK_EQ(spool_put(s, large, 128 << 10, T0), -E2BIG);
    CHECK_EQ(spool_put(s, large, 64 << 10, T0), 0);
    spool_stats(s, &stats);
    CHECK(stats.put == 2 && stats.memory_bytes > 64 << 10 && !stats.disk_errors);
    CHECK_EQ(next_number(s, r), 0);
}

TEST(spool_age_and_clocks_that_jump)
{
    FILLED_FOLDER;
    struct spool_lost lost;
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    CHECK_EQ(put_number(s, 3, T0 - 100 * HOUR), 0); /* the clock went back: what lies there is of the future */
    spool_take_lost(s, r, &lost);
    CHECK_EQ(lost.age, 0);
    CHECK_EQ(put_number(s, 4, T0 + 25 * HOUR), 0);
    spool_take_lost(s, r, &lost);
    CHECK_EQ(lost.age, 4);
    CHECK_EQ(next_number(s, r), 4);
}

/* Writes beyond that size fail, as on a full disk (EFBIG instead of ENOSPC). */
static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &l);
}

TEST(spool_disk_full_goes_on_in_memory)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL, *again = NULL;
    struct spool_reader *r;
    struct spool_stats stats;
    CHECK_EQ(test_folder_new(&f), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    limit_files(FIRST + 2 * RECORD + 500);
    for (unsigned i = 0; i < 6; i++)
        put_number(s, i, T0);
    limit_files(RLIM_INFINITY);
    spool_stats(s, &stats);
    CHECK_EQ(stats.put, 6);
    CHECK_EQ(stats.disk_errors, 1);
    CHECK(strstr(stats.error, "kept in memory"));
    CHECK_EQ(stats.memory_bytes, FIRST + 4 * RECORD);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(next_number(s, r), i);
    CHECK_EQ(next_number(s, r), -1);
    spool_free(&s);
    CHECK_EQ(reopen(&again, &r, f.path), 0); /* no half of a record stayed in the file */
    spool_stats(again, &stats);
    CHECK_EQ(stats.corrupt, 0);
    CHECK_EQ(next_number(again, r), 0);
    CHECK_EQ(next_number(again, r), 1);
    CHECK_EQ(next_number(again, r), -1);
}

TEST(spool_without_a_folder_is_bounded_memory)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *r;
    struct spool_stats stats;
    struct spool_lost lost;
    char path[128];
    CHECK_EQ(test_folder_new(&f), 0);
    snprintf(path, sizeof(path), "%s/file", f.path);
    CHECK_EQ(fs_replace_file(path, "x", 1, 0600), 0);
    strcat(path, "/spool");
    struct spool_config c = config_of(path);
    c.memory_bytes = 64 << 10;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    for (unsigned i = 0; i < 100; i++)
        CHECK_EQ(put_number(s, i, T0), 0);
    spool_stats(s, &stats);
    CHECK(*stats.error);
    CHECK(stats.memory_bytes <= c.memory_bytes);
    spool_take_lost(s, r, &lost);
    CHECK(lost.full > 0);
    CHECK_EQ(next_number(s, r), (int)lost.full);
}

/* The memory that stands in for a full disk overflows: what lies on the disk is older, and nobody has read it. */
TEST(spool_memory_overflows_before_the_disk_is_read)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *r;
    struct spool_lost lost;
    u64 oldest;
    int read = 0;
    CHECK_EQ(test_folder_new(&f), 0);
    struct spool_config c = config_of(f.path);
    c.memory_bytes = 64 << 10;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    limit_files(FIRST + 20 * RECORD + 500);
    for (unsigned i = 0; i < 200; i++)
        put_number(s, i, T0);
    limit_files(RLIM_INFINITY);
    spool_take_lost(s, r, &lost);
    CHECK(lost.full > 50);
    CHECK_EQ(spool_unread(s, r, &oldest), 200 - lost.full);
    for (int i = 0; i < 20; i++, read++)
        CHECK_EQ(next_number(s, r), i);
    CHECK_EQ(next_number(s, r), 20 + (int)lost.full);
    for (read++; next_number(s, r) >= 0;)
        read++;
    CHECK_EQ(read, 200 - (int)lost.full);
    CHECK_EQ(lost_corrupt(s, r), 0); /* and it is counted once */
}

TEST(spool_rereads_until_it_is_pushed_out)
{
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *r;
    struct spool_config c = config_of(NULL);
    struct spool_record rec = {0};
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    CHECK_EQ(put_number(s, 0, T0), 0);
    CHECK_EQ(put_number(s, 1, T0), 0);
    CHECK_EQ(spool_next(s, r, &rec), 0);
    u64 seq = rec.seq;
    CHECK_EQ(next_number(s, r), 1);
    int rc = spool_reread(s, r, &rec);
    bool same = strcmp(rec.body.data, "number 0") == 0;
    for (unsigned i = 0; i < 2000; i++)
        put_number(s, i, T0);
    int gone = spool_reread(s, r, &rec);
    buf_free(&rec.body);
    CHECK_EQ(rc, 0);
    CHECK(same);
    CHECK_EQ(seq, 1);
    CHECK_EQ(gone, -ENOENT);
}

TEST(spool_limits_that_change)
{
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_config c = config_of(NULL);
    struct spool_reader *r;
    struct spool_lost lost;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    CHECK_EQ(put_number(s, 0, T0), 0);
    CHECK_EQ(put_number(s, 1, T0 + 2 * HOUR), 0);
    spool_take_lost(s, r, &lost);
    CHECK(!lost.age && !lost.full);
    c.max_age_ns = HOUR;
    spool_limits(s, &c);
    CHECK_EQ(put_number(s, 2, T0 + 4 * HOUR), 0);
    spool_take_lost(s, r, &lost);
    CHECK(lost.age == 2 && !lost.full);
    CHECK_EQ(lost.age_bytes, 2 * RECORD);
    CHECK_EQ(next_number(s, r), 2);
}

TEST(spool_keeps_nothing_that_nobody_reads)
{
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_config c = config_of(NULL);
    struct spool_reader *r;
    struct spool_stats stats;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(put_number(s, 0, T0), 0);
    spool_stats(s, &stats);
    CHECK(stats.put == 0 && stats.segments == 0 && stats.memory_bytes == 0);
    CHECK_EQ(spool_put(s, "", 64 << 20, T0), 0);
    CHECK_EQ(spool_put(s, "", (64 << 20) + 1, T0), -E2BIG);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    CHECK_EQ(spool_unread(s, r, &(u64){0}), 0);
}

/* What a reader loses is counted from the place that it had reached. */
TEST(spool_counts_the_bytes_that_a_reader_lost)
{
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_config c = config_of(NULL);
    struct spool_reader *behind, *ahead;
    struct spool_lost lost;
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "behind", &behind), 0);
    CHECK_EQ(spool_reader_open(s, "ahead", &ahead), 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQ(put_number(s, i, T0), 0);
    CHECK_EQ(next_number(s, ahead), 0);
    CHECK_EQ(put_number(s, 4, T0 + 30 * HOUR), 0); /* the others are too old */
    spool_take_lost(s, behind, &lost);
    CHECK(lost.age == 4 && lost.age_bytes == 4 * RECORD);
    spool_take_lost(s, ahead, &lost);
    CHECK(lost.age == 3 && lost.age_bytes == 3 * RECORD);
    spool_take_lost(s, ahead, &lost);
    CHECK(!lost.age && !lost.age_bytes);
    CHECK_EQ(next_number(s, behind), 4);
    CHECK_EQ(next_number(s, ahead), 4);
}

/* A reader that goes makes room for another one, and leaves nothing behind. */
TEST(spool_has_a_bounded_number_of_readers)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_config c;
    struct spool_reader *r[33], *again;
    char name[80];
    CHECK_EQ(test_folder_new(&f), 0);
    c = config_of(f.path);
    CHECK_EQ(spool_new(&s, &c), 0);
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        CHECK_EQ(spool_reader_open(s, name, &r[i]), 0);
    }
    CHECK_EQ(spool_reader_open(s, "r32", &r[32]), -ENOSPC);
    CHECK_EQ(spool_reader_open(s, "r7", &again), 0); /* it is there already */
    CHECK(again == r[7]);
    CHECK_EQ(test_folder_count(&f, ".cursor"), 32);
    spool_reader_remove(s, &r[7]);
    CHECK_EQ(test_folder_count(&f, ".cursor"), 31);
    CHECK_EQ(spool_reader_open(s, "r32", &r[32]), 0);
    memset(name, 'n', 64);
    name[64] = 0;
    CHECK_EQ(spool_reader_open(s, name, &again), -ENAMETOOLONG);
}
