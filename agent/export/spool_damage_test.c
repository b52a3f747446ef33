/* A spool whose files were damaged, cut, removed, or replaced by others. */
#include "export/spool_fixture_test.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int segment_path(const struct test_folder *f, char path[128])
{
    snprintf(path, 128, "%s/%016x.seg", f->path, 1);
    return access(path, F_OK);
}

/* One byte of the segment is another. */
static int damage(const char *path, off_t at)
{
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte;
    if (fd < 0 || pread(fd, &byte, 1, at) != 1)
        return -1;
    byte ^= 0x40;
    return pwrite(fd, &byte, 1, at) == 1 ? 0 : -1;
}

TEST(spool_cuts_a_torn_tail)
{
    FILLED_FOLDER;
    struct spool_stats stats;
    char path[128];
    CHECK_EQ(segment_path(&f, path), 0);
    CHECK_EQ(truncate(path, FIRST + 3 * RECORD - 1), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    spool_stats(s, &stats);
    CHECK_EQ(stats.corrupt, 1);
    CHECK_EQ(stats.disk_bytes, FIRST + 2 * RECORD);
    CHECK_EQ(put_number(s, 7, T0), 0);
    CHECK_EQ(next_number(s, r), 0);
    CHECK_EQ(next_number(s, r), 1);
    CHECK_EQ(next_number(s, r), 7);
}

TEST(spool_damaged_body_costs_one_record)
{
    FILLED_FOLDER;
    char path[128];
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    CHECK_EQ(segment_path(&f, path), 0);
    CHECK_EQ(damage(path, FIRST + RECORD + 40 + 100), 0);
    CHECK_EQ(next_number(s, r), 0);
    CHECK_EQ(next_number(s, r), -2);
    CHECK_EQ(next_number(s, r), 2);
}

TEST(spool_damaged_head_ends_its_segment)
{
    FILLED_FOLDER;
    struct spool_stats stats;
    char path[128];
    CHECK_EQ(segment_path(&f, path), 0);
    CHECK_EQ(damage(path, FIRST + RECORD + 5), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    spool_stats(s, &stats);
    CHECK_EQ(stats.corrupt, 1);
    CHECK_EQ(next_number(s, r), 0);
    CHECK_EQ(next_number(s, r), -1);
}

TEST(spool_damage_in_between_is_counted)
{
    FILLED_FOLDER;
    char path[128];
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    CHECK_EQ(put_number(s, 3, T0), 0); /* another segment: the old one was not open any more */
    CHECK_EQ(segment_path(&f, path), 0);
    CHECK_EQ(damage(path, FIRST + RECORD + 5), 0);
    CHECK_EQ(next_number(s, r), 0);
    CHECK_EQ(next_number(s, r), 3);
    CHECK_EQ(lost_corrupt(s, r), 2);
    spool_free(&s);
    CHECK_EQ(reopen(&s, &r, f.path), 0); /* it was cut off where the damage began: read again, from the cursor on */
    CHECK_EQ(next_number(s, r), 0);
    CHECK_EQ(next_number(s, r), 3);
    CHECK_EQ(lost_corrupt(s, r), 2);
}

TEST(spool_goes_on_without_a_removed_segment)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_config c = config_of(f.path);
    struct spool_reader *r;
    char path[128];
    u64 oldest;
    CHECK_EQ(test_folder_new(&f), 0);
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(put_number(s, i, T0), 0);
    CHECK_EQ(segment_path(&f, path), 0);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(next_number(s, r), -1);
    CHECK_EQ(lost_corrupt(s, r), 3);
    CHECK_EQ(put_number(s, 3, T0), 0); /* in a segment of its own: the other one is nobody's any more */
    CHECK_EQ(spool_unread(s, r, &oldest), 1);
    CHECK_EQ(next_number(s, r), 3);
    CHECK_EQ(lost_corrupt(s, r), 0);
}

/* A directory in the place of a segment can be opened, but not read, which is like a disk that fails. */
static int make_unreadable(const struct test_folder *f, unsigned first)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%016x.seg", f->path, first);
    return unlink(path) || mkdir(path, 0700) ? -errno : 0;
}

