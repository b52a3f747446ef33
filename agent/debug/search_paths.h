/* Opens the search paths of debug files: the node's root, the user's directories, and servers if there are any. */
#pragma once
#include "debug/debug.h"
#include <stdbool.h>

struct debug_sources {       /* borrowed; not needed once the paths are open */
    const char *host_root;   /* root of the node's file system; NULL: "/" */
    const char *const *dirs; /* the user's directories with debug files */
    size_t ndirs;
    const char *const *urls; /* URLs of debuginfod servers */
    size_t nurls;
    const char *more_urls;        /* URLs separated by blanks, used if there are no `urls`; or NULL */
    const char *proxy, *no_proxy; /* for servers (net/proxy.h: proxy_config_of) */
    const char *cache_dir;        /* downloads are stored below it; NULL: temporarily */
    size_t max_bytes;             /* of downloads on disk; 0: 1 GiB */
    bool patient;                 /* wait for servers; for symbolization once, at the end */
};

struct cache;
/* Divides a budget for `cache_dir` and opens the cache there with what is not for downloads (max_bytes): these have
 * half of it if there are servers, otherwise what earlier runs left, of which half the budget may stay. Returns the
 * result of cache_open; 0 without a directory: *out stays as it is. */
int debug_sources_open_cache(struct debug_sources *s, size_t budget, struct cache **out);

/* Never fails; problems are logged. */
void debug_search_paths_open(struct debug_search_paths *out, const struct debug_sources *s, struct parser *parser,
                             struct opener *opener, struct hung *hung);
void debug_search_paths_close(struct debug_search_paths *p);
