/* The search for what is not in the file itself. */
#include "debug/world_test.h"
#include "base/test.h"
#include "debug/debuginfod.h"
#include "net/http_server_test.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(debug_file_own_information_comes_first)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "own"});
    put_file(&w, "container/" BYID, &(struct made){.id = ID, .info = "other"});
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "file");
    CHECK(w.files.found && w.files.debug < 0);
}

TEST(debug_file_by_build_id_in_the_order_of_places)
{
    CLEANUP(world_free) struct world w;
    const struct made same = {.id = ID, .info = "debug"}, other = {.id = "0123456789abcdee", .info = "debug"};
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    CHECK(look(&w, "not there"));
    CHECK(!w.files.found);
    put_file(&w, "users/.build-id/01/23456789abcdef.debug", &same);
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "directory");
    put_file(&w, "host/" BYID, &same);
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "host");
    put_file(&w, "container/" BYID, &same);
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "container");
    CHECK(w.files.found && w.files.debug >= 0);
    put_file(&w, "container/" BYID, &other);
    CHECK(look(&w, "belongs to another build"));
    CHECK_STR(whose_is_used(&w), "host");
    put_file(&w, "container/" BYID, &(struct made){.id = ID});
    CHECK(look(&w, "has no debug information"));
}

TEST(debug_file_by_name_needs_the_crc_or_the_build_id)
{
    CLEANUP(world_free) struct world w;
    static const char *const places[] = {"container/bin/x.dbg", "container/bin/.debug/x.dbg",
                                         "container/usr/lib/debug/bin/x.dbg"};
    const struct made debug = {.info = "debug"};
    CHECK(world_new(&w));
    u32 crc = put_file(&w, "elsewhere", &debug);
    put_file(&w, "container/bin/x", &(struct made){.link = "x.dbg", .crc = crc});
    put_file(&w, "host/bin/x.dbg", &debug); /* the host's is another program's */
    CHECK(look(&w, "not there"));
    CHECK_STR(whose_is_used(&w), "nobody's");
    for (int i = 0; i < 3; i++) {
        char path[256];
        put_file(&w, places[i], &debug);
        CHECK(look(&w, "used"));
        CHECK_STR(whose_is_used(&w), "container");
        put_file(&w, places[i], &(struct made){.info = "Debug"});
        CHECK(look(&w, "has another CRC"));
        CHECK_STR(whose_is_used(&w), "nobody's");
        snprintf(path, sizeof(path), "%s/%s", w.dir, places[i]);
        CHECK_EQ(unlink(path), 0);
    }
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .link = "x.dbg", .crc = crc + 1});
    put_file(&w, "container/bin/x.dbg", &(struct made){.id = ID, .info = "debug"});
    CHECK(look(&w, "used"));
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    put_file(&w, "container/bin/x.debug", &(struct made){.info = "debug"});
    CHECK(look(&w, "has no build ID"));
}

TEST(debug_file_names_do_not_lead_out_of_the_root)
{
    CLEANUP(world_free) struct world w;
    char path[256], to[256];
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .link = "../../secret"});
    put_file(&w, "secret", &(struct made){.id = ID, .info = "debug"});
    CHECK(look(&w, "not there"));
    snprintf(to, sizeof(to), "%s/secret", w.dir);
    snprintf(path, sizeof(path), "%s/container/secret", w.dir);
    CHECK_EQ(symlink(to, path), 0);
    CHECK(look(&w, "not there"));
    CHECK_STR(whose_is_used(&w), "nobody's");
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK(look(&w, "Operation not supported"));
}

TEST(debug_file_shared_part_is_found_from_where_the_link_is)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    put_file(&w, "container/" BYID,
             &(struct made){.id = ID, .info = "debug", .alt = "../../.dwz/all", .alt_id = "aabbccdd"});
    CHECK(look(&w, "used"));
    CHECK(w.files.alt < 0);
    put_file(&w, "container/usr/lib/debug/.dwz/all", &(struct made){.id = "aabbccde", .info = "part"});
    CHECK(look(&w, "belongs to another build"));
    CHECK(w.files.alt < 0);
    put_file(&w, "host/usr/lib/debug/.build-id/aa/bbccdd.debug", &(struct made){.id = "aabbccdd", .info = "part"});
    CHECK(look(&w, "used"));
    CHECK(w.files.alt >= 0);
    put_file(&w, "container/usr/lib/debug/.dwz/all", &(struct made){.id = "aabbccdd", .info = "part"});
    CHECK(look(&w, "used"));
    CHECK_STR(w.trace.v.v[2].outcome, "used");
    CHECK_STR(w.trace.v.v[2].place, "/usr/lib/debug/.build-id/01/../../.dwz/all");
}

