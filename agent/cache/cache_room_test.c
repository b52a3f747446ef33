/* What a cache may take of the disk, and what goes when that is too much. */
#include "cache/cache.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cache/temp_dir_test.h"
#include "dwarf/dwarf.h"
#include "dwarf/names.h"
#include "cfi/fixture.h"
#include "synth/stretch_image.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* They count, and go like all others. */
TEST(cache_bounds_marks)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    CHECK_EQ(cache_open(&c, temp.path, SECRET + 32 * FS_BLOCK), 0);
    unsigned kept = 0;
    for (u8 n = 0; n < 100; n++) {
        struct table_key key = key_of(n);
        CHECK_EQ(cache_mark(c, &key, CACHE_NO_SYNTH), 0);
    }
    for (u8 n = 0; n < 100; n++) {
        struct table_key key = key_of(n);
        kept += cache_marked(c, &key, CACHE_NO_SYNTH);
    }
    CHECK(kept == 32);
}

TEST(cache_evicts_what_was_used_longest_ago)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    const char *dir = temp.path;
    CHECK(*dir);
    CLEANUP(cache_free) struct cache *c = NULL;
    AUTO_FREE struct xp_table *t = fixture_table("cfi.so");
    CHECK(t);
    size_t len = image_len(t);
    CHECK_EQ(cache_open(&c, dir, SECRET + 3 * fs_disk_bytes(len)), 0);
    for (u8 n = 1; n <= 4; n++) {
        struct table_key k = key_of(n), first = key_of(1);
        CLEANUP(cache_image_free) struct cache_image i = {0};
        CHECK_EQ(cache_put(c, &k, t, len), 0);
        usleep(20000); /* file times have the grain of a tick */
        CHECK_EQ(cache_get(c, &first, &i), 0);
    }
    struct table_key second = key_of(2), third = key_of(3);
    CLEANUP(cache_image_free) struct cache_image i = {0}, gone = {0};
    CHECK_EQ(cache_get(c, &second, &gone), -ENODATA);
    CHECK_EQ(cache_get(c, &third, &i), 0);
    CHECK_EQ(cache_put(c, &second, t, 4 * fs_disk_bytes(len) + 1), -EFBIG);
}

/* The index of the kernel's symbols counts like all else, and goes when it was not used for longest; what is not the
 * cache's own stays. */
TEST(cache_counts_the_index_of_the_kernel)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    char path[64], foreign[64];
    static const char index[3000], lines[3000];
    snprintf(path, sizeof(path), "%s/kernel.xpk", temp.path);
    snprintf(foreign, sizeof(foreign), "%s/notes", temp.path);
    CHECK_EQ(fs_replace_file(foreign, lines, sizeof(lines), 0600), 0);
    CHECK_EQ(cache_open(&c, temp.path, SECRET + FS_BLOCK), 0);
    CHECK_EQ(cache_get_kernel(c), -ENODATA);
    CHECK_EQ(cache_put_kernel(c, index, 2 * FS_BLOCK + 1), -EFBIG);
    CHECK_EQ(cache_put_kernel(c, index, sizeof(index)), 0);
    AUTO_CLOSE int fd = cache_get_kernel(c);
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    CHECK_EQ(cache_put_index(c, CACHE_LINES, (const u8[16]){1}, lines, sizeof(lines)), 0);
    CHECK_EQ(cache_get_kernel(c), -ENODATA); /* there was no room for both */
    CHECK_EQ(access(foreign, F_OK), 0);
    CHECK_EQ(cache_put_kernel(c, index, sizeof(index)), 0);
    CHECK_EQ(chmod(path, 0644), 0);
    CHECK_EQ(cache_get_kernel(c), -EPERM);
    CHECK(!unlink(path) && !symlink(foreign, path));
    CHECK_EQ(cache_get_kernel(c), -ELOOP);
}

TEST(cache_shrinks_to_its_limit_when_it_is_opened)
{
    static const struct {
        const char *name;
        struct timespec used;
    } left[] = {/* in the order in which they go */
                {"aa.xpt.Xy1234", {1000, 5}}, {"zz.xpl", {1000, 6}}, {"bb.xps", {1001, 1}}, {"cc.xpn", {1001, 2}},
                {"kernel.xpk", {1002, 0}},    {"dd.xpt", {1003, 0}}, {"ee.xpt", {1003, 0}}};
    for (size_t keep = 0; keep <= 7; keep++) {
        CLEANUP(remove_all) struct temp_dir temp = make_temp();
        CLEANUP(cache_free) struct cache *c = NULL;
        for (size_t i = 7; i-- > 0;)
            CHECK(leave(&temp, left[i].name, 10, left[i].used));
        CHECK(leave(&temp, "notes", 1000, left[0].used)); /* not the cache's */
        CHECK_EQ(cache_open(&c, temp.path, SECRET + FS_BLOCK * keep + (FS_BLOCK - 1) * (keep < 7)), 0);
        for (size_t i = 0; i < 7; i++)
            CHECK_EQ(exists(&temp, left[i].name), i >= 7 - keep);
        CHECK(exists(&temp, "notes"));
    }
}

