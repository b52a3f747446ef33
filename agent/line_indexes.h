/* Line indexes of files, each made once: it is in memory, on the disk, or the parser makes it now. What an index
 * belongs to is the inode with its change time and size as the kernel saw them, which no container can choose; so one
 * that was made of a file is never shown for another, and a second run starts from the disk.
 *
 * Without a cache on disk indexes are kept as memfds, below a sum of bytes; those used longest ago go first.
 * One thread: the one that owns the parser.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"

struct cache;
struct line_indexes;
struct parser;

/* Both are borrowed; `cache` may be NULL. 0 or -ENOMEM. */
int line_indexes_new(struct line_indexes **out, struct parser *parser, struct cache *cache);
void line_indexes_free(struct line_indexes **l);

/* A file was seen for the first time: whether it has a debug file in the root of this process is found out while there
 * is one. That file is read by the first line_indexes_get, if the file itself has no debug information. */
void line_indexes_seen(struct line_indexes *l, const struct xp_file_key *key, u32 tgid, const char *path,
                       const char *build_id);

/* The index of the file behind fd (borrowed): a borrowed descriptor, good until the next call; or why there is none:
 * -ENODATA (no debug information), or what parser_lines says. A failure is remembered as long as the index would be. */
int line_indexes_get(struct line_indexes *l, const struct xp_file_key *key, int fd);