TEST(debug_file_split_units_are_looked_for_in_the_root)
{
    CLEANUP(world_free) struct world w;
    const struct made unit = {.info = "unit"};
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "skeleton"});
    CHECK(look(&w, "used"));
    struct debug_subject s = {.fd = -1, .root = w.container, .path = "/bin/x"};
    struct debug_split split = {.places = &w.places, .subject = &s, .files = &w.files};
    put_file(&w, "host/src/a.dwo", &unit);
    CHECK(debug_split_open(&split, "/src", "a.dwo") < 0);
    CHECK_EQ(split.missing, 1);
    static const struct {
        const char *put, *dir, *name;
    } of[] = {{"container/src/a.dwo", "/src", "a.dwo"},
              {"container/out/b.dwo", "/src", "/out/b.dwo"},
              {"container/bin/c.dwo", "/src", "sub/c.dwo"},
              {"users/d.dwo", "/src", "sub/d.dwo"}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        put_file(&w, of[i].put, &unit);
        AUTO_CLOSE int fd = debug_split_open(&split, of[i].dir, of[i].name);
        if (fd < 0)
            printf("  %s\n", of[i].put);
        CHECK(fd >= 0);
    }
    CHECK_EQ(split.missing, 1);
}

TEST(debug_file_trace_is_bounded_and_clean)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .link = "\x1b[2Jx"});
    const char *dirs[DEBUG_MAX_ATTEMPTS];
    for (size_t i = 0; i < DEBUG_MAX_ATTEMPTS; i++)
        dirs[i] = w.users;
    w.places.dirs = dirs;
    w.places.ndirs = DEBUG_MAX_ATTEMPTS;
    CHECK(look(&w, "not there"));
    CHECK_EQ(w.trace.v.n, DEBUG_MAX_ATTEMPTS);
    CHECK(w.trace.more > DEBUG_MAX_ATTEMPTS);
    for (size_t i = 0; i < w.trace.v.n; i++)
        CHECK(!strchr(w.trace.v.v[i].place, 0x1b));
}

TEST(debug_files_are_none_when_they_are_freed)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "own"});
    CHECK(look(&w, "used"));
    CHECK_STR(w.files.path, "/bin/x");
    CHECK_EQ(w.files.root, w.container);
    debug_files_free(&w.files);
    CHECK(!w.files.path && w.files.debug == -1 && w.files.alt == -1 && w.files.dwp == -1 && w.files.root == -1);
    CHECK(w.trace.v.n > 0);
    debug_trace_free(&w.trace);
    CHECK(!w.trace.v.n && !w.trace.more);
}

TEST(debug_file_packages_lie_beside_the_file)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "skeleton"});
    CHECK(look(&w, "not there"));
    CHECK(w.files.dwp < 0);
    put_file(&w, "container/bin/x.dwp", &(struct made){.info = "units"});
    CHECK(look(&w, "is no package of split units"));
    CHECK(w.files.dwp < 0);
    put_file(&w, "container/bin/x.dwp", &(struct made){.info = "units", .package = true});
    CHECK(look(&w, "used"));
    CHECK(w.files.dwp >= 0);
    CHECK_STR(w.trace.v.v[1].place, "/bin/x.dwp");
    CHECK_STR(w.trace.v.v[1].whose, "container");
}

/* By its whole name in the root, or in the user's directory by its build ID. */
TEST(debug_file_shared_parts_have_other_places)
{
    CLEANUP(world_free) struct world w;
    const struct made part = {.id = "aabbccdd", .info = "part"};
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "own", .alt = "/dwz/all", .alt_id = "aabbccdd"});
    CHECK(look(&w, "not there"));
    CHECK(w.files.found && w.files.alt < 0);
    put_file(&w, "users/.build-id/aa/bbccdd.debug", &part);
    CHECK(look(&w, "used"));
    CHECK(w.files.alt >= 0);
    put_file(&w, "container/dwz/all", &part);
    CHECK(look(&w, "used"));
    CHECK_STR(w.trace.v.v[1].place, "/dwz/all");
    CHECK_STR(w.trace.v.v[1].outcome, "used");
}

