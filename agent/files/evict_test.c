/* Which files are given up when room is short, and what is known of the others afterwards. */
#include "base/clock.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

TEST(files_are_given_up_when_room_is_short)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const char *const files[] = {"elf/cfi.so", "elf/moved", "elf/plt", "elf/cfi.so"};
    for (u32 i = 0; i < 4; i++)
        CHECK_EQ(shelf_build(&s, 10 + i, files[i])->error, 0);
    u32 uid = files_get(s.files, 10)->value.uid;
    shelf_age(&s, 10, 10);
    CHECK_EQ(files_evicted(s.files), 0); /* there is room enough */
    s.files->starved = true;
    shelf_build(&s, 14, "synth/tails.so"); /* new */
    shelf_age(&s, 1, 10);
    CHECK_EQ(files_evicted(s.files), 3);
    CHECK(!s.files->starved);
    CHECK(files_get(s.files, 10) && files_get(s.files, 14));
    CHECK(!files_get(s.files, 11) && !files_get(s.files, 12) && !files_get(s.files, 13));
    CHECK_EQ(s.files->open_fds, 2);
    CHECK_EQ(fake_forgotten(s.probe), 3); /* they are announced again at their next sight */
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(shelf_build(&s, 20, "elf/cfi.so")->value.uid, uid); /* what stays is found */
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(shelf_build(&s, 21, "elf/moved")->error, 0);
    CHECK_EQ(s.files->tables.n, 3);
    CHECK(files_get(s.files, 21)->value.uid != uid);
}

TEST(files_of_the_last_rounds_stay)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    shelf_build(&s, 10, "elf/cfi.so");
    shelf_build(&s, 11, "elf/moved");
    for (u32 i = 0; i < 3; i++) {
        s.files->starved = true; /* stacks on their way still name them */
        shelf_age(&s, 1, 10);
        CHECK_EQ(files_evicted(s.files), 0);
    }
    shelf_age(&s, 1, 10);
    CHECK_EQ(files_evicted(s.files), 1);
    CHECK(files_get(s.files, 10) && !files_get(s.files, 11));
}

TEST(files_give_up_descriptors)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    s.files->max_fds = 2;
    shelf_build(&s, 10, "elf/cfi.so");
    shelf_build(&s, 11, "elf/moved");
    CHECK_EQ(shelf_build(&s, 12, "elf/plt")->fd, -1);
    CHECK_EQ(s.files->open_fds, 2);
    shelf_age(&s, 6, 10);
    CHECK(files_evicted(s.files) >= 1);
    CHECK_EQ(s.files->open_fds, 1);
    CHECK(shelf_build(&s, 13, "elf/moved")->fd >= 0);
}

TEST(files_without_room_get_it_later)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    shelf_build(&s, 10, "elf/cfi.so");
    shelf_build(&s, 11, "elf/moved");
    s.files->all.v[0].error = -EDQUOT;
    s.files->starved = true;
    shelf_age(&s, 8, 10);
    CHECK(!files_get(s.files, 11));
    CHECK(s.files->all.v[0].replaced);
    CHECK_EQ(s.files->retries.n, 1);
    unsigned before = fake_forgotten(s.probe);
    files_tick(s.files, now_ns());
    CHECK_EQ(fake_forgotten(s.probe), before); /* the words that came free are still read for a moment */
    files_tick(s.files, now_ns() + 3600 * NS_PER_SEC);
    CHECK_EQ(fake_forgotten(s.probe), before + 1);
}

/* As many go as it takes to be half of them, those first that were not used for longest. */
TEST(files_are_given_up_by_their_age)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    for (u32 id = 10; id < 18; id++)
        shelf_build(&s, id, "elf/cfi.so");
    for (u32 round = 1; round <= 20; round++) {
        u32 used[9], n = 0;
        for (u32 k = 0; k < 8; k++)
            if (round <= 6 + 2 * k)
                used[n++] = 10 + k;
        used[n++] = 99; /* was given up, or never there */
        files_age(s.files, used, n);
    }
    CHECK_EQ(files_evicted(s.files), 0);
    s.files->starved = true;
    files_age(s.files, NULL, 0);
    CHECK_EQ(files_evicted(s.files), 4);
    for (u32 id = 10; id < 18; id++)
        CHECK_EQ(files_get(s.files, id) != NULL, id >= 14);
    CHECK_EQ(fake_changes(s.probe), 1);
    CHECK_EQ(s.files->tables.n, 1); /* the others use it */
}

