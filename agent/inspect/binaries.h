/* Loads tables and names of files without sampling, for the commands that inspect paths, processes and profiles. One
 * thread: the one that owns the parser.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "debug/search_paths.h"
#include "profile/symbolize.h"

struct binaries;
struct cache;
struct dwarf_index_header;
struct facts;
struct line_indexes;
struct parser;
struct parser_synth;

struct binary {
    u32 id; /* in stack words */
    int fd; /* opened O_RDONLY */
    char *path;
    char build_id[41]; /* hex; "": it has none */
    struct xp_file_key key;
    int error; /* 0, or why it is no binary that could be read */
};

struct binaries_config { /* borrowed */
    struct parser *parser;
    struct cache *cache; /* NULL: none */
    struct debug_sources debug;
    bool short_names; /* without argument lists */
};
/* 0 or -ENOMEM. */
int binaries_new(struct binaries **out, const struct binaries_config *config);
void binaries_free(struct binaries **b);

/* Adds the file behind fd (taken), or finds it if it is known. `tgid`: a process in whose root its debug file may lie;
 * 0: none. The id, or 0 without memory. */
u32 binaries_add(struct binaries *b, int fd, const char *path, u32 tgid);
/* Its vdso: the id is XP_FILE_VDSO. */
void binaries_add_vdso(struct binaries *b);
/* NULL: there is no such id. */
const struct binary *binaries_get(const struct binaries *b, u32 id);
/* Its unwind table, from the cache or made now; borrowed. 0, or what parser_table says. */
int binaries_table(struct binaries *b, u32 id, const struct xp_table **out);
/* What could be read off the code that its table does not cover (parser/synth_table.h); borrowed. Takes seconds at
 * most. 0, or what parser_synth says. */
int binaries_synth(struct binaries *b, u32 id, const struct parser_synth **out);
/* The table with those rows, from the cache or made now; borrowed. -ENODATA: there are none. */
int binaries_whole_table(struct binaries *b, u32 id, const struct xp_table **out);
/* What parser_facts says of it. */
int binaries_facts(struct binaries *b, u32 id, struct facts *out);
/* Looks for its debug files once more, and keeps a trace of that; `root` as in struct debug_subject. */
int binaries_debug_files(struct binaries *b, u32 id, int root, struct debug_files *out, struct debug_trace *trace);
/* The head of its line index. 0, or why there is none (line_indexes_get). */
int binaries_lines(struct binaries *b, u32 id, struct dwarf_index_header *out);
/* Names of the kernel will be asked for: begins to read them, beside what else is done. */
void binaries_want_kernel(struct binaries *b);
/* The process whose anonymous memory names are asked for, under whatever number: its runtime may keep a map. */
void binaries_set_process(struct binaries *b, u32 tgid, u64 start);
/* Where names of files, of the kernel and of that process's code come from; valid as long as `b`. */
struct name_source binaries_source(struct binaries *b);
