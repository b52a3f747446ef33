/* Opens the search paths of debug files: the node's root, the user's directories, and servers if there are any. */
#pragma once
#include "debug/debug.h"
#include <stdbool.h>

struct debug_sources {       /* borrowed, and not needed any more when the places are open */
    const char *host_root;   /* where the node's file system is; NULL: "/" */
    const char *const *dirs; /* where the user has debug files */
    size_t ndirs;
    const char *const *urls; /* of debuginfod servers */
    size_t nurls;
    const char *more_urls; /* the same with blanks between, used when there are no others; or NULL */
    const char *cache_dir; /* what servers send is kept below it; NULL: nowhere */
    bool patient;          /* wait for servers: who names once, at the end */
};

/* Never fails: what cannot be had is said in the log. */
void debug_search_paths_open(struct debug_search_paths *out, const struct debug_sources *s, struct parser *parser);
void debug_search_paths_close(struct debug_search_paths *p);
