/* Files with the real parser and the kernel side of probe/fake_test.h: how they are built, shared and tried again. */
#include "base/clock.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One that could not be opened. */
static const struct file *fail(struct shelf *s, u32 id, int error)
{
    struct file_job job = {.event = {.id = id, .key = shelf_key(7, 1)}, .fd = -1, .error = error};
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
    const struct file *one = shelf_build(&s, 10, "elf/cfi.so");
    CHECK(one && !one->error);
    CHECK_EQ(strlen(one->build_id), 40);
    CHECK_EQ(published(&s, one).state, XP_FILE_READY);
    CHECK_EQ(published(&s, one).id, 10);
    CHECK(one->rows > 0 && one->fd >= 0 && one->value.nblocks > 0);
    u32 uid = one->value.uid, rows = one->rows;
    const struct file *two = shelf_build(&s, 11, "elf/cfi.so"), *other = shelf_build(&s, 12, "elf/moved");
    CHECK_EQ(two->value.uid, uid);
    CHECK_EQ(two->rows, rows);
    CHECK(other->value.uid && other->value.uid != uid);
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(s.files->open_fds, 3);
    CHECK_EQ(published(&s, shelf_build(&s, 13, "elf/plt.c")).state, XP_FILE_FP); /* no ELF file */
    CHECK(!files_get(s.files, 14));
    CHECK(files_all(s.files, &n) && n == 4);
    unsigned before = fake_forgotten(s.probe);
    shelf_build(&s, 10, "elf/moved"); /* its number is another file's */
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
    struct file_job job = {.event = {.id = id, .key = shelf_key(8, 1)}, .fd = -1, .error = -EPERM};
    files_build(s.files, &job);
    CHECK_EQ(published(&s, files_get(s.files, id)).state, XP_FILE_FAILED); /* nobody will have more luck */
    CHECK_EQ(fake_forgotten(s.probe), 65);
}

/* The names of a process that was gone are those of the next one's file. */
TEST(files_are_found_under_their_next_number)
{
    AUTO_SHELF s = {.dir = ""};
    char path[4096];
    CHECK_EQ(shelf_new(&s, false), 0);
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    struct file_job gone = {.event = {.id = 20, .key = shelf_key_of(10, path)}, .fd = -1, .error = -ESRCH};
    files_build(s.files, &gone);
    CHECK_EQ(files_get(s.files, 20)->id, 20);
    CHECK_EQ(shelf_build(&s, 10, "elf/cfi.so")->error, 0);
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
    struct xp_file_key seen[] = {shelf_key_of(7, path), shelf_key_of(8, path), shelf_key_of(9, path)};
    seen[0].size++;
    seen[1].ctime_sec--;
    seen[2].ctime_nsec ^= 1;
    for (u32 i = 0; i < 3; i++) { /* as large, or as old, as the file that was there */
        struct file_job job = {.event = {.id = 7 + i, .key = seen[i]}, .fd = open(path, O_RDONLY | O_CLOEXEC)};
        files_build(s.files, &job);
        CHECK_EQ(files_get(s.files, 7 + i)->error, -ESTALE);
    }
    struct file_job job = {.event = {.id = 11, .key = shelf_key_of(11, path)}, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    files_build(s.files, &job);
    const struct file *f = files_get(s.files, 11);
    CHECK_EQ(f->error, -ENOEXEC);
    CHECK_EQ(f->value.flags, XP_FILE_NO_ELF);
    CHECK(!files_changed(f));
    CHECK_EQ(write(fd, "more", 4), 4);
    CHECK(files_changed(f));
}

/* A file that is changed in place, though its size, or the second, stays the same. */
TEST(files_that_were_written_to_have_changed)
{
    static const struct timespec times[][2] = {{{1, 2}, {1, 3}}, {{1, 2}, {2, 2}}};
    for (size_t i = 0; i < 2; i++) {
        AUTO_SHELF s = {.dir = ""};
        char path[128];
        CHECK_EQ(shelf_new(&s, false), 0);
        snprintf(path, sizeof(path), "%s/f", s.dir);
        AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        CHECK_EQ(write(fd, "text", 4), 4);
        CHECK_EQ(futimens(fd, (struct timespec[2]){times[i][0], times[i][0]}), 0);
        struct file_job job = {.event = {.id = 10, .key = shelf_key_of(10, path)},
                               .fd = open(path, O_RDONLY | O_CLOEXEC)};
        files_build(s.files, &job);
        const struct file *f = files_get(s.files, 10);
        CHECK_EQ(f->mtime_ns, 1000000002);
        CHECK_EQ(f->size, 4);
        CHECK(!files_changed(f));
        CHECK_EQ(futimens(fd, (struct timespec[2]){times[i][0], times[i][1]}), 0);
        CHECK(files_changed(f));
        CHECK_EQ(ftruncate(fd, 5), 0);
        CHECK_EQ(futimens(fd, (struct timespec[2]){times[i][0], times[i][0]}), 0);
        CHECK(files_changed(f));
    }
}

/* What is nobody's fault, and what will be the same next time. */
TEST(files_are_tried_again_after_some_errors)
{
    static const struct {
        int error;
        bool again;
    } cases[] = {{-ESRCH, true},  {-ENOENT, true}, {-ESTALE, true}, {-ECHILD, true},   {-ENOMEM, true}, {-EMFILE, true},
                 {-ENFILE, true}, {-EPERM, false}, {-EIO, false},   {-EBADMSG, false}, {-EACCES, false}};
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct file_job job = {.event = {.id = 10 + i, .key = shelf_key(10 + i, 1)}, .fd = -1, .error = cases[i].error};
        unsigned before = fake_forgotten(s.probe);
        files_build(s.files, &job);
        const struct file *f = files_get(s.files, 10 + i);
        CHECK_EQ(f->error, cases[i].error);
        CHECK_EQ(fake_forgotten(s.probe) - before, cases[i].again);
        CHECK_EQ(published(&s, f).state, cases[i].again ? XP_FILE_PENDING : XP_FILE_FAILED);
    }
    CHECK(s.files->warned);
}

