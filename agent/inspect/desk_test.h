/* A desk for looking at files in tests of this room: the real parser, a cache in a folder of its own, and binaries. */
#pragma once
#include "base/cleanup.h"
#include "inspect/binaries.h"

struct desk {
    char dir[64];
    struct parser *parser;
    struct cache *cache;
    struct binaries *binaries;
};

/* With a cache, and debug files below its folder. 0 or -errno; to be freed in any case. */
int desk_new(struct desk *d);
void desk_free(struct desk *d);
#define AUTO_DESK CLEANUP(desk_free) struct desk

/* Where a fixture is, by its name below build/testdata; "": nowhere. */
void path_of(const char *name, char path[4096]);
/* Its id, or 0. */
u32 add_fixture(struct desk *d, const char *name);
/* For a name_source's `use`: the first name, into 64 bytes at `text`. */
void first_name(void *text, const struct names *n);
