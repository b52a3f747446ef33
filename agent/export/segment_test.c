/* Segments by themselves: what one holds is found again byte for byte, and what is torn or damaged is noticed. */
#include "export/segment.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "export/fixture_test.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define FIRST 0x1a2bull
#define NAME  "0000000000001a2b.seg"

static const char *const bodies[] = {"one", "",
                                     "the third body is longer than two of the blocks that are summed up together"};
#define COUNT   3
#define TIME(i) (1000 - 10 * (u64)(i)) /* the clock went back */

struct place { /* a segment in a folder, or in memory with dirfd -1 */
    struct test_folder folder;
    int dirfd, fd;
    struct segment g;
};

static void place_free(struct place *p)
{
    if (p->dirfd >= 0)
        segment_remove(&p->g, p->dirfd);
    else
        buf_free(&p->g.memory);
    xp_cleanup_close(&p->fd);
    xp_cleanup_close(&p->dirfd);
    if (p->folder.path[0])
        test_folder_free(&p->folder);
}
#define AUTO_PLACE CLEANUP(place_free) struct place

static int append(struct place *p, u64 seq, u64 wall_ns, const char *body)
{
    struct record_head h = record_head_of(seq, wall_ns, body, strlen(body));
    return segment_append(&p->g, p->fd, &h, body);
}

/* With the three records, numbered from FIRST on. */
static int place_new(struct place *p, bool disk)
{
    p->dirfd = p->fd = -1;
    int rc = disk ? test_folder_new(&p->folder) : 0;
    if (!rc && disk)
        p->dirfd = open(p->folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = rc ? rc : segment_create(&p->g, p->dirfd, FIRST, &p->fd);
    for (u64 i = 0; i < COUNT && !rc; i++)
        rc = append(p, FIRST + i, TIME(i), bodies[i]);
    return rc;
}

static u64 whole_length(void)
{
    u64 n = SEGMENT_HEADER;
    for (size_t i = 0; i < COUNT; i++)
        n += RECORD_HEAD + strlen(bodies[i]);
    return n;
}

static void check_contents(const struct segment *g, int fd, size_t n)
{
    AUTO_BUF struct buf body = {0};
    struct record_head h;
    u64 at = SEGMENT_HEADER;
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(segment_head(g, fd, at, &h), 0);
        CHECK_EQ(h.seq, FIRST + i);
        CHECK_EQ(h.wall_ns, TIME(i));
        CHECK_EQ(segment_body(g, fd, at, &h, &body), 0);
        CHECK_EQ(body.len, strlen(bodies[i]));
        CHECK(!memcmp(body.data, bodies[i], body.len));
        at += RECORD_HEAD + h.len;
    }
    CHECK_EQ(at, g->bytes);
    CHECK_EQ(segment_head(g, fd, at, &h), -ENODATA);
    CHECK_EQ(segment_head(g, fd, at - 1, &h), -EBADMSG); /* no room for a head */
    CHECK_EQ(segment_head(g, fd, at + 1, &h), -EBADMSG);
    CHECK_EQ(segment_head(g, fd, SEGMENT_HEADER + 1, &h), -EBADMSG);
}

TEST(segment_holds_records_on_disk_as_in_memory)
{
    for (int disk = 0; disk < 2; disk++) {
        AUTO_PLACE p = {.fd = -1};
        CHECK_EQ(place_new(&p, disk), 0);
        CHECK_EQ(p.g.first, FIRST);
        CHECK_EQ(p.g.next, FIRST + COUNT);
        CHECK_EQ(p.g.bytes, whole_length());
        CHECK_EQ(p.g.newest_ns, TIME(0)); /* not the last one's */
        CHECK_EQ(p.g.disk, disk);
        AUTO_CLOSE int fd = disk ? segment_open(&p.g, p.dirfd) : -1;
        CHECK_EQ(fd >= 0, disk);
        check_contents(&p.g, fd, COUNT);
    }
}

