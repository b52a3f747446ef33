#include "cache/cache.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/dwarf.h"
#include "dwarf/names.h"
#include "cfi/fixture.h"
#include "synth/stretch_image.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct temp_dir {
    char path[32];
};
static void remove_all(struct temp_dir *t)
{
    DIR *d = opendir(t->path);
    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(t->path);
}
static struct temp_dir make_temp(void)
{
    struct temp_dir t = {"/tmp/xprof-cache.XXXXXX"};
    if (!mkdtemp(t.path))
        t.path[0] = 0;
    return t;
}

static struct table_key key_of(u8 n)
{
    return (struct table_key){.digest = {n}, .build_id = {n, n}, .build_id_len = 2};
}

static size_t image_len(const struct xp_table *t)
{
    return sizeof(*t) + 4 * ((size_t)t->nblocks + 1 + t->nrows) + 8 * (size_t)t->nrules;
}

TEST(cache_keeps_tables_over_restarts)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    const char *dir = temp.path;
    CHECK(*dir);
    u8 secret[16];
    struct table_key a = key_of(1), b = key_of(2);
    AUTO_FREE struct xp_table *t = fixture_table("cfi.so");
    CHECK(t);
    size_t len = image_len(t);
    for (int run = 0; run < 2; run++) {
        CLEANUP(cache_free) struct cache *c = NULL;
        CLEANUP(cache_image_free) struct cache_image i = {0};
        CHECK_EQ(cache_open(&c, dir, 1 << 20), 0);
        if (!run) {
            memcpy(secret, cache_secret(c), 16);
            CHECK_EQ(cache_get(c, &a, &i), -ENODATA);
            CHECK_EQ(cache_put(c, &a, t, len), 0);
        }
        CHECK(!memcmp(secret, cache_secret(c), 16));
        CHECK_EQ(cache_get(c, &a, &i), 0);
        CHECK_EQ(i.len, len);
        CHECK(!memcmp(i.table, t, len));
        CLEANUP(cache_image_free) struct cache_image other = {0};
        CHECK_EQ(cache_get(c, &b, &other), -ENODATA);
        cache_image_free(&i);
        CHECK(!i.table && !i.len);
    }
}

TEST(cache_keeps_sound_stretches)
{
    static const u8 a[16] = {1}, b[16] = {2};
    static const u32 wanted[] = {7};
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    AUTO_SYNTH struct synth none = {0};
    AUTO_BUF struct buf image = {0};
    CHECK_EQ(stretch_image_write(&none, wanted, 1, &image), 0);
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
    CHECK_EQ(cache_get_stretches(c, a), -ENODATA);
    CHECK_EQ(cache_put_stretches(c, a, image.data, image.len), 0);
    AUTO_CLOSE int fd = cache_get_stretches(c, a);
    CHECK(fd >= 0);
    CHECK_EQ(cache_put_stretches(c, b, image.data, image.len - 1), 0);
    for (int i = 0; i < 2; i++) /* and removed */
        CHECK_EQ(cache_get_stretches(c, b), -ENODATA);
    CHECK_EQ(cache_get_names(c, a), -ENODATA);
}

TEST(cache_keeps_marks)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    struct table_key a = key_of(1), b = key_of(2);
    for (int run = 0; run < 2; run++) {
        CLEANUP(cache_free) struct cache *c = NULL;
        CLEANUP(cache_image_free) struct cache_image i = {0};
        CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
        CHECK_EQ(cache_marked(c, &a, CACHE_SYNTHESISED), run);
        CHECK_EQ(cache_mark(c, &a, CACHE_SYNTHESISED), 0);
        CHECK(cache_marked(c, &a, CACHE_SYNTHESISED));
        CHECK(!cache_marked(c, &a, CACHE_NO_SYNTH) && !cache_marked(c, &b, CACHE_SYNTHESISED));
        CHECK_EQ(cache_get(c, &a, &i), -ENODATA); /* a mark is no table */
    }
}

#define SECRET FS_BLOCK /* of the disk: the file of the secret */

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