TEST(files_that_wait_for_another_try_are_bounded)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    for (u32 i = 0; i < 1024; i++)
        CHECK(files_retry(s.files, &(struct xp_file_key){.ino = i}, i % 2 ? NS_PER_SEC : 3600 * NS_PER_SEC));
    CHECK(!files_retry(s.files, &(struct xp_file_key){.ino = 5000}, NS_PER_SEC));
    u64 later = now_ns() + 60 * NS_PER_SEC;
    files_tick(s.files, later);
    CHECK_EQ(fake_forgotten(s.probe), 512);
    CHECK_EQ(fake_changes(s.probe), 1); /* the kernel side has to look at them anew */
    CHECK_EQ(s.files->retries.n, 512);
    CHECK_EQ(s.files->retries.v[511].key.ino, 1022);
    files_tick(s.files, later);
    CHECK_EQ(fake_changes(s.probe), 1);
}

TEST(files_without_room_in_the_shards)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    fake_refuse_tables(s.probe, -ENOSPC);
    const struct file *f = shelf_build(&s, 10, "elf/cfi.so");
    CHECK_EQ(f->error, -EDQUOT);
    CHECK_EQ(published(&s, f).state, XP_FILE_NO_ROOM);
    CHECK(s.files->starved);
    CHECK_EQ(f->rows, 0);
    s.files->starved = false;
    fake_refuse_tables(s.probe, -EIO);
    f = shelf_build(&s, 11, "elf/cfi.so");
    CHECK_EQ(f->error, -EIO);
    CHECK_EQ(published(&s, f).state, XP_FILE_FAILED);
    CHECK(!s.files->starved);
    CHECK(!files_is_open(s.files, 11));
    CHECK_EQ(s.files->tables.n, 0);
    fake_refuse_tables(s.probe, 0);
    CHECK_EQ(shelf_build(&s, 12, "elf/cfi.so")->error, 0);
}

TEST(files_without_unwind_information_take_no_room)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    fake_refuse_tables(s.probe, -ENOSPC);
    const struct file *f = shelf_build(&s, 10, "synth/go.so");
    CHECK_EQ(f->error, 0);
    CHECK_EQ(f->value.nblocks, 0);
    CHECK_EQ(published(&s, f).state, XP_FILE_FP);
    CHECK(published(&s, f).flags & XP_TABLE_FP_OK);
    shelf_build(&s, 11, "synth/go.so");
    CHECK_EQ(s.files->tables.n, 1);
}

TEST(files_have_a_vdso)
{
    AUTO_SHELF s = {.dir = ""};
    size_t n;
    char path[4096];
    CHECK_EQ(shelf_new(&s, false), 0);
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    files_build_vdso(s.files, open(path, O_RDONLY | O_CLOEXEC));
    const struct file *f = files_get(s.files, XP_FILE_VDSO);
    CHECK(f && !f->error);
    CHECK_STR(f->path, "[vdso]");
    CHECK(f->fd >= 0 && f->value.nblocks > 0 && f->value.id == XP_FILE_VDSO);
    CHECK_EQ(s.files->open_fds, 1);
    files_want_synth(s.files, XP_FILE_VDSO, 0); /* its code has all that it needs */
    CHECK(!files_synth_waiting(s.files, now_ns()));
    files_build_vdso(s.files, open(path, O_RDONLY | O_CLOEXEC)); /* there is one */
    CHECK(files_all(s.files, &n) && n == 1);
}

TEST(files_have_no_vdso_that_is_no_program)
{
    AUTO_SHELF s = {.dir = ""};
    char path[4096];
    CHECK_EQ(shelf_new(&s, false), 0);
    snprintf(path, sizeof(path), "%s/elf/plt.c", test_data());
    files_build_vdso(s.files, open(path, O_RDONLY | O_CLOEXEC));
    const struct file *f = files_get(s.files, XP_FILE_VDSO);
    CHECK_EQ(f->error, -ENOEXEC);
    CHECK_EQ(f->value.id, 0);
}

/* A table on the disk is taken as it is: the parser is not asked for another one. */
TEST(files_have_tables_from_the_disk)
{
    AUTO_SHELF s = {.dir = ""};
    struct table_key key;
    struct cache_image image;
    CHECK_EQ(shelf_new(&s, true), 0);
    parser_set_secret(s.parser, cache_secret(s.cache));
    const struct file *f = shelf_build(&s, 10, "elf/cfi.so"), *other = shelf_build(&s, 11, "elf/symbols.so");
    CHECK(f->rows != other->rows);
    u32 rows = other->rows;
    CHECK_EQ(parser_identify(s.parser, other->fd, &key), 0);
    CHECK_EQ(cache_get(s.cache, &key, &image), 0); /* it is kept */
    CHECK_EQ(parser_identify(s.parser, files_get(s.files, 10)->fd, &key), 0);
    CHECK_EQ(cache_put(s.cache, &key, image.table, image.len), 0);
    cache_image_free(&image);
    files_free(&s.files);
    CHECK_EQ(files_new(&s.files, s.probe, s.parser, s.cache, false), 0);
    f = shelf_build(&s, 20, "elf/cfi.so");
    CHECK_EQ(f->rows, rows);
    CHECK(!files_is_open(s.files, 20)); /* nothing is synthesised */
    files_want_synth(s.files, 20, 0);
    CHECK(!files_synth_waiting(s.files, now_ns()));
}
