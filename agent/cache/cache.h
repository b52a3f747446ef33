/* Stores unwind tables and line indexes on disk, keyed by the digest of their input, so that a restarted agent has them
 * at once.
 *
 * The directory is ours alone: its tables steer what the kernel reads, so a directory that others may write is refused,
 * and every table is checked when it is loaded; a bad one is removed. It also holds `secret`, 16 random bytes that key
 * the digests (cfi/table.h). Files appear whole or not at all. When their sum exceeds max_bytes, the least recently
 * used files are removed first.
 */
#pragma once
#include "cfi/table.h"

struct cache;

struct cache_image { /* a sound image, mapped read-only */
    const struct xp_table *table;
    size_t len;
};
void cache_image_free(struct cache_image *i);

/* Makes the directory when it is missing. 0, -EPERM (not ours, or writable by group or others), -ENOTDIR, -errno. */
int cache_open(struct cache **out, const char *dir, size_t max_bytes);
void cache_free(struct cache **c);

/* 16 bytes, the same for the life of the directory. */
const u8 *cache_secret(const struct cache *c);
/* 0, -ENODATA (not there, of another version, or bad), -errno. Marks the table as used. */
int cache_get(struct cache *c, const struct table_key *key, struct cache_image *out);
/* Keeps a copy of a sound image. 0, -EFBIG (more than the whole cache may hold), -errno. */
int cache_put(struct cache *c, const struct table_key *key, const void *image, size_t len);

/* One bit about a file: is there a mark of that kind under its key? Marks go like tables when they are not looked at.
 */
enum cache_mark {
    CACHE_SYNTHESISED, /* there are rows for code that CFI does not cover, in the table under another key */
    CACHE_NO_SYNTH,    /* under that other key: none could be made */
    CACHE_MARKS
};
bool cache_marked(struct cache *c, const struct table_key *key, enum cache_mark mark);
/* 0 or -errno. */
int cache_mark(struct cache *c, const struct table_key *key, enum cache_mark mark);

/* The same for line indexes (dwarf/dwarf.h). Which file one belongs to is for the caller to say: sixteen bytes,
 * which a container cannot choose. An owned fd, opened O_RDONLY, of an index whose checksum is right; -ENODATA or
 * -errno.
 */
int cache_get_lines(struct cache *c, const u8 digest[16]);
int cache_put_lines(struct cache *c, const u8 digest[16], const void *index, size_t len);

/* The index of the kernel's symbols (kernel_names.h): there is one. Whether it is that of the running kernel,
 * and sound, is for the caller to find out, who puts another one in its place. An owned fd, opened O_RDONLY; -ENODATA;
 * -EPERM (others may read it: it says where the kernel's code is); -errno. */
int cache_get_kernel(struct cache *c);
int cache_put_kernel(struct cache *c, const void *index, size_t len);
