#include "debug/line_indexes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "debug/debug.h"
#include "debug/debuginfod.h"
#include "net/http_server_test.h"
#include "cache/cache.h"
#include "dwarf/crafted.h"
#include "dwarf/dwarf.h"
#include "cfi/fixture.h"
#include "parser/parser.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct xp_file_key key = {.ino = 7, .size = 1000};

struct bench { /* a set of indexes and what it needs */
    char dir[64];
    struct parser *parser;
    struct cache *cache;
    struct debug_search_paths places;
    struct line_indexes *lines;
};

static void bench_free(struct bench *b)
{
    char command[128];
    line_indexes_free(&b->lines);
    debuginfod_free(&b->places.server);
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
    b->places = (struct debug_search_paths){.parser = b->parser, .host = -1};
    return !line_indexes_new(&b->lines, &b->places, b->cache);
}

/* A set of indexes, a program without debug information, and one that has it. */
#define WITH_DEBUG_FILE(disk)                               \
    CLEANUP(bench_free) struct bench b;                     \
    struct line_index x;                                    \
    AUTO_CLOSE int full = fixture_fd("dwarf-5");            \
    AUTO_CLOSE int stripped = fixture_fd("dwarf-stripped"); \
    CHECK(bench_new(&b, disk));                             \
    if (full < 0 || stripped < 0)                           \
    SKIP("no fixtures")

static unsigned count_in(const char *dir, const char *suffix)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strstr(e->d_name, suffix) != NULL;
    if (d)
        closedir(d);
    return n;
}

static bool is_index(int fd)
{
    struct dwarf_index_header h;
    return fd >= 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h) && h.magic == DWARF_INDEX_MAGIC && h.functions;
}

TEST(line_indexes_are_made_once)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x, again;
    AUTO_CLOSE int fd = fixture_fd("dwarf-5");
    CHECK(bench_new(&b, false));
    if (fd < 0)
        SKIP("no fixture");
    CHECK_EQ(line_indexes_get(b.lines, &key, fd, &x), 0);
    CHECK(is_index(x.fd));
    CHECK_EQ(x.symbols, -1);
    CHECK_EQ(line_indexes_get(b.lines, &key, -1, &again), 0); /* nobody looks at the file again */
    CHECK_EQ(again.fd, x.fd);
    CHECK_EQ(line_indexes_stats(b.lines).files, 1);
    CHECK_EQ(line_indexes_stats(b.lines).found, 1);
}

TEST(line_indexes_come_from_the_disk)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x;
    AUTO_CLOSE int fd = fixture_fd("dwarf-5");
    CHECK(bench_new(&b, true));
    if (fd < 0)
        SKIP("no fixture");
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(line_indexes_get(b.lines, &key, fd, &x), 0);
        CHECK(is_index(x.fd));
        CHECK_EQ(count_in(b.dir, ".xpl"), 1);
        line_indexes_free(&b.lines);
        CHECK_EQ(line_indexes_new(&b.lines, &b.places, b.cache), 0);
    }
    struct xp_file_key other = key; /* another file, though its bytes are the same */
    other.ino++;
    CHECK_EQ(line_indexes_get(b.lines, &other, fd, &x), 0);
    CHECK_EQ(count_in(b.dir, ".xpl"), 2);
}

TEST(line_indexes_remember_that_there_is_none)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x;
    AUTO_CLOSE int stripped = fixture_fd("dwarf-stripped");
    AUTO_CLOSE int full = fixture_fd("dwarf-5");
    CHECK(bench_new(&b, false));
    if (stripped < 0)
        SKIP("no fixture");
    CHECK_EQ(line_indexes_get(b.lines, &key, stripped, &x), -ENODATA);
    CHECK_EQ(x.fd, -1);
    CHECK_EQ(line_indexes_get(b.lines, &key, full, &x), -ENODATA);
    CHECK_EQ(line_indexes_stats(b.lines).files, 1);
    CHECK_EQ(line_indexes_stats(b.lines).found, 0);
}