TEST(spool_passes_over_what_cannot_be_read)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *r;
    struct spool_stats stats;
    int n = 0, tries = 0;
    CHECK_EQ(test_folder_new(&f), 0);
    struct spool_config c = config_of(f.path);
    c.max_bytes = 128 << 10; /* fifteen records in a segment */
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    for (unsigned i = 0; i < 50; i++)
        CHECK_EQ(put_number(s, i, T0), 0);
    CHECK_EQ(make_unreadable(&f, 16), 0);
    for (int i = 0; i < 15; i++)
        CHECK_EQ(next_number(s, r), i);
    while ((n = next_number(s, r)) == -3) /* it may be for a moment only */
        tries++;
    CHECK(tries >= 5 && tries <= 20);
    CHECK_EQ(n, 30);
    CHECK_EQ(lost_corrupt(s, r), 15);
    spool_stats(s, &stats);
    CHECK_EQ(stats.corrupt, 1);
    spool_commit(s, r, UINT64_MAX);
    spool_free(&s);
    CHECK_EQ(make_unreadable(&f, 31), 0); /* and after a restart */
    CHECK_EQ(make_unreadable(&f, 46), 0);
    CHECK_EQ(spool_new(&s, &c), 0);
    CHECK_EQ(spool_reader_open(s, "a", &r), 0);
    CHECK_EQ(put_number(s, 99, T0), 0);
    spool_stats(s, &stats);
    CHECK(stats.corrupt == 3 && !stats.disk_errors && stats.segments == 1);
    CHECK_EQ(next_number(s, r), 99);
    CHECK(lost_corrupt(s, r) >= 15);
}

/* What is written while it cannot be read is not lost with it: there is a new segment. */
TEST(spool_appends_to_no_segment_that_cannot_be_read)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_reader *r;
    int n;
    CHECK_EQ(test_folder_new(&f), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    CHECK_EQ(put_number(s, 0, T0), 0);
    CHECK_EQ(make_unreadable(&f, 1), 0);
    while ((n = next_number(s, r)) == -3)
        ;
    CHECK_EQ(n, -1);
    CHECK_EQ(put_number(s, 1, T0), 0);
    CHECK_EQ(next_number(s, r), 1);
    CHECK_EQ(lost_corrupt(s, r), 1);
}

TEST(spool_of_another_version_is_not_read)
{
    FILLED_FOLDER;
    struct spool_stats stats;
    char path[128];
    CHECK_EQ(segment_path(&f, path), 0);
    CHECK_EQ(damage(path, 15), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    spool_stats(s, &stats);
    CHECK_EQ(stats.corrupt, 1);
    CHECK_EQ(next_number(s, r), -1);
    CHECK_EQ(test_folder_count(&f, ".seg"), 0);
}

TEST(spool_damaged_cursor_begins_at_the_oldest)
{
    FILLED_FOLDER;
    char path[128];
    snprintf(path, sizeof(path), "%s/a.cursor", f.path);
    CHECK_EQ(fs_replace_file(path, "xprof-cursor 1 99", 17, 0600), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    CHECK_EQ(next_number(s, r), 0);
}

TEST(spool_removes_segments_that_are_none)
{
    AUTO_FOLDER struct test_folder f = {0};
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_stats stats;
    struct spool_reader *r;
    char path[128];
    CHECK_EQ(test_folder_new(&f), 0);
    for (int i = 1; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%016x.seg", f.path, i);
        CHECK_EQ(fs_replace_file(path, "no segment, as anybody can see", 30, 0600), 0);
    }
    snprintf(path, sizeof(path), "%s/not-a-number.txt", f.path);
    CHECK_EQ(fs_replace_file(path, "x", 1, 0600), 0);
    CHECK_EQ(reopen(&s, &r, f.path), 0);
    spool_stats(s, &stats);
    CHECK(stats.segments == 0 && stats.disk_bytes == 0 && stats.corrupt == 3);
    CHECK_EQ(test_folder_count(&f, ".seg"), 0);
    CHECK_EQ(test_folder_count(&f, ".txt"), 1);
    CHECK_EQ(put_number(s, 7, T0), 0);
    CHECK_EQ(next_number(s, r), 7);
}
