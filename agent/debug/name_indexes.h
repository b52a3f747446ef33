/* Provides the name index of a file (dwarf/name_index.h) from memory, from disk, or from the parser. It is keyed like
 * a line index (line_indexes.h): by the inode of the file with change time and size, and by those of the debug file
 * that has its symbols, so that the index of one file is never used for another.
 *
 * Reading the symbols of a file for a few offsets costs a tenth of building an index of them. So it is built when names
 * of a file are requested for the third time: a file that is named once, such as those of a recording, has none, nor
 * have programs that end soon.
 *
 * Without a cache on disk, indexes are kept as memfds of limited total size, of which each owner has its share
 * (base/shares.h). The least recently used are removed first. The thread that owns the parser owns this module.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "dwarf/names.h"

struct cache;
struct name_indexes;
struct parser;

/* All arguments are borrowed; `cache` may be NULL. Returns 0 or -ENOMEM. */
int name_indexes_new(struct name_indexes **out, struct parser *parser, struct cache *cache);
void name_indexes_free(struct name_indexes **n);

/* Finds the index of files->file with files->symbols (borrowed), because names of it are requested now. `owner`: whose
 * share it counts against; SHARES_ALL: nobody's. Returns a borrowed descriptor, valid until the next call; -1: there is
 * none, so that the files themselves have to be read. */
int name_indexes_get(struct name_indexes *n, const struct xp_file_key *key, u64 owner, const struct names_fds *files);

/* Closes the index of a file that is not used any more, unless it is in memory only. */
void name_indexes_forget(struct name_indexes *n, const struct xp_file_key *key);

/* Results so far. */
struct name_indexes_stats {
    u64 built, loaded; /* by the parser; from disk */
    u64 failed;        /* files without an index because of a limit, or of the parser */
};
struct name_indexes_stats name_indexes_stats(const struct name_indexes *n);
