/* Finds the debug information of a file: in the file itself, or in a separate file. The first match in this order is
 * used:
 *
 *   1. its own .debug_info
 *   2. by build ID below /usr/lib/debug/.build-id: of the root of the process that has it mapped, of the host, of
 *      directories that the user named
 *   3. by the name in .gnu_debuglink (without one: its own name and ".debug") beside it, in .debug/ there, and below
 *      /usr/lib/debug, all in the process's root; then in directories that the user named
 *   4. from a debuginfod server (debuginfod.h), if the user named one
 *
 * A file of another build ID is never taken; where one of the two has no build ID, the CRC of .gnu_debuglink decides.
 * Containers that share a layer share the file, and so what is found for one holds for all of them: it was the same
 * build. Names out of files are hostile: they are opened in the root where they belong (openat2, RESOLVE_IN_ROOT), only
 * regular files, and never written to. What was tried can be asked for.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "elf/debug_links.h"

struct debuginfod;
struct parser;

#define DEBUG_MAX_ATTEMPTS 64

struct debug_attempt {
    char *place;         /* owned: a path, with control characters made visible */
    const char *whose;   /* "container", "host", "directory", "debuginfod": where the path begins */
    const char *outcome; /* "used", or why not; constant */
};
struct debug_trace {
    VEC(struct debug_attempt) v; /* in the order in which they were made */
    u32 more;                    /* that found no room */
};
void debug_trace_free(struct debug_trace *t);

struct debug_search_paths { /* borrowed; but what debug_search_paths_open fills in is its own, `parser` aside */
    struct parser *parser;
    int host;                /* O_PATH of the host's root; -1: not known */
    const char *const *dirs; /* that the user named: DIR/.build-id/xx/rest.debug, DIR/name */
    size_t ndirs;
    struct debuginfod *server; /* NULL: none */
    char **own_dirs;           /* NULL; or owned, with a NULL behind the last: what `dirs` is */
};

struct debug_subject { /* the file; borrowed */
    int fd;
    int root;         /* O_PATH of the root of a process that had it mapped; -1: gone */
    const char *path; /* in that root; not believed */
};

struct debug_files {
    struct debug_links links; /* what the file itself says */
    bool found;               /* debug information, own or not */
    int debug;                /* owned; -1: the file's own, or none */
    int alt, dwp;             /* owned; -1: none wanted, or not found */
    bool debug_symbols;       /* .symtab in `debug` */
    bool pending;             /* a server is being asked: look again later */
    char *path;               /* owned; of the one that has the debug information */
    int root;                 /* borrowed: where that path begins */
};
#define DEBUG_FILES_NONE                              \
    {                                                 \
        .debug = -1, .alt = -1, .dwp = -1, .root = -1 \
    }

/* Looks for all of it; `t` may be NULL. 0, also when there is none; -ENOMEM, or what parser_links says of the file. */
int debug_files_find(const struct debug_search_paths *p, const struct debug_subject *s, struct debug_files *out,
                     struct debug_trace *t);
void debug_files_free(struct debug_files *f);

/* Opens split units for parser_lines: in the directory they were compiled in, beside the file, in the user's
 * directories. */
struct debug_split {
    const struct debug_search_paths *places;
    const struct debug_subject *subject;
    const struct debug_files *files;
    struct debug_trace *trace; /* may be NULL */
    u32 missing;
};
int debug_split_open(void *split, const char *dir, const char *name);
