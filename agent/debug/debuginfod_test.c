#include "debug/debuginfod.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "debug/folder.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ID    "00112233445566778899aabbccddeeff00112233"
#define OTHER "ffffffffffffffffffffffffffffffffffffffff"

struct fault { /* how a server answers */
    bool slow, broken, missing, large;
    size_t larger; /* than 4096 bytes */
    bool endless;  /* sends, and does not say how much, until nobody listens */
    const char *dir;
    size_t most;    /* that the files in `dir` took of the disk meanwhile; atomic */
    unsigned asked; /* for a file, any */
};

static void send_endlessly(int fd, struct fault *f)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    static const char block[FS_BLOCK];
    struct folder folder = {.dir = (char *)(uintptr_t)f->dir};
    send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    while (send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0) {
        usleep(500);
        size_t bytes = folder_bytes(&folder);
        if (bytes > __atomic_load_n(&f->most, __ATOMIC_RELAXED))
            __atomic_store_n(&f->most, bytes, __ATOMIC_RELAXED);
    }
}

static bool answer(void *ctx, const struct test_request *r)
{
    struct fault *f = ctx;
    char zeros[4097] = {0};
    __atomic_fetch_add(&f->asked, 1, __ATOMIC_RELAXED);
    if (strncmp(r->head, "GET /buildid/", 13) != 0 || !strstr(r->head, "/debuginfo HTTP"))
        return false;
    while (f->slow && !__atomic_load_n(r->stopping, __ATOMIC_RELAXED))
        usleep(1000);
    if (f->endless) {
        send_endlessly(r->fd, f);
        return false;
    }
    if (f->broken) {
        static const char part[] = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nELF";
        send(r->fd, part, sizeof(part), MSG_NOSIGNAL);
        return false;
    }
    if (f->missing)
        test_reply(r->fd, 404, "", "no", 2);
    else if (f->large)
        test_reply(r->fd, 200, "", zeros, 4096 + f->larger);
    else
        test_reply(r->fd, 200, "", "debug file", 10);
    return true;
}

struct place { /* a server, and a folder for what it sends */
    struct fault fault;
    struct test_server *server;
    char dir[64];
};

static void place_free(struct place *p)
{
    char command[128];
    test_server_free(&p->server);
    snprintf(command, sizeof(command), "rm -rf %s", p->dir);
    if (*p->dir && system(command))
        printf("  %s stays\n", p->dir);
}

static bool place_new(struct place *p)
{
    strcpy(p->dir, "/tmp/xprof-test-XXXXXX");
    return mkdtemp(p->dir) && !test_server_new(&p->server, answer, &p->fault);
}

static int open_client(struct debuginfod **d, const struct place *p, unsigned patience_ms)
{
    const char *url = test_server_url(p->server);
    struct debuginfod_config c = {
        .urls = &url, .nurls = 1, .dir = p->dir, .max_file = 1000, .idle_ms = 300, .patience_ms = patience_ms};
    return debuginfod_new(d, &c);
}

static unsigned asked(const struct place *p)
{
    return __atomic_load_n(&p->fault.asked, __ATOMIC_RELAXED);
}

TEST(debuginfod_fetches_once_and_keeps)
{
    CLEANUP(place_free) struct place p = {0};
    CHECK(place_new(&p));
    for (int i = 0; i < 2; i++) { /* the second client finds it in the folder */
        CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
        char text[32] = "";
        CHECK_EQ(open_client(&d, &p, 60000), 0);
        AUTO_CLOSE int fd = debuginfod_get(d, ID);
        CHECK(fd >= 0);
        CHECK_EQ(read(fd, text, sizeof(text)), 10);
        CHECK_STR(text, "debug file");
        CHECK(write(fd, "x", 1) < 0);
    }
    CHECK_EQ(asked(&p), 1);
}

TEST(debuginfod_remembers_what_no_server_has)
{
    CLEANUP(place_free) struct place p = {.fault = {.missing = true}};
    CHECK(place_new(&p));
    for (int i = 0; i < 3; i++) {
        CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
        CHECK_EQ(open_client(&d, &p, 60000), 0);
        CHECK_EQ(debuginfod_get(d, ID), -ENOENT);
    }
    CHECK_EQ(asked(&p), 1);
}

TEST(debuginfod_leaves_a_slow_server_alone)
{
    CLEANUP(place_free) struct place p = {.fault = {.slow = true}};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 60000), 0);
    CHECK_EQ(debuginfod_get(d, ID), -ETIMEDOUT);
    CHECK_EQ(debuginfod_get(d, ID), -ETIMEDOUT);
    CHECK_EQ(debuginfod_get(d, OTHER), -EHOSTUNREACH);
    CHECK_EQ(asked(&p), 1);
}