TEST(cache_removes_what_is_bad)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    const char *dir = temp.path;
    CHECK(*dir);
    CLEANUP(cache_free) struct cache *c = NULL;
    CLEANUP(cache_image_free) struct cache_image i = {0};
    struct table_key key = key_of(7);
    CHECK_EQ(cache_open(&c, dir, 1 << 20), 0);
    AUTO_FREE struct xp_table *t = fixture_table("cfi.so");
    CHECK(t);
    t->version++; /* of another release */
    CHECK_EQ(cache_put(c, &key, t, image_len(t)), 0);
    CHECK_EQ(cache_get(c, &key, &i), -ENODATA);
    CHECK_EQ(cache_put(c, &key, "", 0), 0);
    CHECK_EQ(cache_get(c, &key, &i), -ENODATA);
    char path[128]; /* gone: only the secret is left */
    snprintf(path, sizeof(path), "%s/secret", dir);
    struct stat st;
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0600);
    unlink(path);
    CHECK_EQ(rmdir(dir), 0);
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

TEST(cache_refuses_a_directory_of_others)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    const char *dir = temp.path;
    CHECK(*dir);
    struct cache *c = NULL;
    chmod(dir, 0770);
    CHECK_EQ(cache_open(&c, dir, 1 << 20), -EPERM);
    chmod(dir, 0707);
    CHECK_EQ(cache_open(&c, dir, 1 << 20), -EPERM);
    CHECK(!c);
    chmod(dir, 0700);
    if (!chown(dir, 12345, 12345)) /* root may */
        CHECK_EQ(cache_open(&c, dir, 1 << 20), -EPERM);
}

TEST(cache_makes_a_broken_secret_anew)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    const char *dir = temp.path;
    CHECK(*dir);
    CLEANUP(cache_free) struct cache *c = NULL;
    char path[128];
    snprintf(path, sizeof(path), "%s/secret", dir);
    CHECK_EQ(fs_replace_file(path, "short", 5, 0600), 0);
    CHECK_EQ(cache_open(&c, dir, 1 << 20), 0);
    static const u8 none[16];
    CHECK(memcmp(cache_secret(c), none, 16));
}

TEST(cache_keeps_line_indexes_that_are_sound)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    AUTO_CLOSE int file = fixture_fd("dwarf-5");
    AUTO_FREE u8 *index = NULL;
    size_t len;
    static const u8 a[16] = {1}, b[16] = {2};
    if (file < 0)
        SKIP("no fixture");
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds)DWARF_FDS_OF(file), (void **)&index, &len), 0);
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
    CHECK_EQ(cache_get_lines(c, a), -ENODATA);
    CHECK_EQ(cache_put_lines(c, a, index, len), 0);
    AUTO_CLOSE int fd = cache_get_lines(c, a);
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    CHECK_EQ(lseek(fd, 0, SEEK_END), len);
    CHECK_EQ(cache_get_lines(c, b), -ENODATA);
    index[len / 2] ^= 1; /* as a disk would */
    CHECK_EQ(cache_put_lines(c, b, index, len), 0);
    CHECK_EQ(cache_get_lines(c, b), -ENODATA);
    CHECK_EQ(cache_put_lines(c, b, index, (2 << 20)), -EFBIG);
}

