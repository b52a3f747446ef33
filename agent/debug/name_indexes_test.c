#include "debug/name_indexes.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/shares.h"
#include "base/test.h"
#include "cache/cache.h"
#include "cfi/fixture.h"
#include "dwarf/name_index.h"
#include "parser/parser.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const struct xp_file_key key = {.ino = 7, .size = 1000};

struct bench { /* a set of indexes and what it needs */
    char dir[64];
    struct parser *parser;
    struct cache *cache;
    struct name_indexes *names;
};

static void bench_free(struct bench *b)
{
    char command[128];
    name_indexes_free(&b->names);
    cache_free(&b->cache);
    parser_free(&b->parser);
    snprintf(command, sizeof(command), "rm -rf %s", b->dir);
    if (*b->dir && system(command))
        printf("  %s stays\n", b->dir);
}

static bool bench_new(struct bench *b, bool disk)
{
    const struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    *b = (struct bench){.dir = "/tmp/xprof-test-XXXXXX"};
    if (!mkdtemp(b->dir) || parser_new(&b->parser, &limits) || (disk && cache_open(&b->cache, b->dir, 1 << 30)))
        return false;
    return !name_indexes_new(&b->names, b->parser, b->cache);
}

static unsigned count_in(const char *dir)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strstr(e->d_name, ".xpf") != NULL;
    if (d)
        closedir(d);
    return n;
}

/* As often as it takes. The descriptor of the last time. */
static int request(struct bench *b, const struct xp_file_key *k, u64 owner, const struct names_fds *f)
{
    name_indexes_get(b->names, k, owner, f);
    name_indexes_get(b->names, k, owner, f);
    return name_indexes_get(b->names, k, owner, f);
}

static bool is_index(int fd)
{
    struct name_index_header h;
    return fd >= 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h) && h.magic == NAME_INDEX_MAGIC && h.nblocks;
}

TEST(name_indexes_are_built_at_the_third_request)
{
    for (int disk = 0; disk < 2; disk++) {
        CLEANUP(bench_free) struct bench b;
        AUTO_CLOSE int fd = fixture_fd("dwarf-5");
        struct names_fds f = NAMES_FDS_OF(fd);
        CHECK(bench_new(&b, disk));
        if (fd < 0)
            SKIP("no fixture");
        for (int i = 0; i < 2; i++)
            CHECK_EQ(name_indexes_get(b.names, &key, SHARES_ALL, &f), -1);
        CHECK_EQ(count_in(b.dir), 0);
        int index = name_indexes_get(b.names, &key, SHARES_ALL, &f);
        CHECK(is_index(index));
        CHECK_EQ(count_in(b.dir), disk ? 1 : 0);
        f.file = -1; /* nobody looks at the file again */
        CHECK_EQ(name_indexes_get(b.names, &key, SHARES_ALL, &f), index);
        CHECK_EQ(name_indexes_stats(b.names).built, 1);
        CHECK_EQ(name_indexes_stats(b.names).loaded, 0);
    }
}

TEST(name_indexes_come_from_the_disk_at_once)
{
    CLEANUP(bench_free) struct bench b;
    AUTO_CLOSE int fd = fixture_fd("dwarf-5");
    struct names_fds f = NAMES_FDS_OF(fd);
    CHECK(bench_new(&b, true));
    if (fd < 0)
        SKIP("no fixture");
    CHECK(is_index(request(&b, &key, SHARES_ALL, &f)));
    name_indexes_free(&b.names);
    CHECK_EQ(name_indexes_new(&b.names, b.parser, b.cache), 0);
    CHECK(is_index(name_indexes_get(b.names, &key, SHARES_ALL, &f)));
    CHECK_EQ(name_indexes_stats(b.names).loaded, 1);
    CHECK_EQ(name_indexes_stats(b.names).built, 0);
}

/* Another inode, another time of change, another debug file: another index. */
TEST(name_indexes_of_other_files_are_others)
{
    CLEANUP(bench_free) struct bench b;
    AUTO_CLOSE int fd = fixture_fd("dwarf-stripped"), debug = fixture_fd("dwarf-5");
    struct names_fds f = NAMES_FDS_OF(fd);
    struct xp_file_key other = key;
    CHECK(bench_new(&b, true));
    if (fd < 0)
        SKIP("no fixture");
    CHECK(request(&b, &key, SHARES_ALL, &f) >= 0);
    CHECK_EQ(name_indexes_stats(b.names).built, 1);
    f.symbols = debug;
    CHECK_EQ(name_indexes_get(b.names, &key, SHARES_ALL, &f), -1);
    other.ino++;
    f.symbols = -1;
    CHECK_EQ(name_indexes_get(b.names, &other, SHARES_ALL, &f), -1);
}

TEST(name_indexes_remember_that_there_is_none)
{
    CLEANUP(bench_free) struct bench b;
    AUTO_CLOSE int text = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    struct names_fds f = NAMES_FDS_OF(text);
    CHECK(bench_new(&b, false));
    for (int i = 0; i < 5; i++)
        CHECK_EQ(name_indexes_get(b.names, &key, SHARES_ALL, &f), -1);
    CHECK_EQ(name_indexes_stats(b.names).failed, 1);
}

/* In memory, an owner with many files loses the oldest of them, and another one loses nothing. */
TEST(name_indexes_in_memory_have_shares)
{
    CLEANUP(bench_free) struct bench b;
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct names_fds f = NAMES_FDS_OF(fd);
    struct xp_file_key mine = key, theirs = key;
    CHECK(bench_new(&b, false));
    theirs.ino = 1000;
    int first = request(&b, &theirs, 2, &f);
    size_t files = ((size_t)32 << 20) / (size_t)lseek(first, 0, SEEK_END) + 2; /* more than there is memory for */
    for (mine.ino = 1; mine.ino <= files; mine.ino++)
        request(&b, &mine, 1, &f);
    mine.ino = files;
    CHECK(is_index(name_indexes_get(b.names, &mine, 1, &f)));
    CHECK(is_index(name_indexes_get(b.names, &theirs, 2, &f)));
    mine.ino = 1;
    CHECK_EQ(name_indexes_get(b.names, &mine, 1, &f), -1);
}

/* Thousands of files: as many descriptors as are kept. */
TEST(name_indexes_are_bounded)
{
    CLEANUP(bench_free) struct bench b;
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    struct names_fds f = NAMES_FDS_OF(fd);
    struct xp_file_key k = key;
    CHECK(bench_new(&b, false));
    if (fd < 0)
        SKIP("no fixture");
    int before = test_descriptors();
    for (k.ino = 1; k.ino <= 600; k.ino++)
        request(&b, &k, SHARES_ALL, &f);
    CHECK_EQ(test_descriptors() - before, 512);
    k.ino = 600;
    CHECK(is_index(name_indexes_get(b.names, &k, SHARES_ALL, &f)));
    k.ino = 1;
    CHECK_EQ(name_indexes_get(b.names, &k, SHARES_ALL, &f), -1);
}