/* A debug file of symbols alone is one, too; without them it has lines only. */
TEST(debug_files_have_symbols_or_information)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    put_file(&w, "container/" BYID, &(struct made){.id = ID, .info = "debug"});
    CHECK(look(&w, "used"));
    CHECK(w.files.found && w.files.debug >= 0 && !w.files.debug_symbols);
    put_file(&w, "container/" BYID, &(struct made){.id = ID, .symbols = true});
    CHECK(look(&w, "used"));
    CHECK(!w.files.found && w.files.debug >= 0 && w.files.debug_symbols);
}

/* A build ID of one byte tells nothing: such a file is looked for by its name. */
TEST(debug_file_build_ids_can_be_too_short)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    u32 crc = put_file(&w, "elsewhere", &(struct made){.id = "01", .info = "debug"});
    put_file(&w, "container/bin/x", &(struct made){.id = "01", .link = "x.dbg", .crc = crc});
    put_file(&w, "container/bin/x.dbg", &(struct made){.id = "01", .info = "debug"});
    CHECK(look(&w, "used"));
    CHECK_EQ(w.trace.v.n, 3); /* the file, its link, its package: nowhere by the ID */
    CHECK_STR(w.trace.v.v[1].place, "/bin/x.dbg");
    put_file(&w, "container/bin/x", &(struct made){.id = "0123", .link = "x.dbg", .crc = crc});
    put_file(&w, "container/bin/x.dbg", &(struct made){.id = "0123", .info = "debug"});
    CHECK(look(&w, "used")); /* two are enough, and go before the CRC */
    CHECK(w.files.found);
}

/* Without a path, a root or a file that is one. */
TEST(debug_file_of_little_is_known)
{
    CLEANUP(world_free) struct world w;
    char path[256];
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .link = "x.dbg"});
    put_file(&w, "users/x.dbg", &(struct made){.id = ID, .info = "debug"});
    snprintf(path, sizeof(path), "%s/container/bin/x", w.dir);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct debug_subject s = {.fd = fd, .root = -1};
    CHECK_EQ(debug_files_find(&w.places, &s, &w.files, &w.trace), 0);
    CHECK(w.files.found && w.files.debug >= 0);
    CHECK_STR(whose_is_used(&w), "directory");
    CHECK_STR(w.trace.v.v[0].place, "?");
    debug_files_free(&w.files);
    s.path = "x"; /* not from the root */
    CHECK_EQ(debug_files_find(&w.places, &s, &w.files, NULL), 0);
    CHECK(w.files.debug >= 0 && w.files.dwp < 0);
    debug_files_free(&w.files);
    put_file(&w, "container/bin/text", &(struct made){.id = NULL});
    AUTO_CLOSE int text = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    s.fd = text;
    CHECK_EQ(debug_files_find(&w.places, &s, &w.files, NULL), -ENOEXEC);
    CHECK(!w.files.path && w.files.debug == -1);
}

/* ---- Servers ----------------------------------------------------------------------------------------------------- */

struct sent { /* what a server has */
    struct buf file;
    bool slow;
};

static bool send_file(void *ctx, const struct test_request *r)
{
    struct sent *s = ctx;
    while (s->slow && !__atomic_load_n(r->stopping, __ATOMIC_RELAXED))
        usleep(500);
    test_reply(r->fd, 200, "", s->file.data, s->file.len);
    return true;
}

static void sent_free(struct sent *s)
{
    buf_free(&s->file);
}

/* A server that sends this file, whatever it is asked for. */
static int open_server(struct world *w, struct sent *s, struct test_server **server, unsigned patience_ms)
{
    char dir[128];
    snprintf(dir, sizeof(dir), "%s/fetched", w->dir);
    int rc = test_server_new(server, send_file, s);
    const char *url = rc ? NULL : test_server_url(*server);
    struct debuginfod_config c = {.urls = &url, .nurls = 1, .dir = dir, .patience_ms = patience_ms};
    return rc ? rc : debuginfod_new(&w->places.server, &c);
}

static void server_free(struct debuginfod ***d)
{
    debuginfod_free(*d); /* before the server that it may still speak to */
}