TEST(segment_files_are_ours_alone_and_not_replaced)
{
    AUTO_PLACE p = {.fd = -1};
    struct segment other = {.first = 5};
    struct stat st;
    int fd = -1;
    CHECK_EQ(place_new(&p, true), 0);
    CHECK_EQ(segment_create(&other, p.dirfd, FIRST, &fd), -EEXIST);
    CHECK_EQ(fd, -1);
    CHECK_EQ(other.first, 5);
    CHECK_EQ(fstatat(p.dirfd, NAME, &st, 0), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
    CHECK_EQ(st.st_size, whole_length());
    segment_remove(&p.g, p.dirfd);
    CHECK(fstatat(p.dirfd, NAME, &st, 0) < 0);
    CHECK_EQ(segment_open(&p.g, p.dirfd), -ENOENT);
    CHECK_EQ(segment_load(&p.g, p.dirfd, false), -ENOENT);
}

/* Whatever byte of a record is damaged, and wherever it is cut. */
TEST(segment_records_are_checked_to_the_last_byte)
{
    const char *body = bodies[2];
    size_t body_len = strlen(body), len = sizeof(struct record_head) + body_len;
    struct record_head h = record_head_of(7, 8, body, body_len);
    char bytes[200];
    mempcpy(mempcpy(bytes, &h, sizeof(h)), body, body_len);
    CHECK_EQ(record_check(bytes, len), (long)len);
    CHECK_EQ(record_check(bytes, len + 5), (long)len); /* the next one follows */
    for (size_t n = 0; n < len; n++) {
        CHECK_EQ(record_check(bytes, n), -ENODATA);
        bytes[n] ^= 4;
        CHECK_EQ(record_check(bytes, len), -EBADMSG);
        bytes[n] ^= 4;
    }
    struct record_head moved = record_head_of(8, 8, body, strlen(body)); /* the same body is another record's */
    CHECK(moved.body_check != h.body_check);
    AUTO_FREE char *giant = calloc(1, RECORD_MAX + 1);
    CHECK(giant);
    struct record_head most = record_head_of(1, 1, giant, RECORD_MAX),
                       more = record_head_of(1, 1, giant, RECORD_MAX + 1);
    CHECK_EQ(record_check(&most, sizeof(most)), -ENODATA);
    CHECK_EQ(record_check(&more, sizeof(more)), -EBADMSG);
}

/* How many of the records end before byte `n` of the file, or there. */
static size_t whole_records(u64 n, u64 *end)
{
    size_t k = 0;
    *end = SEGMENT_HEADER;
    while (k < COUNT && *end + RECORD_HEAD + strlen(bodies[k]) <= n)
        *end += RECORD_HEAD + strlen(bodies[k++]);
    return k;
}

TEST(segment_is_loaded_up_to_where_it_is_torn)
{
    AUTO_PLACE p = {.fd = -1};
    struct stat st;
    CHECK_EQ(place_new(&p, true), 0);
    for (u64 n = whole_length();; n--) {
        for (int repair = 0; repair < 2; repair++) {
            struct segment g = {.first = FIRST};
            u64 end;
            CHECK_EQ(ftruncate(p.fd, (off_t)n), 0);
            if (n < SEGMENT_HEADER) {
                CHECK_EQ(segment_load(&g, p.dirfd, repair), -EBADMSG);
                continue;
            }
            size_t k = whole_records(n, &end);
            CHECK_EQ(segment_load(&g, p.dirfd, repair), n != end);
            CHECK_EQ(g.bytes, end);
            CHECK_EQ(g.next, FIRST + k);
            CHECK_EQ(g.newest_ns, k ? TIME(0) : 0);
            CHECK(g.disk);
            check_contents(&g, p.fd, k);
            CHECK_EQ(fstat(p.fd, &st), 0);
            CHECK_EQ(st.st_size, repair ? end : n);
        }
        if (n < SEGMENT_HEADER)
            break;
        CHECK_EQ(ftruncate(p.fd, 0), 0); /* anew: what was cut off has become zeros */
        segment_remove(&p.g, p.dirfd);
        xp_cleanup_close(&p.fd);
        CHECK_EQ(segment_create(&p.g, p.dirfd, FIRST, &p.fd), 0);
        for (u64 i = 0; i < COUNT; i++)
            CHECK_EQ(append(&p, FIRST + i, TIME(i), bodies[i]), 0);
    }
}

TEST(segment_with_a_damaged_body_is_cut_there_in_a_repair)
{
    AUTO_PLACE p = {.fd = -1};
    AUTO_BUF struct buf body = {0};
    struct segment g = {.first = FIRST};
    struct record_head h;
    CHECK_EQ(place_new(&p, true), 0);
    u64 third = whole_length() - RECORD_HEAD - strlen(bodies[2]);
    CHECK_EQ(pwrite(p.fd, "X", 1, (off_t)third + RECORD_HEAD), 1);
    CHECK_EQ(segment_load(&g, p.dirfd, false), 0); /* whoever reads it will see */
    CHECK_EQ(g.next, FIRST + COUNT);
    CHECK_EQ(segment_head(&g, p.fd, third, &h), 0);
    CHECK_EQ(segment_body(&g, p.fd, third, &h, &body), -EBADMSG);
    CHECK_EQ(segment_load(&g, p.dirfd, true), 1);
    CHECK_EQ(g.next, FIRST + 2);
    CHECK_EQ(g.bytes, third);
}

TEST(segment_ends_where_numbers_go_back)
{
    AUTO_PLACE p = {.fd = -1};
    struct segment g = {.first = FIRST};
    CHECK_EQ(place_new(&p, true), 0);
    u64 end = p.g.bytes;
    CHECK_EQ(append(&p, FIRST + 9, 5000, "a gap is none of our business"), 0);
    u64 after = p.g.bytes;
    CHECK_EQ(append(&p, FIRST + 9, 6000, "a second one of that number is"), 0);
    CHECK_EQ(segment_load(&g, p.dirfd, false), 1);
    CHECK(after > end);
    CHECK_EQ(g.bytes, after);
    CHECK_EQ(g.next, FIRST + 10);
    CHECK_EQ(g.newest_ns, 5000);
}

/* A file may grow to `bytes` and no further: what a full disk looks like. */
static int limit_files(u64 bytes, struct rlimit *old)
{
    if (getrlimit(RLIMIT_FSIZE, old))
        return -1;
    struct rlimit now = {.rlim_cur = bytes, .rlim_max = old->rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &now);
}

TEST(segment_takes_a_record_whole_or_not_at_all)
{
    AUTO_PLACE p = {.fd = -1};
    struct rlimit old;
    struct stat st;
    CHECK_EQ(place_new(&p, true), 0);
    const struct segment before = p.g;
    static const struct {
        u64 room;
        int error;
    } full[] = {{RECORD_HEAD - 3, -ENOSPC}, {RECORD_HEAD, -EFBIG}, {RECORD_HEAD + 2, -EFBIG}, {0, -EFBIG}};
    for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
        int limited = limit_files(before.bytes + full[i].room, &old), rc = append(&p, FIRST + 3, 9999, "body");
        setrlimit(RLIMIT_FSIZE, &old);
        CHECK_EQ(limited, 0);
        CHECK_EQ(rc, full[i].error);
        CHECK_EQ(p.g.bytes, before.bytes);
        CHECK_EQ(p.g.next, before.next);
        CHECK_EQ(p.g.newest_ns, before.newest_ns);
        CHECK_EQ(fstat(p.fd, &st), 0);
        CHECK_EQ(st.st_size, before.bytes);
    }
    check_contents(&p.g, p.fd, COUNT);
    int limited = limit_files(10, &old), fd = -1, rc;
    struct segment g = {.first = 1};
    rc = segment_create(&g, p.dirfd, 77, &fd); /* no room for its header: it leaves no file */
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    CHECK_EQ(limited, 0);
    CHECK_EQ(rc, -EFBIG);
    CHECK_EQ(fd, -1);
    CHECK_EQ(test_folder_count(&p.folder, ".seg"), 1);
}