TEST(cache_keeps_name_indexes_that_are_sound)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    AUTO_CLOSE int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct names_fds names = NAMES_FDS_OF(file);
    AUTO_FREE u8 *index = NULL;
    size_t len;
    static const u8 a[16] = {1}, b[16] = {2};
    CHECK_EQ(names_index_fds(&names, false, (void **)&index, &len), 0);
    CHECK_EQ(cache_open(&c, temp.path, SECRET + fs_disk_bytes(len)), 0);
    CHECK_EQ(cache_get_names(c, a), -ENODATA);
    CHECK_EQ(cache_put_names(c, a, index, len), 0);
    AUTO_CLOSE int fd = cache_get_names(c, a);
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    CHECK_EQ(cache_get_lines(c, a), -ENODATA); /* another kind of index */
    index[len / 2] ^= 1;
    CHECK_EQ(cache_put_names(c, b, index, len), 0); /* evicts the first one */
    CHECK_EQ(cache_get_names(c, b), -ENODATA);
    CHECK_EQ(cache_get_names(c, a), -ENODATA);
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
    CHECK_EQ(cache_put_lines(c, (const u8[16]){1}, lines, sizeof(lines)), 0);
    CHECK_EQ(cache_get_kernel(c), -ENODATA); /* there was no room for both */
    CHECK_EQ(access(foreign, F_OK), 0);
    CHECK_EQ(cache_put_kernel(c, index, sizeof(index)), 0);
    CHECK_EQ(chmod(path, 0644), 0);
    CHECK_EQ(cache_get_kernel(c), -EPERM);
    CHECK(!unlink(path) && !symlink(foreign, path));
    CHECK_EQ(cache_get_kernel(c), -ELOOP);
}

static void path_in(const struct temp_dir *t, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", t->path, name);
}

static bool exists(const struct temp_dir *t, const char *name)
{
    char path[256];
    struct stat st;
    path_in(t, name, path);
    return !lstat(path, &st);
}

/* A file of so many bytes that was used at this time. */
static bool leave(const struct temp_dir *t, const char *name, off_t bytes, struct timespec used)
{
    char path[256];
    path_in(t, name, path);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && !ftruncate(fd, bytes) && !futimens(fd, (struct timespec[2]){used, used});
}

/* The file whose name ends so was used just now, though it says that it was in 1970. */
static bool make_old(const struct temp_dir *t, const char *name)
{
    char path[256];
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    path_in(t, name, path);
    return !utimensat(AT_FDCWD, path, then, 0);
}

static bool is_old(const struct temp_dir *t, const char *name)
{
    char path[256];
    struct stat st;
    path_in(t, name, path);
    return !stat(path, &st) && st.st_mtim.tv_sec == 1000;
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
    CHECK_EQ(cache_put_lines(c, a, data, 60), 0); /* fits exactly */
    CHECK(exists(&temp, "old.xpt") && exists(&temp, "new.xpt"));
    CHECK_EQ(cache_put_lines(c, b, data, 1), 0);
    CHECK(!exists(&temp, "old.xpt") && exists(&temp, "new.xpt"));
    CHECK_EQ(cache_put_lines(c, b, data, 4 * FS_BLOCK + 1), -EFBIG);
    CHECK_EQ(cache_put_lines(c, b, data, 2 * FS_BLOCK), 0);
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

TEST(cache_names_tables_by_digest_and_build_id)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    struct table_key key = {.digest = {0xab, 0xcd}, .build_id = {0x12, 0xef}, .build_id_len = 2};
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
    CHECK_EQ(cache_mark(c, &key, CACHE_SYNTHESISED), 0);
    CHECK_EQ(cache_mark(c, &key, CACHE_NO_SYNTH), 0);
    CHECK(exists(&temp, "abcd000000000000000000000000000012ef.xps"));
    CHECK(exists(&temp, "abcd000000000000000000000000000012ef.xpn"));
    key.build_id_len = 20;
    CHECK_EQ(cache_mark(c, &key, CACHE_NO_SYNTH), 0);
    CHECK(exists(&temp, "abcd000000000000000000000000000012ef000000000000000000000000000000000000.xpn"));
    key.build_id_len = 255; /* there are 20 */
    CHECK(cache_marked(c, &key, CACHE_NO_SYNTH));
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
    CHECK_EQ(cache_put_lines(c, (const u8[16]){5}, index, len), 0);
    CHECK_EQ(cache_put(c, &key, t, image_len(t)), 0);
    CHECK_EQ(cache_mark(c, &key, CACHE_SYNTHESISED), 0);
    CHECK_EQ(cache_put_kernel(c, "index", 5), 0);
    CHECK(make_old(&temp, lines_name) && make_old(&temp, table_name) && make_old(&temp, mark_name) &&
          make_old(&temp, "kernel.xpk"));
    AUTO_CLOSE int lines = cache_get_lines(c, (const u8[16]){5});
    AUTO_CLOSE int kernel = cache_get_kernel(c);
    CHECK(lines >= 0 && kernel >= 0 && !cache_get(c, &key, &image) && cache_marked(c, &key, CACHE_SYNTHESISED));
    CHECK(!is_old(&temp, lines_name) && !is_old(&temp, table_name) && !is_old(&temp, mark_name) &&
          !is_old(&temp, "kernel.xpk"));
}