/* When nothing can go, nothing else happens. */
TEST(files_that_are_all_in_use_stay)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    shelf_build(&s, 10, "elf/cfi.so");
    shelf_age(&s, 10, 10);
    s.files->starved = true;
    shelf_age(&s, 1, 10);
    CHECK(s.files->starved);
    CHECK_EQ(fake_changes(s.probe), 0);
    CHECK(files_get(s.files, 10));
}

TEST(files_are_given_up_when_there_are_many)
{
    AUTO_SHELF s = {.dir = ""};
    u32 used[100], n = 0;
    CHECK_EQ(shelf_new(&s, false), 0);
    for (u32 id = 10; id < 10 + XP_MAX_FILES / 4 * 3; id++) {
        struct file_job job = {.event = {.id = id, .key = shelf_key(id, 1)}, .fd = -1, .error = -EIO};
        files_build(s.files, &job);
        if (id % 7 == 3 && n < 100)
            used[n++] = id;
    }
    for (int i = 0; i < 10; i++)
        files_age(s.files, used, n);
    CHECK_EQ(files_evicted(s.files), 0);
    struct file_job job = {.event = {.id = 9, .key = shelf_key(9, 1)}, .fd = -1, .error = -EIO};
    files_build(s.files, &job);
    files_age(s.files, used, n);
    CHECK_EQ(s.files->all.n, 101);
    CHECK_EQ(files_evicted(s.files), XP_MAX_FILES / 4 * 3 - 100);
    CHECK(files_get(s.files, used[0]) && files_get(s.files, used[99]) && files_get(s.files, 9));
    CHECK(!files_get(s.files, used[0] + 1));
}

/* The vdso stays, though nobody used it, and so do tables without rows; what was indexed by its key is found. */
TEST(files_are_found_after_others_were_given_up)
{
    AUTO_SHELF s = {.dir = ""};
    char path[4096];
    CHECK_EQ(shelf_new(&s, false), 0);
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    files_build_vdso(s.files, open(path, O_RDONLY | O_CLOEXEC));
    shelf_build(&s, 11, "elf/moved");
    shelf_build(&s, 12, "synth/go.so");
    struct file_job gone = {.event = {.id = 20, .key = shelf_key_of(10, path)}, .fd = -1, .error = -ESRCH};
    files_build(s.files, &gone);
    shelf_build(&s, 10, "elf/cfi.so");
    s.files->starved = true;
    for (int i = 0; i < 6; i++)
        files_age(s.files, (const u32[]){10, 20}, 2);
    CHECK_EQ(files_evicted(s.files), 2);
    CHECK(files_get(s.files, XP_FILE_VDSO) && !files_get(s.files, 11) && !files_get(s.files, 12));
    CHECK_EQ(files_get(s.files, 20)->id, 10);
    CHECK_EQ(files_get(s.files, 10)->id, 10);
    CHECK_EQ(s.files->tables.n, 2);
    CHECK_EQ(shelf_build(&s, 30, "elf/cfi.so")->value.uid, files_get(s.files, 10)->value.uid);
    shelf_build(&s, 31, "synth/go.so");
    CHECK_EQ(s.files->tables.n, 2);
}

/* One that was announced again is not forgotten once more: the kernel side knows it under its new number. */
TEST(files_that_were_replaced_are_not_forgotten)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    shelf_build(&s, 10, "elf/cfi.so");
    shelf_build(&s, 11, "elf/moved");
    s.files->all.v[1].replaced = true;
    s.files->starved = true;
    shelf_age(&s, 6, 10);
    CHECK_EQ(files_evicted(s.files), 1);
    CHECK_EQ(fake_forgotten(s.probe), 0);
}
