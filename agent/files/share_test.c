/* What a cgroup that maps more than its share costs: itself its tables, and its neighbours nothing. */
#include "base/test.h"
#include "files/shelf_test.h"
#include <errno.h>

#define HOG   7
#define OTHER 8

static u64 words_of(struct shelf *s, u64 cgroup)
{
    return shares_held(&fake_shards(s->probe)->shares, cgroup);
}

/* Leaves as much room as the table of a fixture takes of a new owner's share, and not more. */
static void leave_room_for(struct shelf *s, const char *fixture)
{
    AUTO_SHELF other = {.dir = ""};
    u64 words = shelf_new(&other, false) || !shelf_build(&other, 10, fixture) ? 0 : words_of(&other, SHARES_ALL);
    struct shares *shares = &fake_shards(s->probe)->shares;
    shares->limit = shares->used + words + words / SHARES_PART;
}

TEST(share_that_is_full_refuses_its_owner_only)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    CHECK_EQ(shelf_build_for(&s, HOG, 10, "elf/cfi.so")->error, 0);
    u64 held = words_of(&s, HOG);
    CHECK(held > 0);
    leave_room_for(&s, "elf/moved");
    const struct file *refused = shelf_build_for(&s, HOG, 11, "elf/moved");
    CHECK_EQ(refused->error, -EUSERS);
    CHECK_EQ(fake_file(s.probe, &refused->key).state, XP_FILE_NO_SHARE);
    CHECK_EQ(words_of(&s, HOG), held);
    CHECK_EQ(shelf_build_for(&s, OTHER, 12, "elf/moved")->error, 0);
    CHECK(words_of(&s, OTHER) > 0);
    CHECK(!s.files->starved); /* nobody else loses tables for it */
}

TEST(share_of_a_file_that_others_have_too_is_its_first_owners)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    CHECK_EQ(shelf_build_for(&s, HOG, 10, "elf/cfi.so")->error, 0);
    CHECK_EQ(shelf_build_for(&s, OTHER, 11, "elf/cfi.so")->error, 0);
    CHECK_EQ(words_of(&s, OTHER), 0);
}

/* A cgroup with many files that want synthesised rows, and one with a single file that came after them. */
TEST(share_of_the_time_for_synthesis)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    s.files->max_fds = 300;
    for (u32 id = 10; id < 10 + 200; id++) {
        shelf_build_for(&s, HOG, id, "synth/shapes.so");
        files_want_synth(s.files, id, 0);
    }
    CHECK_EQ(s.files->synth_wanted.n, 256 / 4);
    files_synth_one(s.files);
    CHECK(!files_is_open(s.files, 10) && files_is_open(s.files, 11));
    turns_spend(&s.files->synth_turns, HOG, NS_PER_SEC); /* it was a large file */
    s.files->synth_budget.ns = -(s64)NS_PER_SEC;
    s.files->synth_budget.paid_ns = now_ns();
    CHECK(!files_synth_waiting(s.files, now_ns()));
    shelf_build_for(&s, OTHER, 300, "synth/tails.so");
    files_want_synth(s.files, 300, 0);
    CHECK(files_synth_waiting(s.files, now_ns()));
    files_synth_one(s.files);
    CHECK(!files_is_open(s.files, 300) && files_is_open(s.files, 11));
    shelf_age(&s, 5, 300); /* forgotten, in the end */
    CHECK(turns_spent(&s.files->synth_turns, HOG) < NS_PER_SEC / 8);
}

TEST(share_makes_room_among_its_own_files)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    shelf_build_for(&s, HOG, 10, "elf/cfi.so");
    shelf_build_for(&s, OTHER, 11, "elf/plt");
    leave_room_for(&s, "elf/moved");
    CHECK_EQ(shelf_build_for(&s, HOG, 12, "elf/moved")->error, -EUSERS);
    shelf_age(&s, 3, 12);
    CHECK_EQ(files_evicted(s.files), 0); /* stacks on their way still name it */
    shelf_age(&s, 1, 12);
    CHECK_EQ(files_evicted(s.files), 1);
    CHECK(!files_get(s.files, 10));
    CHECK(files_get(s.files, 11)); /* as old, but it is not in its owner's way */
    CHECK_EQ(s.files->retries.n, 1);
    CHECK_EQ(words_of(&s, HOG), 0);
}

TEST(share_that_is_exceeded_is_the_first_to_lose)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    shelf_build_for(&s, HOG, 10, "elf/cfi.so");
    shelf_build_for(&s, OTHER, 11, "elf/plt");
    fake_shards(s.probe)->shares.limit = fake_shards(s.probe)->shares.used + 3;
    CHECK_EQ(shelf_build_for(&s, 9, 12, "elf/moved")->error, -EDQUOT);
    CHECK(s.files->starved);
    CHECK(probe_over_share(s.probe, HOG));
    u64 others = words_of(&s, OTHER);
    bool over = probe_over_share(s.probe, OTHER);
    shelf_age(&s, 1, 10); /* in use, and yet */
    CHECK(!files_get(s.files, 10));
    CHECK_EQ(words_of(&s, HOG), 0);
    CHECK_EQ(words_of(&s, OTHER), over ? 0 : others);
    CHECK(s.files->all.v[0].replaced || s.files->all.v[1].replaced); /* whoever had no room gets it */
    CHECK(!s.files->starved);
}

/* Whoever lost all of its files may bring new ones. */
TEST(share_of_known_files_is_told_when_none_is_left)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    shelf_build_for(&s, HOG, 10, "elf/cfi.so");
    shelf_build_for(&s, OTHER, 11, "elf/plt");
    shelf_age(&s, 1, 10);
    CHECK_EQ(fake_cgroup_files(s.probe, HOG), 1);
    fake_shards(s.probe)->shares.limit = fake_shards(s.probe)->shares.used;
    s.files->starved = true;
    shelf_age(&s, 1, 10);
    CHECK(!files_get(s.files, 10));
    CHECK_EQ(fake_cgroup_files(s.probe, HOG), 0);
}

TEST(share_counts_for_nobody_in_a_recording)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    shelf_build_for(&s, HOG, 10, "elf/cfi.so");
    leave_room_for(&s, "elf/moved");
    CHECK_EQ(shelf_build_for(&s, HOG, 11, "elf/moved")->error, 0);
    shelf_age(&s, 1, 10);
    CHECK_EQ(fake_cgroup_files(s.probe, HOG), 0);
}

TEST(share_of_known_files_is_told_to_the_kernel_side)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    files_share(s.files);
    u32 many = FILES_OF_CGROUP / 4 * 3 - 1;
    for (u32 i = 0; i < many; i++)
        shelf_build_for(&s, HOG, 10 + i, "elf/plt.c");
    shelf_build_for(&s, OTHER, 5, "elf/plt.c");
    shelf_age(&s, 6, 10);
    CHECK_EQ(fake_cgroup_files(s.probe, HOG), many);
    CHECK_EQ(fake_cgroup_files(s.probe, OTHER), 1);
    CHECK_EQ(files_evicted(s.files), 0);
    shelf_build_for(&s, HOG, 10 + many, "elf/plt.c");
    shelf_age(&s, 1, 10); /* three quarters: room is made before there is none */
    CHECK_EQ(fake_cgroup_files(s.probe, HOG), 2);
    CHECK(files_get(s.files, 10) && files_get(s.files, 10 + many) && files_get(s.files, 5));
}