/* Others cannot write here; but a disk may be damaged, and somebody may have tidied up. */
TEST(cache_survives_what_is_no_file)
{
    static const char lines_name[] = "05000000000000000000000000000000.xpl",
                      table_name[] = "050000000000000000000000000000000505.xpt";
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    CLEANUP(cache_free) struct cache *c = NULL;
    CLEANUP(cache_image_free) struct cache_image image = {0};
    char lines[256], table[256];
    struct table_key key = key_of(5);
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
    path_in(&temp, lines_name, lines);
    path_in(&temp, table_name, table);
    CHECK(!mkdir(lines, 0700) && !mkdir(table, 0700));
    CHECK_EQ(cache_get_lines(c, (const u8[16]){5}), -ENODATA);
    CHECK_EQ(cache_get(c, &key, &image), -ENODATA);
    CHECK(!rmdir(lines) && !rmdir(table));
    CHECK(!symlink("secret", lines) && !symlink("secret", table));
    CHECK_EQ(cache_get_lines(c, (const u8[16]){5}), -ELOOP);
    CHECK_EQ(cache_get(c, &key, &image), -ELOOP);
    CHECK(!unlink(lines) && !unlink(table));
    CHECK(leave(&temp, lines_name, 0, (struct timespec){1000, 0}) && leave(&temp, table_name, 0, (struct timespec){0}));
    CHECK_EQ(cache_get_lines(c, (const u8[16]){5}), -ENODATA);
    CHECK_EQ(cache_get(c, &key, &image), -ENODATA);
    CHECK(!exists(&temp, lines_name) && !exists(&temp, table_name));
    CHECK(leave(&temp, lines_name, (1ll << 30) + 1, (struct timespec){0}) && /* holes */
          leave(&temp, table_name, (1ll << 30) + 1, (struct timespec){0}));
    CHECK_EQ(cache_get_lines(c, (const u8[16]){5}), -ENODATA);
    CHECK_EQ(cache_get(c, &key, &image), -ENODATA);
    path_in(&temp, "kernel.xpk", lines);
    CHECK_EQ(mkdir(lines, 0700), 0);
    CHECK_EQ(cache_get_kernel(c), -EPERM);
    CHECK_EQ(rmdir(lines), 0);
    CHECK_EQ(rename(temp.path, "/tmp/xprof-cache.gone"), 0);
    CHECK_EQ(cache_put_kernel(c, "index", 5), -ENOENT);
    CHECK_EQ(rename("/tmp/xprof-cache.gone", temp.path), 0);
}

TEST(cache_says_why_it_cannot_be_opened)
{
    CLEANUP(remove_all) struct temp_dir temp = make_temp();
    struct cache *c = NULL;
    char path[256];
    CHECK(leave(&temp, "file", 0, (struct timespec){0}));
    path_in(&temp, "file/cache", path);
    CHECK_EQ(cache_open(&c, path, 1 << 20), -ENOTDIR);
    path_in(&temp, "secret", path);
    CHECK_EQ(symlink("file", path), 0);
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), -ELOOP);
    CHECK(!unlink(path) && !mkdir(path, 0700));
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), -EISDIR);
    CHECK_EQ(rmdir(path), 0);
    CHECK(!c);
    CHECK_EQ(cache_open(&c, temp.path, 1 << 20), 0);
    cache_free(&c);
    CHECK(!c);
}