TEST(line_indexes_without_their_split_units_are_not_for_the_disk)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x;
    AUTO_CLOSE int fd = fixture_fd("dwarf-split-5");
    CHECK(bench_new(&b, true));
    if (fd < 0)
        SKIP("no fixture");
    CHECK_EQ(line_indexes_get(b.lines, &key, fd, &x), 0);
    CHECK(x.fd >= 0);
    CHECK_EQ(line_indexes_stats(b.lines).missing_parts, 1);
    CHECK_EQ(line_indexes_stats(b.lines).cut, 0);
    CHECK_EQ(count_in(b.dir, ".xpl"), 0);
}

/* Puts a debug file beside the program x in a folder, and the program's path into `program`. */
static int put_debug_file(const char *dir, int debug, char program[128])
{
    char path[128];
    AUTO_FREE char *data = NULL;
    size_t len;
    snprintf(program, 128, "%s/x", dir);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", debug);
    int rc = fs_read_file(path, 1 << 20, &data, &len);
    snprintf(path, sizeof(path), "%s/x.debug", dir);
    return rc ? rc : fs_replace_file(path, data, len, 0600);
}

/* What one container has names the file for it alone; that another one has nothing is not an answer for it, either. */
TEST(line_indexes_of_a_container_are_its_own)
{
    WITH_DEBUG_FILE(true);
    char path[128];
    CHECK_EQ(put_debug_file(b.dir, full, path), 0);
    const struct line_index_process none = {.cgroup = 1, .tgid = (u32)getpid(), .path = "/nowhere/x"};
    const struct line_index_process has = {.cgroup = 2, .tgid = (u32)getpid(), .path = path};
    const struct line_index_process gone = {.cgroup = 2, .tgid = (u32)getpid(), .start_ns = 1, .path = path};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(line_indexes_get(b.lines, &key, stripped, &x), -ENODATA);
        CHECK_EQ(line_indexes_get_of(b.lines, &key, &none, stripped, &x), -ENODATA);
        CHECK_EQ(line_indexes_get_of(b.lines, &key, &gone, stripped, &x), i ? 0 : -ESRCH);
        CHECK_EQ(line_indexes_get_of(b.lines, &key, &has, stripped, &x), 0);
        CHECK(is_index(x.fd) && x.symbols >= 0 && x.complete);
    }
    char debug[160];
    snprintf(debug, sizeof(debug), "%s/x.debug", b.dir);
    CHECK_EQ(unlink(debug), 0); /* a descriptor would keep its blocks */
    line_indexes_release(b.lines, UINT64_MAX);
    CHECK_EQ(line_indexes_get_of(b.lines, &key, &has, stripped, &x), -ENODATA);
    CHECK(line_indexes_get(b.lines, &key, stripped, &x) == -ENODATA && x.fd < 0);
}

/* A debug file that lies beside the program, in the root of this very process. */
TEST(line_indexes_look_in_the_root_of_the_process)
{
    WITH_DEBUG_FILE(false);
    char path[128];
    CHECK_EQ(put_debug_file(b.dir, full, path), 0);
    unsigned before = count_in("/proc/self/fd", "");
    line_indexes_seen(b.lines, &key, LINE_INDEXES_ALL, (u32)getpid(), path);
    struct xp_file_key other = key;
    other.ino++;
    line_indexes_seen(b.lines, &other, LINE_INDEXES_ALL, (u32)getpid(), path);
    CHECK_EQ(count_in("/proc/self/fd", ""), before + 1); /* one root for both */
    CHECK_EQ(line_indexes_get(b.lines, &key, stripped, &x), 0);
    CHECK(is_index(x.fd) && x.symbols >= 0);
    line_indexes_release(b.lines, 0);
    CHECK_EQ(count_in("/proc/self/fd", ""), before + 2);                 /* the index and the symbols */
    CHECK_EQ(line_indexes_get(b.lines, &other, stripped, &x), -ENODATA); /* too late */
}

