/* A test environment for the search: directories that represent the roots of a container and of the host, and a
 * directory of the user.
 */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "debug/debug.h"

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

bool world_new(struct world *w);
void world_free(struct world *w);

/* Contents of a file; NULL: not present. */
struct made {
    const char *id, *info, *link, *alt;
    u32 crc;
    const char *alt_id;
    bool package, symbols;
};
void make_file(struct buf *out, const struct made *m);
/* Writes a file below the world's directory: "container/bin/x". Returns its CRC. */
u32 put_file(struct world *w, const char *where, const struct made *m);

/* Looks for the debug file of container/bin/x; true if one of the attempts had this outcome. */
bool look(struct world *w, const char *outcome);
/* Returns the root of the first file that was used. */
const char *whose_is_used(const struct world *w);
