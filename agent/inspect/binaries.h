/* Loads tables and names of files without sampling, for the commands that inspect paths, processes and profiles. Owned
 * by the thread that owns the parser.
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
struct parser_reply;
struct parser_synth;

struct binary {
    u32 id; /* in stack words */
    int fd; /* opened O_RDONLY */
    char *path;
    char build_id[41]; /* hex; "": none */
    struct xp_file_key key;
    int error; /* 0, or the error of reading it */
};

struct binaries_config { /* borrowed */
    struct parser *parser;
    struct cache *cache; /* NULL: none */
    struct debug_sources debug;
    bool short_names; /* functions without argument lists */
};
/* 0 or -ENOMEM. */
int binaries_new(struct binaries **out, const struct binaries_config *config);
void binaries_free(struct binaries **b);

/* Adds the file behind fd (takes ownership), or finds it if it is known. `tgid`: a process whose root may contain its
 * debug file; 0: none. Returns the ID, or 0 if out of memory. */
u32 binaries_add(struct binaries *b, int fd, const char *path, u32 tgid);
/* Adds the vdso, with ID XP_FILE_VDSO. */
void binaries_add_vdso(struct binaries *b);
/* NULL: there is no such id. */
const struct binary *binaries_get(const struct binaries *b, u32 id);
/* Loads or builds its unwind table; borrowed. Returns 0, or the error of parser_table. */
int binaries_table(struct binaries *b, u32 id, const struct xp_table **out);
/* Derives rows for code that its table does not cover (parser/synth_table.h); borrowed. Takes up to seconds. Returns 0,
 * or the error of parser_synth. */
int binaries_synth(struct binaries *b, u32 id, const struct parser_synth **out);
/* Loads or builds the table with those rows; borrowed. -ENODATA: there are none; -E2BIG: the code is too much to be
 * analysed as a whole. */
int binaries_whole_table(struct binaries *b, u32 id, const struct xp_table **out);
/* For such a file: derives rows for the stretches of its code with these offsets (synth_read_stretches), in addition to
 * those before and those in the cache; borrowed until the next call. -ENODATA: none of them is new, *out is what there
 * is. */
int binaries_stretches(struct binaries *b, u32 id, const u64 *offsets, size_t n, const struct parser_synth **out);
/* Returns the result of parser_facts. */
int binaries_facts(struct binaries *b, u32 id, struct facts *out);
/* Looks for its debug files again, with a trace; `root` as in struct debug_subject. */
int binaries_debug_files(struct binaries *b, u32 id, int root, struct debug_files *out, struct debug_trace *trace);
/* Reads the head of its line index. Returns 0, or the error of line_indexes_get. */
int binaries_lines(struct binaries *b, u32 id, struct dwarf_index_header *out);
/* Starts reading the names of the kernel in the background, because they will be needed. */
void binaries_want_kernel(struct binaries *b);
/* Reads the code that a process has generated (parser_generated, with the same arguments), and keeps its symbols for
 * binaries_set_process. */
int binaries_generated(struct binaries *b, int mem, int maps, int program, struct parser_reply *out);
/* Reads what there is of a process's runtime (parser_attach), and keeps it for names. One that starts, or changes while
 * it is read, is read again for a moment. Returns 0 with what an unwinder must know; -ENODATA: there is none; or
 * another -errno. */
int binaries_attach(struct binaries *b, u32 tid, struct xp_machine *out);
/* Reads what it is (parser_about), in the same way. */
int binaries_about(struct binaries *b, u32 tid, struct parser_reply *out);
/* Sets the process whose anonymous memory is symbolized, whatever tgid is requested: its runtime may write a map. */
void binaries_set_process(struct binaries *b, u32 tgid, u64 start);
/* Returns the source of names for files, the kernel and the generated code of that process; valid as long as `b`. */
struct name_source binaries_source(struct binaries *b);
