/* The search, in folders that stand for the roots of a container and of the host. */
#include "debug/debug.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ID   "0123456789abcdef"
#define BYID "usr/lib/debug/.build-id/01/23456789abcdef.debug"

struct world {
    char dir[64];
    struct parser *parser;
    int container, host;
    const char *dirs[1];
    char users[80];
    struct debug_search_paths places;
    struct debug_files files;
    struct debug_trace trace;
};

static void world_free(struct world *w)
{
    char command[128];
    debug_files_free(&w->files);
    debug_trace_free(&w->trace);
    parser_free(&w->parser);
    xp_cleanup_close(&w->container);
    xp_cleanup_close(&w->host);
    snprintf(command, sizeof(command), "rm -rf %s", w->dir);
    if (*w->dir && system(command))
        printf("  %s stays\n", w->dir);
}

static int make_root(struct world *w, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s/bin", w->dir, name);
    if (fs_mkdirs(path))
        return -1;
    path[strlen(path) - 4] = 0;
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool world_new(struct world *w)
{
    const struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    *w = (struct world){.container = -1, .host = -1, .files = DEBUG_FILES_NONE};
    strcpy(w->dir, "/tmp/xprof-test-XXXXXX");
    if (!mkdtemp(w->dir) || parser_new(&w->parser, &limits))
        return false;
    w->container = make_root(w, "container");
    w->host = make_root(w, "host");
    snprintf(w->users, sizeof(w->users), "%s/users", w->dir);
    w->dirs[0] = w->users;
    w->places = (struct debug_search_paths){.parser = w->parser, .host = w->host, .dirs = w->dirs, .ndirs = 1};
    return w->container >= 0 && w->host >= 0;
}

/* What a file is made of; NULL: it has none of that. */
struct made {
    const char *id, *info, *link, *alt;
    u32 crc;
    const char *alt_id;
};

static size_t from_hex(const char *hex, u8 *out)
{
    size_t n = 0;
    for (; hex && hex[2 * n]; n++)
        sscanf(hex + 2 * n, "%2hhx", &out[n]);
    return n;
}

static void make_file(struct buf *out, const struct made *m)
{
    struct crafted_section s[4];
    unsigned n = 0;
    u8 note[64] = {4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}, link[64] = {0}, alt[128] = {0};
    if (m->id) {
        note[4] = (u8)from_hex(m->id, note + 16);
        s[n++] = (struct crafted_section){.name = ".note.gnu.build-id", .data = note, .len = 16u + note[4]};
    }
    if (m->info)
        s[n++] = (struct crafted_section){.name = ".debug_info", .data = m->info, .len = strlen(m->info)};
    if (m->link) {
        size_t at = (strlen(m->link) + 4) & ~3ul;
        memcpy(link, m->link, strlen(m->link));
        memcpy(link + at, &m->crc, 4);
        s[n++] = (struct crafted_section){.name = ".gnu_debuglink", .data = link, .len = at + 4};
    }
    if (m->alt) {
        size_t len = strlen(m->alt) + 1;
        memcpy(alt, m->alt, len);
        len += from_hex(m->alt_id, alt + len);
        s[n++] = (struct crafted_section){.name = ".gnu_debugaltlink", .data = alt, .len = len};
    }
    crafted_elf(out, s, n);
}

/* Below the world's folder: "container/bin/x". Returns the file's CRC. */
static u32 put(struct world *w, const char *where, const struct made *m)
{
    AUTO_BUF struct buf b = {0};
    char path[256];
    struct debug_links l = {0};
    make_file(&b, m);
    snprintf(path, sizeof(path), "%s/%s", w->dir, where);
    *strrchr(path, '/') = 0;
    fs_mkdirs(path);
    path[strlen(path)] = '/';
    fs_replace_file(path, b.data, b.len, 0600);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    parser_links(w->parser, fd, true, &l);
    return l.crc;
}

/* Looks for the debug file of container/bin/x; the outcome of the last place that was tried is `last`. */
static bool look(struct world *w, const char *last)
{
    char path[256];
    debug_files_free(&w->files);
    debug_trace_free(&w->trace);
    snprintf(path, sizeof(path), "%s/container/bin/x", w->dir);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct debug_subject s = {.fd = fd, .root = w->container, .path = "/bin/x"};
    if (debug_files_find(&w->places, &s, &w->files, &w->trace))
        return false;
    for (size_t i = 0; i < w->trace.v.n; i++)
        if (!strcmp(w->trace.v.v[i].outcome, last))
            return true;
    for (size_t i = 0; i < w->trace.v.n; i++)
        printf("  %s %s: %s\n", w->trace.v.v[i].whose, w->trace.v.v[i].place, w->trace.v.v[i].outcome);
    return false;
}

static const char *whose_is_used(const struct world *w)
{
    for (size_t i = 0; i < w->trace.v.n; i++)
        if (!strcmp(w->trace.v.v[i].outcome, "used"))
            return w->trace.v.v[i].whose;
    return "nobody's";
}

TEST(debug_file_own_information_comes_first)
{
    CLEANUP(world_free) struct world w;
    CHECK(world_new(&w));
    put(&w, "container/bin/x", &(struct made){.id = ID, .info = "own"});
    put(&w, "container/" BYID, &(struct made){.id = ID, .info = "other"});
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "file");
    CHECK(w.files.found && w.files.debug < 0);
}