TEST(debuginfod_waits_only_as_long_as_it_may)
{
    CLEANUP(place_free) struct place p = {.fault = {.slow = true}};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 1), 0);
    CHECK_EQ(debuginfod_get(d, ID), -EINPROGRESS);
    CHECK_EQ(debuginfod_get(d, OTHER), -EINPROGRESS);
}

TEST(debuginfod_asked_without_patience_has_it_later)
{
    CLEANUP(place_free) struct place p = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 0), 0);
    int fd = -EINPROGRESS;
    for (int i = 0; i < 20000 && fd == -EINPROGRESS; i++) {
        fd = debuginfod_get(d, ID);
        usleep(500);
    }
    CHECK(fd >= 0);
    close(fd);
    CHECK_EQ(asked(&p), 1);
}

TEST(debuginfod_takes_neither_halves_nor_giants)
{
    CLEANUP(place_free) struct place p = {.fault = {.broken = true}};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 60000), 0);
    int rc = debuginfod_get(d, ID);
    CHECK(rc < 0 && rc != -ENOENT);
    debuginfod_free(&d);
    p.fault = (struct fault){.large = true};
    CHECK_EQ(open_client(&d, &p, 60000), 0);
    CHECK_EQ(debuginfod_get(d, OTHER), -EFBIG);
}

TEST(debuginfod_drops_what_was_a_lie)
{
    CLEANUP(place_free) struct place p = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 60000), 0);
    AUTO_CLOSE int fd = debuginfod_get(d, ID);
    CHECK(fd >= 0);
    debuginfod_drop(d, ID);
    CHECK_EQ(debuginfod_get(d, ID), -ENOENT);
    CHECK_EQ(asked(&p), 1);
}

TEST(debuginfod_asks_the_next_server)
{
    CLEANUP(place_free) struct place a = {.fault = {.missing = true}};
    CLEANUP(place_free) struct place b = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&a) && place_new(&b));
    char urls[256];
    snprintf(urls, sizeof(urls), "  %s/ \t%s file:///nowhere", test_server_url(a.server), test_server_url(b.server));
    struct debuginfod_config c = {.more = urls, .dir = a.dir, .patience_ms = 60000};
    CHECK_EQ(debuginfod_new(&d, &c), 0);
    AUTO_CLOSE int fd = debuginfod_get(d, ID);
    CHECK(fd >= 0);
    CHECK_EQ(a.fault.asked, 1);
    CHECK_EQ(b.fault.asked, 1);
}

TEST(debuginfod_is_off_or_says_why)
{
    CLEANUP(place_free) struct place p = {0};
    struct debuginfod *d = (struct debuginfod *)&p;
    CHECK(place_new(&p));
    CHECK_EQ(debuginfod_new(&d, &(struct debuginfod_config){.more = " "}), 0);
    CHECK(!d);
    CHECK_EQ(debuginfod_new(&d, &(struct debuginfod_config){.more = "gopher://x"}), -EINVAL);
    CHECK_EQ(chmod(p.dir, 0777), 0);
    CHECK_EQ(open_client(&d, &p, 0), -EPERM);
    CHECK_EQ(chmod(p.dir, 0700), 0);
    CHECK_EQ(open_client(&d, &p, 0), 0);
    CHECK_EQ(debuginfod_get(d, "../../etc/passwd"), -EINVAL);
    CHECK_EQ(debuginfod_get(d, "12"), -EINVAL);
    debuginfod_free(&d);
    CHECK_EQ(asked(&p), 0);
}

/* A file in the folder, used so many seconds ago. */
static bool store(const struct place *p, const char *name, size_t bytes, time_t ago)
{
    char path[256];
    struct timespec then[2] = {{.tv_sec = time(NULL) - ago}, {.tv_sec = time(NULL) - ago}};
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && !ftruncate(fd, (off_t)bytes) && !futimens(fd, then);
}

static bool is_stored(const struct place *p, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return !access(path, F_OK);
}

