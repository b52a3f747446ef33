/* Finds the debug information of a file: in the file itself, or in a separate file. The first match in this order is
 * used:
 *
 *   1. .debug_info of the file itself
 *   2. by build ID below /usr/lib/debug/.build-id in the root of a process that maps the file, on the host, and in
 *      the user's directories
 *   3. by the name in .gnu_debuglink (default: the file's name and ".debug") next to the file, in .debug/ there, and
 *      below /usr/lib/debug, all in the process's root; then in the user's directories
 *   4. from a debuginfod server (debuginfod.h), if one is configured
 *
 * A file with another build ID is never used; if one of the two has no build ID, the CRC of .gnu_debuglink decides.
 * Containers that share a layer share the file, but what one of them supplies is not for others: line_indexes.h looks
 * with and without its root. Names in files are not trusted: they are opened in the root to which they belong (openat2,
 * RESOLVE_IN_ROOT), only regular files, and read-only. A trace records all attempts.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "elf/debug_links.h"

struct debuginfod;
struct hung;
struct opener;
struct parser;

#define DEBUG_MAX_ATTEMPTS 64

struct debug_attempt {
    char *place;         /* owned: a path, with control characters made visible */
    const char *whose;   /* "container", "host", "directory", "debuginfod": root of the path */
    const char *outcome; /* "used", or why not; constant */
};
struct debug_trace {
    VEC(struct debug_attempt) v; /* in order */
    u32 more;                    /* number of further attempts, not stored */
};
void debug_trace_free(struct debug_trace *t);

struct debug_search_paths { /* borrowed; owned (except `parser`) if filled in by debug_search_paths_open */
    struct parser *parser;
    struct opener *opener;   /* borrowed; NULL: files are opened in this process */
    struct hung *hung;       /* borrowed; NULL: nothing is known of file systems that do not answer */
    int host;                /* O_PATH of the host's root; -1: unknown */
    const char *const *dirs; /* the user's directories: DIR/.build-id/xx/rest.debug, DIR/name */
    size_t ndirs;
    struct debuginfod *server; /* NULL: none */
    char **own_dirs;           /* NULL; or owned, NULL-terminated: same as `dirs` */
};

struct debug_subject { /* the file; borrowed */
    int fd;
    int root;         /* O_PATH of the root of a process that maps it; -1: none */
    const char *path; /* in that root; not trusted */
};

struct debug_files {
    struct debug_links links; /* from the file itself */
    bool found;               /* there is debug information, in the file itself or another one */
    int debug;                /* owned; -1: the file's own, or none */
    int alt, dwp;             /* owned; -1: none wanted, or not found */
    bool debug_symbols;       /* .symtab in `debug` */
    bool pending;             /* a server is being queried: try again later */
    char *path;               /* owned; path of the file with the debug information */
    int root;                 /* borrowed: root of that path */
};
#define DEBUG_FILES_NONE                              \
    {                                                 \
        .debug = -1, .alt = -1, .dwp = -1, .root = -1 \
    }

/* Looks for all debug files; `t` may be NULL. Returns 0, also if there are none; -ENOMEM; or the error of
 * parser_links. */
int debug_files_find(const struct debug_search_paths *p, const struct debug_subject *s, struct debug_files *out,
                     struct debug_trace *t);
void debug_files_free(struct debug_files *f);

/* Opens split units for parser_lines: in the directory of their compilation, next to the file, or in the user's
 * directories. */
struct debug_split {
    const struct debug_search_paths *places;
    const struct debug_subject *subject;
    const struct debug_files *files;
    struct debug_trace *trace; /* may be NULL */
    u32 missing;
};
int debug_split_open(void *split, const char *dir, const char *name);
