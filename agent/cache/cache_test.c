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
    CHECK_EQ(cache_get_index(c, CACHE_STRETCHES, a), -ENODATA);
    CHECK_EQ(cache_put_index(c, CACHE_STRETCHES, a, image.data, image.len), 0);
    AUTO_CLOSE int fd = cache_get_index(c, CACHE_STRETCHES, a);
    CHECK(fd >= 0);
    CHECK_EQ(cache_put_index(c, CACHE_STRETCHES, b, image.data, image.len - 1), 0);
    for (int i = 0; i < 2; i++) /* and removed */
        CHECK_EQ(cache_get_index(c, CACHE_STRETCHES, b), -ENODATA);
    CHECK_EQ(cache_get_index(c, CACHE_NAMES, a), -ENODATA);
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
    CHECK_EQ(cache_get_index(c, CACHE_LINES, a), -ENODATA);
    CHECK_EQ(cache_put_index(c, CACHE_LINES, a, index, len), 0);
    AUTO_CLOSE int fd = cache_get_index(c, CACHE_LINES, a);
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    CHECK_EQ(lseek(fd, 0, SEEK_END), len);
    CHECK_EQ(cache_get_index(c, CACHE_LINES, b), -ENODATA);
    index[len / 2] ^= 1; /* as a disk would */
    CHECK_EQ(cache_put_index(c, CACHE_LINES, b, index, len), 0);
    CHECK_EQ(cache_get_index(c, CACHE_LINES, b), -ENODATA);
    CHECK_EQ(cache_put_index(c, CACHE_LINES, b, index, (2 << 20)), -EFBIG);
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
    CHECK_EQ(cache_get_index(c, CACHE_NAMES, a), -ENODATA);
    CHECK_EQ(cache_put_index(c, CACHE_NAMES, a, index, len), 0);
    AUTO_CLOSE int fd = cache_get_index(c, CACHE_NAMES, a);
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    CHECK_EQ(cache_get_index(c, CACHE_LINES, a), -ENODATA); /* another kind of index */
    index[len / 2] ^= 1;
    CHECK_EQ(cache_put_index(c, CACHE_NAMES, b, index, len), 0); /* evicts the first one */
    CHECK_EQ(cache_get_index(c, CACHE_NAMES, b), -ENODATA);
    CHECK_EQ(cache_get_index(c, CACHE_NAMES, a), -ENODATA);
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
    CHECK_EQ(cache_get_index(c, CACHE_LINES, (const u8[16]){5}), -ENODATA);
    CHECK_EQ(cache_get(c, &key, &image), -ENODATA);
    CHECK(!rmdir(lines) && !rmdir(table));
    CHECK(!symlink("secret", lines) && !symlink("secret", table));
    CHECK_EQ(cache_get_index(c, CACHE_LINES, (const u8[16]){5}), -ELOOP);
    CHECK_EQ(cache_get(c, &key, &image), -ELOOP);
    CHECK(!unlink(lines) && !unlink(table));
    CHECK(leave(&temp, lines_name, 0, (struct timespec){1000, 0}) && leave(&temp, table_name, 0, (struct timespec){0}));
    CHECK_EQ(cache_get_index(c, CACHE_LINES, (const u8[16]){5}), -ENODATA);
    CHECK_EQ(cache_get(c, &key, &image), -ENODATA);
    CHECK(!exists(&temp, lines_name) && !exists(&temp, table_name));
    CHECK(leave(&temp, lines_name, (1ll << 30) + 1, (struct timespec){0}) && /* holes */
          leave(&temp, table_name, (1ll << 30) + 1, (struct timespec){0}));
    CHECK_EQ(cache_get_index(c, CACHE_LINES, (const u8[16]){5}), -ENODATA);
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
