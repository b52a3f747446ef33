#include "debug/search_paths.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cache/cache.h"
#include "debug/debuginfod.h"
#include "debug/folder.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SERVER_PATIENCE_MS 90000 /* in all */

struct server_dir {
    char path[4096];
};

static struct server_dir dir_of(const struct debug_sources *s)
{
    struct server_dir d;
    snprintf(d.path, sizeof(d.path), "%s/debuginfod", s->cache_dir);
    return d;
}

static size_t share_of_downloads(const struct debug_sources *s, size_t budget)
{
    struct folder left = {.dir = NULL};
    if (s->nurls || (s->more_urls && s->more_urls[strspn(s->more_urls, " \t\n")]))
        return budget / 2;
    if (!s->cache_dir || access(dir_of(s).path, F_OK) || folder_open(&left, dir_of(s).path, budget / 2)) {
        folder_close(&left);
        return 0;
    }
    folder_make_room(&left, 0, NULL);
    size_t bytes = folder_bytes(&left);
    folder_close(&left);
    return bytes;
}

int debug_sources_open_cache(struct debug_sources *s, size_t budget, struct cache **out)
{
    s->max_bytes = share_of_downloads(s, budget);
    return s->cache_dir ? cache_open(out, s->cache_dir, budget - s->max_bytes) : 0;
}

static struct debuginfod *open_server(const struct debug_sources *s)
{
    struct server_dir dir = s->cache_dir ? dir_of(s) : (struct server_dir){""};
    struct debuginfod *server = NULL;
    struct debuginfod_config config = {.urls = s->urls,
                                       .nurls = s->nurls,
                                       .more = s->more_urls,
                                       .proxy = proxy_config_of(s->proxy, s->no_proxy),
                                       .dir = s->cache_dir ? dir.path : NULL,
                                       .max_bytes = s->max_bytes,
                                       .patience_ms = s->patient ? SERVER_PATIENCE_MS : 0};
    int rc = debuginfod_new(&server, &config);
    if (rc)
        log_warn("debug files are not fetched from servers: %s", strerror(-rc));
    return server;
}

/* The node's root, the first that has debug files: where it is said to be; the first process's, for in a pod that sees
 * the node's processes "/" is the image's; our own, where that one may not be read. */
static int open_host(const char *root)
{
    const char *const places[] = {root ? root : "/", "/proc/1/root", "/"};
    bool ours = !strcmp(places[0], "/");
    for (size_t i = ours; i < sizeof(places) / sizeof(*places); i++) {
        AUTO_CLOSE int fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && !faccessat(fd, "usr/lib/debug", F_OK, 0))
            return TAKE_FD(fd);
    }
    return -1;
}

static void free_dirs(char ***dirs)
{
    for (char **d = *dirs; d && *d; d++)
        free(*d);
    free(*dirs);
    *dirs = NULL;
}

/* Options are freed when an agent reads its configuration again. NULL without memory. */
static char **copy_dirs(const char *const *dirs, size_t n)
{
    CLEANUP(free_dirs) char **copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = strdup(dirs[i])))
            return NULL;
    return TAKE_PTR(copy);
}

void debug_search_paths_open(struct debug_search_paths *out, const struct debug_sources *s, struct parser *parser,
                             struct opener *opener, struct hung *hung)
{
    char **dirs = copy_dirs(s->dirs, s->ndirs);
    if (!dirs)
        log_warn("the directories of --debug-dir are not searched: out of memory");
    *out = (struct debug_search_paths){.parser = parser,
                                       .opener = opener,
                                       .hung = hung,
                                       .host = open_host(s->host_root),
                                       .dirs = (const char *const *)dirs,
                                       .ndirs = dirs ? s->ndirs : 0,
                                       .own_dirs = dirs,
                                       .server = open_server(s)};
}

void debug_search_paths_close(struct debug_search_paths *p)
{
    debuginfod_free(&p->server);
    free_dirs(&p->own_dirs);
    xp_cleanup_close(&p->host);
}
