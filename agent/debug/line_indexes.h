/* Provides the line index of a file from memory, from disk, or from the parser; each index is built once. What an index
 * belongs to is the inode with its change time and size as the kernel saw them, which no container can choose; so one
 * that was made of a file is never shown for another, and a second run starts from the disk.
 *
 * Debug information may lie in other files (debug.h), which are looked for when the file is named, in the root of
 * a process that had it mapped when it was first seen. That root is held (O_PATH) until then, one descriptor for all
 * files that were seen in it. Two containers with one lower layer have one file, and one index.
 *
 * Without a cache on disk indexes are kept as memfds, below a sum of bytes; those used longest ago go first.
 * One thread: the one that owns the parser.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>

struct cache;
struct debug_search_paths;
struct line_indexes;

/* All are borrowed; `cache` may be NULL. 0 or -ENOMEM. */
int line_indexes_new(struct line_indexes **out, const struct debug_search_paths *places, struct cache *cache);
void line_indexes_free(struct line_indexes **l);

/* A file was seen for the first time: the root of this process is held, while there is one. */
void line_indexes_seen(struct line_indexes *l, const struct xp_file_key *key, u32 tgid, const char *path);
/* Lets go of roots that were held for so long and that nobody asked for: a container's file systems cannot be taken
 * away as long as they are held. */
void line_indexes_release(struct line_indexes *l, u64 age_ns);

/* Between calls of line_indexes_get for a file, what it finds may change: a server is being asked for its debug file.
 */
bool line_indexes_pending(struct line_indexes *l, const struct xp_file_key *key);

struct line_index { /* borrowed descriptors, good until the next call; -1: none */
    int fd;
    int symbols; /* a debug file with the symbols that were stripped */
};
/* Of the file behind fd (borrowed). 0; or why there is no index: -ENODATA (no debug information), or what parser_lines
 * says; *out is filled in any case. A failure is remembered as long as the index would be. */
int line_indexes_get(struct line_indexes *l, const struct xp_file_key *key, int fd, struct line_index *out);

/* What became of the files so far. */
struct line_indexes_stats {
    u64 files, found;  /* that were asked for; that have debug information */
    u64 cut;           /* indexes that have less than the file: damaged, or a limit was hit */
    u64 missing_parts; /* the same because another file is not there */
    u64 failed;        /* there is debug information, but no index */
};
struct line_indexes_stats line_indexes_stats(const struct line_indexes *l);
