/* What is kept of what the user said. */
#include "debug/search_paths.h"
#include "base/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(debug_search_paths_outlive_the_options)
{
    struct debug_search_paths p;
    char *dir = strdup("/there"), **list = calloc(1, sizeof(*list));
    CHECK(dir && list);
    list[0] = dir;
    const struct debug_sources s = {.dirs = (const char *const *)list, .ndirs = 1};
    debug_search_paths_open(&p, &s, NULL, NULL, NULL);
    memset(dir, 'x', strlen(dir)); /* as when an agent reads its configuration again */
    free(dir);
    free(list);
    CHECK_EQ(p.ndirs, 1);
    CHECK_STR(p.dirs[0], "/there");
    debug_search_paths_close(&p);
    CHECK(!p.own_dirs);
}

/* The node's root is where it is said to be, if debug files are there. */
TEST(debug_search_paths_have_the_node)
{
    char dir[] = "/tmp/xprof-test-XXXXXX", path[128], command[64];
    struct debug_search_paths p;
    struct stat said, opened;
    CHECK(mkdtemp(dir) && !stat(dir, &said));
    const struct debug_sources s = {.host_root = dir};
    debug_search_paths_open(&p, &s, NULL, NULL, NULL);
    bool elsewhere = p.host < 0 || (!fstat(p.host, &opened) && opened.st_ino != said.st_ino);
    debug_search_paths_close(&p);
    snprintf(path, sizeof(path), "mkdir -p %s/usr/lib/debug", dir);
    int rc = system(path);
    debug_search_paths_open(&p, &s, NULL, NULL, NULL);
    bool there = p.host >= 0 && !fstat(p.host, &opened) && opened.st_ino == said.st_ino;
    debug_search_paths_close(&p);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    rc |= system(command);
    CHECK_EQ(rc, 0);
    CHECK(elsewhere && there);
}

/* Servers are there when one is named, and keep what they send where it is said. */
TEST(debug_search_paths_have_servers)
{
    char dir[] = "/tmp/xprof-test-XXXXXX", path[64];
    const char *url = "http://127.0.0.1:1";
    struct debug_search_paths p;
    CHECK(mkdtemp(dir) != NULL);
    debug_search_paths_open(&p, &(struct debug_sources){.host_root = "/"}, NULL, NULL, NULL);
    bool none = !p.server && !p.ndirs;
    debug_search_paths_close(&p);
    debug_search_paths_open(&p, &(struct debug_sources){.urls = &url, .nurls = 1, .cache_dir = dir}, NULL, NULL, NULL);
    bool named = p.server;
    debug_search_paths_close(&p);
    bool closed = !p.server;
    snprintf(path, sizeof(path), "%s/debuginfod", dir);
    bool kept = !rmdir(path);
    rmdir(dir);
    debug_search_paths_open(&p, &(struct debug_sources){.more_urls = url}, NULL, NULL, NULL);
    bool more = p.server;
    debug_search_paths_close(&p);
    CHECK(none && named && closed && kept && more);
}
