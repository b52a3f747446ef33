/* Stores unwind tables, stretches of code that were read, line indexes and name indexes on disk, keyed by the digest of
 * their input, so that a restarted agent can use them at once.
 *
 * Tables control which memory the kernel side reads. So a directory that other users can write is refused, and every
 * table is checked when it is loaded; a bad one is removed. It also holds `secret`, 16 random bytes that key the
 * digests (cfi/table.h). Files are written atomically. Before their blocks on disk exceed max_bytes, the least recently
 * used files are removed.
 */
#pragma once
#include "cfi/table.h"

struct cache;

struct cache_image { /* a valid image, mapped read-only */
    const struct xp_table *table;
    size_t len;
};
void cache_image_free(struct cache_image *i);

/* Creates the directory if it is missing. Returns 0; -EPERM: owned by another user, or writable by group or others;
 * -ENOTDIR; or another -errno. */
int cache_open(struct cache **out, const char *dir, size_t max_bytes);
void cache_free(struct cache **c);

/* Returns 16 bytes that stay the same for the lifetime of the directory. */
const u8 *cache_secret(const struct cache *c);
/* Loads a table and marks it as used. Returns 0; -ENODATA: it does not exist, has another version, or is bad; or
 * -errno. */
int cache_get(struct cache *c, const struct table_key *key, struct cache_image *out);
/* Stores a copy of a valid image. Returns 0; -EFBIG: larger than the cache may be; or -errno. */
int cache_put(struct cache *c, const struct table_key *key, const void *image, size_t len);

/* Marks: one bit of information about a file, stored under its key. Marks that are not read are evicted like tables.
 */
enum cache_mark {
    CACHE_SYNTHESISED, /* rows for code without CFI exist, in the table under another key */
    CACHE_NO_SYNTH,    /* under that other key: no such rows could be derived */
    CACHE_MARKS
};
bool cache_marked(struct cache *c, const struct table_key *key, enum cache_mark mark);
/* 0 or -errno. */
int cache_mark(struct cache *c, const struct table_key *key, enum cache_mark mark);

/* Indexes, of one kind each. The caller identifies one by sixteen bytes, which a container must not be able to choose.
 */
enum cache_index {
    CACHE_LINES,     /* line indexes: dwarf/dwarf.h */
    CACHE_NAMES,     /* name indexes: dwarf/names.h */
    CACHE_STRETCHES, /* stretches of code that were read: synth/stretch_image.h */
    CACHE_INDEXES
};
/* Returns an owned fd, opened O_RDONLY, of an index with a correct checksum; -ENODATA; or -errno. */
int cache_get_index(struct cache *c, enum cache_index kind, const u8 digest[16]);
/* As cache_put. */
int cache_put_index(struct cache *c, enum cache_index kind, const u8 digest[16], const void *index, size_t len);

/* The index of the kernel's symbols (kernel_names.h); there is only one. The caller checks that it is valid and that of
 * the running kernel, and replaces it otherwise. cache_get_kernel returns an owned fd, opened O_RDONLY; -ENODATA;
 * -EPERM: other users can read it, which would reveal the addresses of kernel code; or another -errno. */
int cache_get_kernel(struct cache *c);
int cache_put_kernel(struct cache *c, const void *index, size_t len);