TEST(debuginfod_gives_up_what_was_used_longest_ago)
{
    CLEANUP(place_free) struct place p = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    const char *url = test_server_url(p.server);
    struct debuginfod_config c = {.urls = &url, .nurls = 1, .dir = p.dir, .max_bytes = 4 * 4096, .patience_ms = 60000};
    CHECK(store(&p, "aaaa.debug", 10, 200) && store(&p, "bbbb.debug", 10, 400) && store(&p, "cccc.debug", 10, 300));
    CHECK(store(&p, "notes", 1000, 900)); /* none of ours */
    CHECK_EQ(debuginfod_new(&d, &c), 0);
    AUTO_CLOSE int used = debuginfod_get(d, "bbbb"); /* now it is the newest */
    AUTO_CLOSE int first = debuginfod_get(d, ID);
    CHECK(used >= 0 && first >= 0);
    CHECK(is_stored(&p, "aaaa.debug") && is_stored(&p, "bbbb.debug") && is_stored(&p, "cccc.debug")); /* four blocks */
    AUTO_CLOSE int second = debuginfod_get(d, OTHER);
    CHECK(second >= 0);
    CHECK(is_stored(&p, "aaaa.debug") && is_stored(&p, "bbbb.debug") && !is_stored(&p, "cccc.debug"));
    CHECK(is_stored(&p, ID ".debug") && is_stored(&p, OTHER ".debug") && is_stored(&p, "notes"));
    struct debuginfod_stats s;
    debuginfod_stats(d, &s);
    CHECK(s.fetched == 2 && !s.missing && !s.failed && !s.lied);
}

/* A file that is said to be larger than all of it is refused before others go for it; one of which nothing is said,
 * when it has grown so far. Never is there more than the limit. */
TEST(debuginfod_never_exceeds_its_budget)
{
    CLEANUP(place_free) struct place p = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    struct debuginfod_stats s;
    CHECK(place_new(&p));
    const char *url = test_server_url(p.server);
    struct debuginfod_config c = {.urls = &url, .nurls = 1, .dir = p.dir, .max_bytes = 4096, .patience_ms = 60000};
    CHECK(store(&p, "aaaa.debug", 10, 200));
    CHECK_EQ(debuginfod_new(&d, &c), 0);
    p.fault = (struct fault){.large = true, .larger = 1};
    CHECK_EQ(debuginfod_get(d, ID), -EFBIG);
    CHECK(is_stored(&p, "aaaa.debug"));
    debuginfod_free(&d);
    c.max_bytes = 64 * FS_BLOCK;
    CHECK_EQ(debuginfod_new(&d, &c), 0);
    p.fault = (struct fault){.endless = true, .dir = p.dir};
    CHECK_EQ(debuginfod_get(d, OTHER), -EFBIG);
    size_t most = __atomic_load_n(&p.fault.most, __ATOMIC_RELAXED);
    CHECK(most > 16 * FS_BLOCK && most <= c.max_bytes);
    CHECK(!is_stored(&p, OTHER ".debug"));
    debuginfod_stats(d, &s);
    CHECK(s.too_large == 1 && !s.failed);
}

TEST(debuginfod_without_a_folder_leaves_nothing)
{
    CLEANUP(place_free) struct place p = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    char link[64], path[256] = "";
    CHECK(place_new(&p));
    const char *url = test_server_url(p.server);
    CHECK_EQ(debuginfod_new(&d, &(struct debuginfod_config){.urls = &url, .nurls = 1, .patience_ms = 60000}), 0);
    AUTO_CLOSE int fd = debuginfod_get(d, ID);
    CHECK(fd >= 0);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    CHECK(readlink(link, path, sizeof(path) - 1) > 0);
    *strrchr(path, '/') = 0;
    CHECK(strstr(path, "xprof-debuginfod-") && !access(path, F_OK));
    debuginfod_free(&d);
    CHECK(access(path, F_OK) < 0);
}

TEST(debuginfod_asks_again_when_it_has_been_long)
{
    CLEANUP(place_free) struct place p = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 60000), 0);
    CHECK(store(&p, ID ".debug.none", 0, 500) && store(&p, OTHER ".debug.none", 0, 700));
    CHECK_EQ(debuginfod_get(d, ID), -ENOENT);
    CHECK_EQ(asked(&p), 0);
    AUTO_CLOSE int fd = debuginfod_get(d, OTHER);
    CHECK(fd >= 0);
    CHECK_EQ(asked(&p), 1);
}

