/* Provides the line index of a file from memory, from disk, or from the parser; each index is built once. An index is
 * identified by the inode of its file, with change time and size as seen by the kernel, which a container cannot
 * choose. So the index of one file is never used for another, and a second run can load it from disk.
 *
 * Debug information may be in other files (debug.h). Containers that share a lower layer share the file, and they do
 * not trust each other. So there is one index of a file for all, from what the file itself, the node, the user's
 * directories and servers have, and one for each container (told apart by its cgroup) whose own files add to it.
 *
 * Files of a container are looked for when the file is symbolized, in the root of a process that mapped it when it was
 * first seen, or of one that still runs. The first one is held open (O_PATH) until then, with one descriptor for all
 * files seen in it.
 *
 * Without a cache on disk, indexes are kept as memfds of limited total size; least recently used ones are removed
 * first. The thread that owns the parser owns this module.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>

struct cache;
struct debug_search_paths;
struct line_indexes;

/* All arguments are borrowed; `cache` may be NULL. Returns 0 or -ENOMEM. */
int line_indexes_new(struct line_indexes **out, const struct debug_search_paths *places, struct cache *cache);
void line_indexes_free(struct line_indexes **l);

#define LINE_INDEXES_ALL 0 /* instead of a cgroup: what is found names the file for everybody */

/* Notes a file that is seen for the first time, and opens the root of the process if it still exists. */
void line_indexes_seen(struct line_indexes *l, const struct xp_file_key *key, u64 cgroup, u32 tgid, const char *path);
/* Closes what is open because of a file that is not used any more. If it is used again, that is opened again. */
void line_indexes_forget(struct line_indexes *l, const struct xp_file_key *key);
/* Closes roots that were held for that long without being used, because the file systems of a container cannot be
 * unmounted while they are held, and indexes and debug files that were removed, because they would take their space of
 * the disk. */
void line_indexes_release(struct line_indexes *l, u64 age_ns);

/* Tells whether the result of line_indexes_get may still change, because a server is being queried for the debug file.
 */
bool line_indexes_pending(struct line_indexes *l, const struct xp_file_key *key);

/* Tells whether line_indexes_get, or line_indexes_get_of for this cgroup, answers from memory. */
bool line_indexes_tried(const struct line_indexes *l, const struct xp_file_key *key, u64 cgroup);

struct line_index { /* borrowed descriptors, valid until the next call; -1: none */
    int fd;
    int symbols;   /* a debug file with the stripped symbols */
    bool complete; /* no other files are missing */
};
/* Finds the index of the file behind fd (borrowed). Returns 0; -ENODATA: there is no debug information; or the error of
 * parser_lines. Always fills *out. A failure is cached like an index. */
int line_indexes_get(struct line_indexes *l, const struct xp_file_key *key, int fd, struct line_index *out);

/* A process of a container that may have debug files of its own; borrowed. */
struct line_index_process {
    u64 cgroup;
    u32 tgid;
    u64 start_ns;
    const char *path; /* of the file, as it sees it */
};
/* Finds the index with the files of that container. -ESRCH: the process exited, so that nothing can be said; -ENODATA:
 * the container adds nothing, which is not remembered here. */
int line_indexes_get_of(struct line_indexes *l, const struct xp_file_key *key, const struct line_index_process *p,
                        int fd, struct line_index *out);

/* Results so far. */
struct line_indexes_stats {
    u64 files, found;  /* requested files; those with debug information */
    u64 cut;           /* incomplete indexes: the file is damaged, or a limit was reached */
    u64 missing_parts; /* incomplete indexes because another file is missing */
    u64 failed;        /* there is debug information, but no index */
};
struct line_indexes_stats line_indexes_stats(const struct line_indexes *l);