/* Somebody cut the file that we read. */
TEST(segment_that_lost_its_end)
{
    AUTO_PLACE p = {.dirfd = -1};
    struct record_head h;
    AUTO_BUF struct buf body = {0};
    CHECK_EQ(place_new(&p, true), 0);
    u64 last = SEGMENT_HEADER + 2 * RECORD_HEAD + strlen(bodies[0]) + strlen(bodies[1]);
    CHECK_EQ(segment_head(&p.g, p.fd, last, &h), 0);
    CHECK_EQ(ftruncate(p.fd, (off_t)(p.g.bytes - 3)), 0);
    CHECK_EQ(segment_head(&p.g, p.fd, last, &h), 0);
    CHECK_EQ(segment_body(&p.g, p.fd, last, &h, &body), -EBADMSG);
    CHECK_EQ(ftruncate(p.fd, (off_t)(last + 5)), 0);
    CHECK_EQ(segment_head(&p.g, p.fd, last, &h), -EBADMSG);
    CHECK_EQ(segment_head(&p.g, p.fd, p.g.bytes, &h), -ENODATA); /* its end, as far as we know */
    xp_cleanup_close(&p.fd);
    CHECK_EQ(segment_head(&p.g, p.fd, last, &h), -EBADF);
    CHECK_EQ(segment_body(&p.g, p.fd, SEGMENT_HEADER, &h, &body), -EBADF);
    p.fd = -1;
}