TEST(debuginfod_counts_how_it_went)
{
    CLEANUP(place_free) struct place p = {.fault = {.missing = true}};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    struct debuginfod_stats s;
    CHECK(place_new(&p));
    CHECK_EQ(open_client(&d, &p, 60000), 0);
    CHECK_EQ(debuginfod_get(d, "abcd"), -ENOENT); /* the shortest */
    p.fault = (struct fault){.large = true};
    CHECK_EQ(debuginfod_get(d, ID), -EFBIG);
    CHECK_EQ(debuginfod_get(d, ID), -EFBIG); /* for ten minutes */
    CHECK_EQ(asked(&p), 1);
    debuginfod_drop(d, OTHER);
    debuginfod_drop(d, "../x");
    debuginfod_stats(d, &s);
    CHECK(s.fetched == 0 && s.missing == 1 && s.too_large == 1 && !s.failed && s.lied == 1);
    CHECK_EQ(debuginfod_get(d, "abc"), -EINVAL);
    CHECK_EQ(debuginfod_get(d, "ABCD"), -EINVAL);
    CHECK_EQ(debuginfod_get(d, ID "0"), -EINVAL);
    CHECK(!is_stored(&p, ID ".debug")); /* and no half of it */
    CHECK_EQ(chmod(p.dir, 0720), 0);
    struct debuginfod *other = NULL;
    CHECK_EQ(open_client(&other, &p, 0), -EPERM);
}

/* What is no URL of a server is left out; nothing is asked where none is left. */
TEST(debuginfod_takes_urls_that_can_be)
{
    char large[600] = "http://";
    memset(large + 7, 'x', sizeof(large) - 8);
    static const struct {
        const char *url;
        int rc;
    } cases[] = {{"http://", -EINVAL}, {"https://", -EINVAL},  {"http://x", 0},       {"https://x", 0},
                 {"ftp://x", -EINVAL}, {"httpx://x", -EINVAL}, {" \t\n http://x/", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct debuginfod *d = NULL;
        CHECK_EQ(debuginfod_new(&d, &(struct debuginfod_config){.more = cases[i].url}), cases[i].rc);
        CHECK_EQ(d != NULL, !cases[i].rc);
        debuginfod_free(&d);
        CHECK(!d);
    }
    struct debuginfod *d = NULL;
    CHECK_EQ(debuginfod_new(&d, &(struct debuginfod_config){.more = large}), -EINVAL);
    CHECK_EQ(debuginfod_new(&d, &(struct debuginfod_config){.more = ""}), 0);
    CHECK(!d);
}

/* Those that were named go before those of the environment. */
TEST(debuginfod_asks_the_servers_that_were_named)
{
    CLEANUP(place_free) struct place named = {.fault = {.missing = true}}, other = {0};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    CHECK(place_new(&named) && place_new(&other));
    const char *url = test_server_url(named.server);
    struct debuginfod_config c = {
        .urls = &url, .nurls = 1, .more = test_server_url(other.server), .dir = named.dir, .patience_ms = 60000};
    CHECK_EQ(debuginfod_new(&d, &c), 0);
    CHECK_EQ(debuginfod_get(d, ID), -ENOENT);
    CHECK_EQ(asked(&named), 1);
    CHECK_EQ(asked(&other), 0);
}

/* One does not have it, the other could not say: nobody remembers that it is missing. */
TEST(debuginfod_says_what_went_wrong)
{
    CLEANUP(place_free) struct place a = {.fault = {.broken = true}}, b = {.fault = {.missing = true}};
    CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
    struct debuginfod_stats s;
    CHECK(place_new(&a) && place_new(&b));
    const char *urls[] = {test_server_url(a.server), test_server_url(b.server)};
    struct debuginfod_config c = {.urls = urls, .nurls = 2, .dir = a.dir, .idle_ms = 300, .patience_ms = 60000};
    CHECK_EQ(debuginfod_new(&d, &c), 0);
    int rc = debuginfod_get(d, ID);
    CHECK(rc < 0 && rc != -ENOENT);
    CHECK(!is_stored(&a, ID ".debug.none") && !is_stored(&a, ID ".debug"));
    CHECK_EQ(debuginfod_get(d, OTHER), -EHOSTUNREACH); /* the broken one is left alone */
    CHECK_EQ(asked(&a), 1);
    CHECK_EQ(asked(&b), 2);
    debuginfod_stats(d, &s);
    CHECK(s.failed == 2 && !s.missing && !s.fetched);
}

/* A file that is as large as it may be. */
TEST(debuginfod_takes_files_up_to_the_limit)
{
    for (size_t max = 9; max <= 10; max++) {
        CLEANUP(place_free) struct place p = {0};
        CLEANUP(debuginfod_free) struct debuginfod *d = NULL;
        CHECK(place_new(&p));
        const char *url = test_server_url(p.server);
        struct debuginfod_config c = {.urls = &url, .nurls = 1, .dir = p.dir, .max_file = max, .patience_ms = 60000};
        CHECK_EQ(debuginfod_new(&d, &c), 0);
        int fd = debuginfod_get(d, ID);
        CHECK_EQ(fd >= 0 ? 0 : fd, max == 10 ? 0 : -EFBIG);
        if (fd >= 0)
            close(fd);
    }
}