struct page {
    char *data;
    size_t len;
    bool go;
};

static bool answer(void *ctx, const struct test_request *r)
{
    struct page *p = ctx;
    while (!__atomic_load_n(&p->go, __ATOMIC_ACQUIRE) && !__atomic_load_n(r->stopping, __ATOMIC_RELAXED))
        usleep(500);
    test_reply(r->fd, 200, "", p->data, p->len);
    return true;
}

static void page_free(struct page *p)
{
    free(p->data);
}

TEST(line_indexes_look_again_while_a_server_is_asked)
{
    WITH_DEBUG_FILE(false);
    CLEANUP(page_free) struct page page = {0};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", full);
    CHECK_EQ(fs_read_file(path, 1 << 20, &page.data, &page.len), 0);
    CHECK_EQ(test_server_new(&server, answer, &page), 0);
    const char *url = test_server_url(server);
    CHECK_EQ(debuginfod_new(&b.places.server, &(struct debuginfod_config){.urls = &url, .nurls = 1, .dir = b.dir}), 0);
    CHECK_EQ(line_indexes_get(b.lines, &key, stripped, &x), -ENODATA);
    CHECK(line_indexes_pending(b.lines, &key));
    __atomic_store_n(&page.go, true, __ATOMIC_RELEASE);
    int rc = -ENODATA;
    for (int i = 0; i < 20000 && rc; i++) {
        rc = line_indexes_get(b.lines, &key, stripped, &x);
        usleep(500);
    }
    CHECK_EQ(rc, 0);
    CHECK(is_index(x.fd));
    CHECK(!line_indexes_pending(b.lines, &key));
    debuginfod_free(&b.places.server); /* before the server that it may still speak to */
}

static struct xp_file_key key_of(u64 i)
{
    return (struct xp_file_key){.ino = 1000 + i, .size = 1};
}

/* The one that was used longest ago goes, and is looked for anew. */
TEST(line_indexes_are_bounded)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x;
    struct xp_file_key k;
    AUTO_CLOSE int stripped = fixture_fd("dwarf-stripped");
    CHECK(bench_new(&b, false));
    if (stripped < 0)
        SKIP("no fixture");
    for (u64 i = 0; i < 512; i++) {
        k = key_of(i);
        CHECK_EQ(line_indexes_get(b.lines, &k, stripped, &x), -ENODATA);
    }
    k = key_of(0);
    line_indexes_get(b.lines, &k, stripped, &x);
    CHECK_EQ(line_indexes_stats(b.lines).files, 512); /* all of them are there */
    k = key_of(512);
    line_indexes_get(b.lines, &k, stripped, &x);
    k = key_of(0);
    line_indexes_get(b.lines, &k, stripped, &x);
    CHECK_EQ(line_indexes_stats(b.lines).files, 513);
    k = key_of(1);
    line_indexes_get(b.lines, &k, stripped, &x);
    CHECK_EQ(line_indexes_stats(b.lines).files, 514);
    k = key_of(3);
    line_indexes_get(b.lines, &k, stripped, &x);
    CHECK_EQ(line_indexes_stats(b.lines).files, 514);
}

TEST(line_indexes_of_what_is_no_file)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x = {.fd = 7, .symbols = 7};
    AUTO_CLOSE int text = fixture_fd("plt.c");
    CHECK(bench_new(&b, false));
    CHECK_EQ(line_indexes_get(b.lines, &key, text, &x), -ENOEXEC);
    CHECK(x.fd == -1 && x.symbols == -1);
    struct line_indexes_stats s = line_indexes_stats(b.lines);
    CHECK(!s.files && !s.found && !s.failed);
    CHECK(!line_indexes_pending(b.lines, &key));
    line_indexes_free(&b.lines);
    CHECK(!b.lines);
}

