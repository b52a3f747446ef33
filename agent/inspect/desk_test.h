/* A test fixture for inspecting files: the real parser, a cache in its own directory, and binaries. */
#pragma once
#include "base/cleanup.h"
#include "inspect/binaries.h"

struct desk {
    char dir[64];
    struct parser *parser;
    struct cache *cache;
    struct binaries *binaries;
};

/* Creates the fixture with a cache, and debug files below its directory. Returns 0 or -errno; free it in every case. */
int desk_new(struct desk *d);
void desk_free(struct desk *d);
#define AUTO_DESK CLEANUP(desk_free) struct desk

/* Returns the path of a fixture by its name below build/testdata; "": not found. */
void path_of(const char *name, char path[4096]);
/* Returns its ID, or 0. */
u32 add_fixture(struct desk *d, const char *name);
/* For `use` of a name_source: copies the first name to 64 bytes at `text`. */
void first_name(void *text, const struct names *n);
