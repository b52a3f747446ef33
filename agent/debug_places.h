/* From what the user says about debug files to the places where they are looked for: opens the node's root, and asks
 * servers if there are any. */
#pragma once
#include "debug_file.h"
#include <stdbool.h>

struct debug_sources {       /* borrowed */
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
void debug_places_open(struct debug_places *out, const struct debug_sources *s, struct parser *parser);
void debug_places_close(struct debug_places *p);