TEST(debug_file_from_a_server)
{
    CLEANUP(world_free) struct world w;
    CLEANUP(sent_free) struct sent sent = {.slow = false};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(server_free) struct debuginfod **d = &w.places.server;
    struct debuginfod_stats stats;
    CHECK(world_new(&w));
    make_file(&sent.file, &(struct made){.id = ID, .info = "debug"});
    CHECK_EQ(open_server(&w, &sent, &server, 60000), 0);
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "debuginfod");
    CHECK(w.files.found && w.files.debug >= 0 && !w.files.pending && !w.files.path);
    debuginfod_stats(*d, &stats);
    CHECK_EQ(stats.fetched, 1);
    put_file(&w, "host/" BYID, &(struct made){.id = ID, .info = "debug"});
    CHECK(look(&w, "used")); /* what is there goes before it */
    CHECK_STR(whose_is_used(&w), "host");
}

TEST(debug_file_from_a_server_that_lies)
{
    CLEANUP(world_free) struct world w;
    CLEANUP(sent_free) struct sent sent = {.slow = false};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(server_free) struct debuginfod **d = &w.places.server;
    struct debuginfod_stats stats;
    CHECK(world_new(&w));
    make_file(&sent.file, &(struct made){.id = "0123456789abcdee", .info = "debug"});
    CHECK_EQ(open_server(&w, &sent, &server, 60000), 0);
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    CHECK(look(&w, "belongs to another build"));
    CHECK(!w.files.found && w.files.debug < 0);
    debuginfod_stats(*d, &stats);
    CHECK(stats.fetched == 1 && stats.lied == 1);
    CHECK(look(&w, "not there")); /* it is not asked once more */
    debuginfod_stats(*d, &stats);
    CHECK(stats.fetched == 1 && stats.lied == 1);
}

TEST(debug_file_that_a_server_is_asked_for)
{
    CLEANUP(world_free) struct world w;
    CLEANUP(sent_free) struct sent sent = {.slow = true};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(server_free) struct debuginfod **d = &w.places.server;
    struct debuginfod_stats stats;
    CHECK(world_new(&w));
    CHECK_EQ(open_server(&w, &sent, &server, 0), 0);
    put_file(&w, "container/bin/x", &(struct made){.id = ID});
    CHECK(look(&w, "is being fetched"));
    CHECK(w.files.pending && !w.files.found);
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "own", .alt = "all", .alt_id = "aabbccdd"});
    CHECK(look(&w, "is being fetched")); /* its shared part */
    CHECK(w.files.pending && w.files.found && w.files.alt < 0);
    put_file(&w, "container/bin/x", &(struct made){.id = "01"});
    CHECK(look(&w, "not there"));
    debuginfod_stats(*d, &stats);
    CHECK(!stats.fetched && !stats.missing && !stats.failed);
    CHECK(!w.files.pending); /* nobody could be asked for that */
}

TEST(debug_file_split_units_that_are_missing_are_traced)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put_file(&w, "container/bin/x", &(struct made){.id = ID, .info = "skeleton"});
    CHECK(look(&w, "used"));
    struct debug_subject s = {.fd = -1, .root = w.container, .path = "/bin/x"};
    struct debug_split split = {.places = &w.places, .subject = &s, .files = &w.files, .trace = &w.trace};
    size_t before = w.trace.v.n;
    CHECK_EQ(debug_split_open(&split, "/src", "sub/a.dwo"), -ENOENT);
    CHECK_EQ(w.trace.v.n, before + 3);
    const struct debug_attempt *a = w.trace.v.v + before;
    CHECK_STR(a[0].place, "/src/sub/a.dwo");
    CHECK_STR(a[1].place, "/bin/a.dwo");
    CHECK_STR(a[1].whose, "container");
    CHECK_STR(a[2].whose, "directory");
    CHECK_STR(a[2].outcome, "not there");
    char name[5000];
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = 0;
    CHECK(debug_split_open(&split, "/src", name) < 0);
    w.files.root = w.host; /* the debug file lies elsewhere */
    before = w.trace.v.n;
    CHECK(debug_split_open(&split, "/src", "/out/b.dwo") < 0);
    CHECK_EQ(w.trace.v.n, before + 2);
    CHECK_EQ(split.missing, 3);
}