TEST(line_indexes_that_are_cut_are_counted)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x;
    struct dwarf_index_header h;
    AUTO_BUF struct buf file = {0};
    static const u8 damaged[] = {8, 0, 0, 0, 5, 0, 1, 8, 0xff, 0xff, 0xff, 0xff};
    const struct crafted_section info = {.name = ".debug_info", .data = damaged, .len = sizeof(damaged)};
    crafted_elf(&file, &info, 1);
    AUTO_CLOSE int fd = fs_sealed_memfd("damaged", file.data, file.len);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    AUTO_CLOSE int again = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(bench_new(&b, false));
    int rc = line_indexes_get(b.lines, &key, again, &x);
    struct line_indexes_stats s = line_indexes_stats(b.lines);
    CHECK(s.files == 1 && s.found == 1 && !s.missing_parts);
    CHECK(rc || pread(x.fd, &h, sizeof(h), 0) == sizeof(h));
    CHECK_EQ(s.failed, rc && rc != -ENODATA);
    CHECK_EQ(s.cut, !rc && h.cuts);
}

/* Roots are let go when they were held for long, or when the file is tried. */
TEST(line_indexes_let_go_of_roots)
{
    CLEANUP(bench_free) struct bench b;
    struct line_index x;
    AUTO_CLOSE int stripped = fixture_fd("dwarf-stripped");
    CHECK(bench_new(&b, false));
    if (stripped < 0)
        SKIP("no fixture");
    unsigned before = count_in("/proc/self/fd", "");
    line_indexes_seen(b.lines, &key, LINE_INDEXES_ALL, (u32)getpid(), "/bin/x");
    line_indexes_seen(b.lines, &key, LINE_INDEXES_ALL, (u32)getpid(), "/bin/x"); /* known */
    CHECK_EQ(count_in("/proc/self/fd", ""), before + 1);
    line_indexes_release(b.lines, 3600 * NS_PER_SEC);
    CHECK_EQ(count_in("/proc/self/fd", ""), before + 1);
    line_indexes_release(b.lines, 0);
    CHECK_EQ(count_in("/proc/self/fd", ""), before);
    line_indexes_seen(b.lines, &key, LINE_INDEXES_ALL, (u32)getpid(), "/bin/x"); /* anew */
    CHECK_EQ(count_in("/proc/self/fd", ""), before + 1);
    CHECK_EQ(line_indexes_get(b.lines, &key, stripped, &x), -ENODATA);
    CHECK_EQ(count_in("/proc/self/fd", ""), before);
    line_indexes_seen(b.lines, &key, LINE_INDEXES_ALL, (u32)getpid(), "/bin/x"); /* it was tried */
    line_indexes_seen(b.lines, &(struct xp_file_key){.ino = 9}, LINE_INDEXES_ALL, (u32)INT32_MAX,
                      "/bin/x"); /* nobody's */
    CHECK_EQ(count_in("/proc/self/fd", ""), before);
}

/* An index on the disk is of all the files that it was made of: with another debug file it is another one. */
TEST(line_indexes_are_of_all_their_files)
{
    WITH_DEBUG_FILE(true);
    char path[128];
    for (unsigned i = 0; i < 3; i++) {
        if (i < 2)
            CHECK_EQ(put_debug_file(b.dir, full, path), 0); /* the same bytes in another file */
        line_indexes_seen(b.lines, &key, LINE_INDEXES_ALL, (u32)getpid(), path);
        CHECK_EQ(line_indexes_get(b.lines, &key, stripped, &x), 0);
        CHECK(is_index(x.fd) && x.symbols >= 0);
        CHECK_EQ(count_in(b.dir, ".xpl"), i < 2 ? i + 1 : 2);
        line_indexes_free(&b.lines);
        CHECK_EQ(line_indexes_new(&b.lines, &b.places, b.cache), 0);
    }
}