/* What is there counts from the first moment on, and room is made for as much as is needed. */
TEST(cache_makes_room_for_what_comes)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    static const u8 a[16] = {1}, b[16] = {2};
    static const char data[4 * FS_BLOCK];
    CHECK(leave(&temp, "old.xpt", 50, (struct timespec){1000, 0}));
    CHECK(leave(&temp, "new.xpt", 50, (struct timespec){1001, 0}));
    CHECK_EQ(cache_open(&c, temp.path, SECRET + 3 * FS_BLOCK), 0);
    CHECK_EQ(cache_put_index(c, CACHE_LINES, a, data, 60), 0); /* fits exactly */
    CHECK(exists(&temp, "old.xpt") && exists(&temp, "new.xpt"));
    CHECK_EQ(cache_put_index(c, CACHE_LINES, b, data, 1), 0);
    CHECK(!exists(&temp, "old.xpt") && exists(&temp, "new.xpt"));
    CHECK_EQ(cache_put_index(c, CACHE_LINES, b, data, 4 * FS_BLOCK + 1), -EFBIG);
    CHECK_EQ(cache_put_index(c, CACHE_LINES, b, data, 2 * FS_BLOCK), 0);
    CHECK(!exists(&temp, "new.xpt"));
    CHECK(exists(&temp, "02000000000000000000000000000000.xpl"));
}

/* Names that are too long for one of ours, directories and links are left alone, and do not count. */
TEST(cache_counts_files_only)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    char path[256], target[256], long_name[160];
    memset(long_name, 'a', sizeof(long_name));
    strcpy(long_name + 150, ".xpt");
    path_in(&temp, "dir.xpt", path);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK(leave(&temp, "target", 1000, (struct timespec){1000, 0}));
    path_in(&temp, "target", target);
    path_in(&temp, "link.xpt", path);
    CHECK_EQ(symlink(target, path), 0);
    CHECK(leave(&temp, long_name, 1000, (struct timespec){1000, 0}));
    CHECK(leave(&temp, "table.xpt", 10, (struct timespec){1000, 0}));
    CHECK_EQ(cache_open(&c, temp.path, SECRET + FS_BLOCK), 0);
    CHECK(exists(&temp, "table.xpt") && exists(&temp, "link.xpt") && exists(&temp, long_name));
    path_in(&temp, "dir.xpt", path);
    CHECK_EQ(rmdir(path), 0);
}

/* Whatever is asked for is used, and stays longer. */
TEST(cache_renews_what_is_used)
{
    static const char lines_name[] = "05000000000000000000000000000000.xpl",
                      table_name[] = "060000000000000000000000000000000606.xpt",
                      mark_name[] = "060000000000000000000000000000000606.xps";
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    CLEANUP(cache_image_free) struct cache_image image = {0};
    AUTO_CLOSE int file = fixture_fd("dwarf-5");
    AUTO_FREE struct xp_table *t = fixture_table("cfi.so");
    AUTO_FREE u8 *index = NULL;
    struct table_key key = key_of(6);
    size_t len;
    if (file < 0)
        SKIP("no fixture");
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds)DWARF_FDS_OF(file), (void **)&index, &len), 0);
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
    CHECK_EQ(cache_put_index(c, CACHE_LINES, (const u8[16]){5}, index, len), 0);
    CHECK_EQ(cache_put(c, &key, t, image_len(t)), 0);
    CHECK_EQ(cache_mark(c, &key, CACHE_SYNTHESISED), 0);
    CHECK_EQ(cache_put_kernel(c, "index", 5), 0);
    CHECK(make_old(&temp, lines_name) && make_old(&temp, table_name) && make_old(&temp, mark_name) &&
          make_old(&temp, "kernel.xpk"));
    AUTO_CLOSE int lines = cache_get_index(c, CACHE_LINES, (const u8[16]){5});
    AUTO_CLOSE int kernel = cache_get_kernel(c);
    CHECK(lines >= 0 && kernel >= 0 && !cache_get(c, &key, &image) && cache_marked(c, &key, CACHE_SYNTHESISED));
    CHECK(!is_old(&temp, lines_name) && !is_old(&temp, table_name) && !is_old(&temp, mark_name) &&
          !is_old(&temp, "kernel.xpk"));
}
