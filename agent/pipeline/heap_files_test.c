/* Files that are known, without any: none of these mappings exists, so none can be opened. */
#include "pipeline/heap_files.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <fcntl.h>
#include <linux/magic.h>

enum { FIRST = 100, TGID = 1u << 30 /* nobody's */ };

static int read_none(struct parser *parser, int fd, struct allocators *out)
{
    return 0;
}

static struct known_file *know(struct heap_files *f, u32 id)
{
    return heap_files_know(f, &(struct xp_listed){.at = {4096, 8192, 0, TGID, id}, .magic = TMPFS_MAGIC});
}

/* As if it had allocators, and a process was followed in it. */
static void use(struct known_file *known)
{
    known->fd = open("/dev/null", O_PATH | O_CLOEXEC);
    known->sites = calloc(1, sizeof(*known->sites));
    known->users++;
}

static void fill(struct heap_files *f)
{
    for (u32 id = FIRST; f->all.n < HEAP_FILES_MAX; id++)
        know(f, id);
}

static bool is_in_use(const struct heap_files *f, u32 id)
{
    const struct known_file *known = heap_files_find(f, id);
    return known && known->id == id && known->users == 1 && known->fd >= 0 && known->sites;
}

TEST(heap_files_that_are_followed_are_not_forgotten)
{
    CLEANUP(heap_files_free) struct heap_files f = {.read = read_none};
    const u32 used[] = {FIRST, FIRST + 7, FIRST + HEAP_FILES_MAX - 1}, fresh = FIRST + HEAP_FILES_MAX;
    int before = test_descriptors();
    fill(&f);
    CHECK_EQ(f.failed, HEAP_FILES_MAX);
    for (size_t i = 0; i < 3; i++)
        use(heap_files_find(&f, used[i]));
    const struct known_file *known = know(&f, fresh);
    CHECK(known && known->id == fresh);
    for (size_t i = 0; i < 3; i++)
        CHECK(is_in_use(&f, used[i]));
    CHECK(f.all.n == 4 && f.places.n == 4); /* the others are read again when they are mapped again */
    CHECK(heap_files_find(&f, fresh) == known && !heap_files_find(&f, FIRST + 1));
    for (size_t i = 0; i < 3; i++) {
        heap_files_give(&f, used[i]);
        CHECK(heap_files_find(&f, used[i])->closed && heap_files_find(&f, used[i])->fd < 0);
    }
    CHECK_EQ(test_descriptors(), before);
}

/* Whoever asks them may wait for ever. */
TEST(heap_files_of_remote_file_systems_are_left_alone)
{
    CLEANUP(heap_files_free) struct heap_files f = {.read = read_none};
    const struct xp_listed remote = {.at = {4096, 8192, 0, TGID, FIRST}, .magic = FUSE_SUPER_MAGIC};
    for (int i = 0; i < 10; i++) {
        const struct known_file *known = heap_files_know(&f, &remote);
        CHECK(known && known->remote && known->fd < 0);
    }
    CHECK(f.remote == 1 && !f.failed);
    know(&f, FIRST + 1);
    CHECK(f.remote == 1 && f.failed == 1);
}

/* There is none that could go. */
TEST(heap_files_are_refused_if_all_are_followed)
{
    CLEANUP(heap_files_free) struct heap_files f = {.read = read_none};
    fill(&f);
    for (size_t i = 0; i < f.all.n; i++)
        f.all.v[i].users = 1;
    u64 failed = f.failed;
    CHECK(!know(&f, FIRST + HEAP_FILES_MAX));
    CHECK_EQ(f.failed, failed + 1);
    CHECK_EQ(f.all.n, HEAP_FILES_MAX);
    CHECK(know(&f, FIRST + 5)); /* those that are known are */
    heap_files_give(&f, FIRST + 5);
    const struct known_file *known = know(&f, FIRST + HEAP_FILES_MAX);
    CHECK(known && known->id == FIRST + HEAP_FILES_MAX && !heap_files_find(&f, FIRST + 5));
}

/* The process may have ended before its file was opened. */
TEST(heap_files_that_could_not_be_read_are_tried_again)
{
    CLEANUP(heap_files_free) struct heap_files f = {.read = read_none};
    for (int i = 0; i < 10; i++)
        CHECK(know(&f, FIRST));
    CHECK_EQ(f.failed, 3);
}

TEST(heap_files_are_read_again_once_nobody_has_followed_them)
{
    CLEANUP(heap_files_free) struct heap_files f = {.read = read_none};
    know(&f, FIRST);
    use(heap_files_find(&f, FIRST));
    heap_files_find(&f, FIRST)->users++;
    heap_files_give(&f, FIRST);
    CHECK(is_in_use(&f, FIRST));
    heap_files_give(&f, FIRST);
    heap_files_give(&f, FIRST); /* once too often: does nothing */
    CHECK_EQ(f.failed, 1);
    know(&f, FIRST);
    CHECK_EQ(f.failed, 2);
}
