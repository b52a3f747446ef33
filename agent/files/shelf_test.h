/* A test fixture for files: the real parser, the kernel side of probe/fake_test.h, and optionally a cache in its own
 * directory.
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

/* Returns 0 or -errno. Free it in every case. */
int shelf_new(struct shelf *s, bool cached);
void shelf_free(struct shelf *s);
#define AUTO_SHELF CLEANUP(shelf_free) struct shelf

/* Returns the key of a file that is announced under this ID. */
struct xp_file_key shelf_key(u32 id, u64 size);
/* The same, of the file at `path`, as a kernel that shows it on an overlayfs sees it: its inode is another one. */
struct xp_file_key shelf_key_of(u32 id, const char *path);
/* Announces a fixture under this ID. */
const struct file *shelf_build(struct shelf *s, u32 id, const char *fixture);
/* The same, by a process of this cgroup. */
const struct file *shelf_build_for(struct shelf *s, u64 cgroup, u32 id, const char *fixture);
/* Ends so many rounds, in which stacks run through the file `used` only. */
void shelf_age(struct shelf *s, unsigned rounds, u32 used);