TEST(debug_file_by_build_id_in_the_order_of_places)
{
    CLEANUP(world_free) struct world w;
    const struct made same = {.id = ID, .info = "debug"}, other = {.id = "0123456789abcdee", .info = "debug"};
    CHECK(world_new(&w));
    put(&w, "container/bin/x", &(struct made){.id = ID});
    CHECK(look(&w, "not there"));
    CHECK(!w.files.found);
    put(&w, "users/.build-id/01/23456789abcdef.debug", &same);
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "directory");
    put(&w, "host/" BYID, &same);
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "host");
    put(&w, "container/" BYID, &same);
    CHECK(look(&w, "used"));
    CHECK_STR(whose_is_used(&w), "container");
    CHECK(w.files.found && w.files.debug >= 0);
    put(&w, "container/" BYID, &other);
    CHECK(look(&w, "belongs to another build"));
    CHECK_STR(whose_is_used(&w), "host");
    put(&w, "container/" BYID, &(struct made){.id = ID});
    CHECK(look(&w, "has no debug information"));
}

TEST(debug_file_by_name_needs_the_crc_or_the_build_id)
{
    CLEANUP(world_free) struct world w;
    static const char *const places[] = {"container/bin/x.dbg", "container/bin/.debug/x.dbg",
                                         "container/usr/lib/debug/bin/x.dbg"};
    const struct made debug = {.info = "debug"};
    CHECK(world_new(&w));
    u32 crc = put(&w, "elsewhere", &debug);
    put(&w, "container/bin/x", &(struct made){.link = "x.dbg", .crc = crc});
    put(&w, "host/bin/x.dbg", &debug); /* the host's is another program's */
    CHECK(look(&w, "not there"));
    CHECK_STR(whose_is_used(&w), "nobody's");
    for (int i = 0; i < 3; i++) {
        char path[256];
        put(&w, places[i], &debug);
        CHECK(look(&w, "used"));
        CHECK_STR(whose_is_used(&w), "container");
        put(&w, places[i], &(struct made){.info = "Debug"});
        CHECK(look(&w, "has another CRC"));
        CHECK_STR(whose_is_used(&w), "nobody's");
        snprintf(path, sizeof(path), "%s/%s", w.dir, places[i]);
        CHECK_EQ(unlink(path), 0);
    }
    put(&w, "container/bin/x", &(struct made){.id = ID, .link = "x.dbg", .crc = crc + 1});
    put(&w, "container/bin/x.dbg", &(struct made){.id = ID, .info = "debug"});
    CHECK(look(&w, "used"));
    put(&w, "container/bin/x", &(struct made){.id = ID});
    put(&w, "container/bin/x.debug", &(struct made){.info = "debug"});
    CHECK(look(&w, "has no build ID"));
}

TEST(debug_file_names_do_not_lead_out_of_the_root)
{
    CLEANUP(world_free) struct world w;
    char path[256], to[256];
    CHECK(world_new(&w));
    put(&w, "container/bin/x", &(struct made){.id = ID, .link = "../../secret"});
    put(&w, "secret", &(struct made){.id = ID, .info = "debug"});
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
    put(&w, "container/bin/x", &(struct made){.id = ID});
    put(&w, "container/" BYID,
        &(struct made){.id = ID, .info = "debug", .alt = "../../.dwz/all", .alt_id = "aabbccdd"});
    CHECK(look(&w, "used"));
    CHECK(w.files.alt < 0);
    put(&w, "container/usr/lib/debug/.dwz/all", &(struct made){.id = "aabbccde", .info = "part"});
    CHECK(look(&w, "belongs to another build"));
    CHECK(w.files.alt < 0);
    put(&w, "host/usr/lib/debug/.build-id/aa/bbccdd.debug", &(struct made){.id = "aabbccdd", .info = "part"});
    CHECK(look(&w, "used"));
    CHECK(w.files.alt >= 0);
    put(&w, "container/usr/lib/debug/.dwz/all", &(struct made){.id = "aabbccdd", .info = "part"});
    CHECK(look(&w, "used"));
    CHECK_STR(w.trace.v.v[2].outcome, "used");
    CHECK_STR(w.trace.v.v[2].place, "/usr/lib/debug/.build-id/01/../../.dwz/all");
}

TEST(debug_file_split_units_are_looked_for_in_the_root)
{
    CLEANUP(world_free) struct world w;
    const struct made unit = {.info = "unit"};
    CHECK(world_new(&w));
    put(&w, "container/bin/x", &(struct made){.id = ID, .info = "skeleton"});
    CHECK(look(&w, "used"));
    struct debug_subject s = {.fd = -1, .root = w.container, .path = "/bin/x"};
    struct debug_split split = {.places = &w.places, .subject = &s, .files = &w.files};
    put(&w, "host/src/a.dwo", &unit);
    CHECK(debug_split_open(&split, "/src", "a.dwo") < 0);
    CHECK_EQ(split.missing, 1);
    static const struct {
        const char *put, *dir, *name;
    } of[] = {{"container/src/a.dwo", "/src", "a.dwo"},
              {"container/out/b.dwo", "/src", "/out/b.dwo"},
              {"container/bin/c.dwo", "/src", "sub/c.dwo"},
              {"users/d.dwo", "/src", "sub/d.dwo"}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        put(&w, of[i].put, &unit);
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
    put(&w, "container/bin/x", &(struct made){.id = ID, .link = "\x1b[2Jx"});
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
