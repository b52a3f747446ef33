/* The folder of fetched debug files by itself. */
#include "debug/folder.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A folder of the test's own. */
struct place {
    char dir[64];
    struct folder folder;
};

static void place_free(struct place *p)
{
    char command[128];
    folder_close(&p->folder);
    snprintf(command, sizeof(command), "rm -rf %s", p->dir);
    if (*p->dir && system(command))
        printf("  %s stays\n", p->dir);
}
#define AUTO_PLACE CLEANUP(place_free) struct place

static int place_new(struct place *p, size_t max_bytes)
{
    *p = (struct place){.dir = "/tmp/xprof-test-XXXXXX"};
    return mkdtemp(p->dir) ? folder_open(&p->folder, p->dir, max_bytes) : -errno;
}

/* A file of so many bytes that was used at this time. */
static bool leave(const struct place *p, const char *name, off_t bytes, struct timespec used)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && !ftruncate(fd, bytes) && !futimens(fd, (struct timespec[2]){used, used});
}

static bool look_at(const struct place *p, const char *name, struct stat *st)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return !lstat(path, st);
}

static bool exists(const struct place *p, const char *name)
{
    struct stat st;
    return look_at(p, name, &st);
}

TEST(folder_gives_up_the_oldest_first)
{
    static const struct {
        const char *name;
        struct timespec used;
    } left[] = {{"cc.debug", {1000, 5}},
                {"aa.debug", {1000, 6}},
                {"dd.debug.Xy1234", {1001, 1}},
                {"bb.debug.none", {1001, 2}},
                {"ee.debug", {1002, 0}}};
    for (size_t keep = 0; keep <= 5; keep++) {
        AUTO_PLACE p;
        CHECK_EQ(place_new(&p, FS_BLOCK * keep + FS_BLOCK - 1 + 5), 0);
        for (size_t i = 5; i-- > 0;)
            CHECK(leave(&p, left[i].name, 10, left[i].used));
        CHECK(leave(&p, "notes", 1000, left[0].used)); /* none of ours */
        CHECK_EQ(folder_make_room(&p.folder, 5, NULL), 0);
        CHECK_EQ(folder_bytes(&p.folder), FS_BLOCK * keep);
        for (size_t i = 0; i < 5; i++)
            CHECK_EQ(exists(&p, left[i].name), i >= 5 - keep);
        CHECK(exists(&p, "notes"));
    }
}

/* A file that grows counts, but is not what makes room for itself. */
TEST(folder_keeps_what_is_being_written)
{
    AUTO_PLACE p;
    CHECK_EQ(place_new(&p, 4 * FS_BLOCK), 0);
    CHECK(leave(&p, "aa.debug.Xy1234", 2 * FS_BLOCK, (struct timespec){1, 0}));
    CHECK(leave(&p, "bb.debug", FS_BLOCK, (struct timespec){2, 0}));
    CHECK_EQ(folder_make_room(&p.folder, FS_BLOCK, "/somewhere/aa.debug.Xy1234"), 0);
    CHECK(exists(&p, "bb.debug"));
    CHECK_EQ(folder_make_room(&p.folder, 2 * FS_BLOCK, "/somewhere/aa.debug.Xy1234"), 0);
    CHECK(!exists(&p, "bb.debug"));
    CHECK_EQ(folder_make_room(&p.folder, 3 * FS_BLOCK, "/somewhere/aa.debug.Xy1234"), -EFBIG);
    CHECK(exists(&p, "aa.debug.Xy1234"));
}

TEST(folder_gives_up_everything)
{
    AUTO_PLACE p;
    char long_name[100];
    memset(long_name, 'a', sizeof(long_name));
    strcpy(long_name + 80, ".debug");
    CHECK_EQ(place_new(&p, 0), 0);
    CHECK_EQ(p.folder.max_bytes, 1ull << 30);
    CHECK(leave(&p, "aa.debug", 0, (struct timespec){0}) && leave(&p, "bb.debug", 10, (struct timespec){0}));
    CHECK(leave(&p, long_name, 10, (struct timespec){0})); /* no name of ours */
    CHECK_EQ(folder_make_room(&p.folder, 1000, NULL), 0);
    CHECK(exists(&p, "aa.debug") && exists(&p, "bb.debug"));
    CHECK_EQ(folder_make_room(&p.folder, SIZE_MAX, NULL), -EFBIG);
    CHECK(!exists(&p, "aa.debug") && !exists(&p, "bb.debug") && exists(&p, long_name));
    CHECK_EQ(folder_make_room(&p.folder, SIZE_MAX, NULL), -EFBIG); /* an empty one */
    folder_close(&p.folder);
    CHECK(!p.folder.dir && exists(&p, "."));
}

TEST(folder_opens_files_and_renews_them)
{
    AUTO_PLACE p;
    struct stat st;
    char path[128];
    CHECK_EQ(place_new(&p, 0), 0);
    CHECK(leave(&p, "aabb.debug", 10, (struct timespec){1000, 0}));
    AUTO_CLOSE int fd = folder_open_file(&p.folder, "aabb");
    CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    CHECK(look_at(&p, "aabb.debug", &st) && st.st_mtim.tv_sec > 1000);
    CHECK_EQ(folder_open_file(&p.folder, "ccdd"), -ENOENT);
    snprintf(path, sizeof(path), "%s/ccdd.debug", p.dir);
    CHECK_EQ(symlink("aabb.debug", path), 0);
    CHECK_EQ(folder_open_file(&p.folder, "ccdd"), -ELOOP);
}

TEST(folder_remembers_for_ten_minutes_what_is_missing)
{
    AUTO_PLACE p;
    struct stat st;
    time_t now = time(NULL);
    CHECK_EQ(place_new(&p, 0), 0);
    CHECK(!folder_is_missing(&p.folder, "aabb"));
    folder_note_missing(&p.folder, "aabb");
    CHECK(folder_is_missing(&p.folder, "aabb"));
    CHECK(look_at(&p, "aabb.debug.none", &st) && !st.st_size && (st.st_mode & 07777) == 0600);
    CHECK(leave(&p, "aabb.debug.none", 0, (struct timespec){now - 590, 0}));
    CHECK(folder_is_missing(&p.folder, "aabb"));
    CHECK(leave(&p, "aabb.debug.none", 0, (struct timespec){now - 601, 0}));
    CHECK(!folder_is_missing(&p.folder, "aabb"));
    folder_note_missing(&p.folder, "aabb"); /* once more: the file is there */
    CHECK(folder_is_missing(&p.folder, "aabb"));
}

TEST(folder_has_to_be_ours)
{
    static const mode_t modes[] = {0720, 0702};
    AUTO_PLACE p;
    struct folder f = {0};
    char path[128];
    CHECK_EQ(place_new(&p, 0), 0);
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(chmod(p.dir, modes[i]), 0);
        CHECK_EQ(folder_open(&f, p.dir, 0), -EPERM);
        folder_close(&f);
    }
    CHECK_EQ(chmod(p.dir, 0700), 0);
    CHECK(leave(&p, "file", 0, (struct timespec){0}));
    snprintf(path, sizeof(path), "%s/file/folder", p.dir);
    CHECK_EQ(folder_open(&f, path, 0), -ENOTDIR);
    folder_close(&f);
    snprintf(path, sizeof(path), "%s/new/folder", p.dir);
    CHECK_EQ(folder_open(&f, path, 7), 0);
    CHECK_EQ(f.max_bytes, 7);
    folder_close(&f);
    CHECK(exists(&p, "new/folder"));
}
