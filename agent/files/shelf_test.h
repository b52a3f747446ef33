/* A shelf of files in tests of this room: the real parser, the kernel side of probe/fake_test.h, perhaps a cache in a
 * folder of its own.
 */
#pragma once
#include "base/cleanup.h"
#include "cache/cache.h"
#include "files/files_internal.h"
#include "parser/parser.h"
#include "probe/fake_test.h"

struct shelf {
    char dir[64];
    struct probe *probe;
    struct parser *parser;
    struct cache *cache;
    struct files *files;
};

/* 0 or -errno; to be freed in any case. */
int shelf_new(struct shelf *s, bool cached);
void shelf_free(struct shelf *s);
#define AUTO_SHELF CLEANUP(shelf_free) struct shelf

/* The key of a file that is announced under this id. */
struct xp_file_key shelf_key(u32 id, u64 size);
/* Announces a fixture under this id. */
const struct file *shelf_build(struct shelf *s, u32 id, const char *fixture);
/* The same, by a process of this cgroup. */
const struct file *shelf_build_for(struct shelf *s, u64 cgroup, u32 id, const char *fixture);
