/* The parser process: an unprivileged child that reads the files that any container may have crafted.
 *
 * It has no capabilities, no_new_privs, a seccomp allow-list, its own limits of memory and of time per file, and no
 * file system. It gets open descriptors over a socket (SCM_RIGHTS) and answers in sealed memfds, which the parent maps
 * and checks (table_check, names_view) before it uses them. A child that is killed, hangs, lies or runs out of memory
 * costs the request it was working on: the call returns the cause, the child is started again, the next file works. One
 * request at a time; not thread-safe: the worker thread owns it.
 *
 * The child is this same executable, started anew (execveat of /proc/self/exe), so that it inherits no memory of its
 * parent and may be restarted while other threads run. main() hands over as its first act:
 *     if (parser_is_child(argc, argv)) return parser_child_main(argc, argv);
 */
#pragma once
#include "elf/facts.h"
#include "dwarf/names.h"
#include "cfi/table.h"
#include <stdbool.h>
#include <sys/types.h>

struct debug_links;
struct dwarf_fds;
struct parser;
struct parser_synth;

struct parser_limits {
    unsigned timeout_ms; /* per request */
    size_t memory;       /* bytes of address space for mapped files and all; a quarter of it may be private memory */
};
#define PARSER_LIMITS_DEFAULT                          \
    {                                                  \
        .timeout_ms = 20000, .memory = (size_t)4 << 30 \
    }

#define PARSER_CHILD_ARG   "--parser-child" /* hidden first argument of the child */
#define PARSER_MAX_OFFSETS (1u << 22)       /* of one parser_names */

bool parser_is_child(int argc, char **argv);
int parser_child_main(int argc, char **argv);

/* Starts the child and waits until it is locked in. The thread that starts a child must outlive it: the child dies with
 * it (a later request then starts another one). 0 or -errno. */
int parser_new(struct parser **out, const struct parser_limits *limits);
void parser_free(struct parser **p);

/* What a finished request left: mapped read-only, owned by the caller, parser_reply_free. */
struct parser_reply {
    const void *data;
    size_t len;
};
void parser_reply_free(struct parser_reply *r);

/* All of them: fd is borrowed, opened O_RDONLY (else -EINVAL); its file position may move. 0, the child's own -errno
 * (see cfi/table.h, dwarf/names.h), or one of -ETIMEDOUT (hung), -EPIPE (died), -EPROTO (lied or broke the
 * protocol): the file should then be quarantined, and more than a few such failures a second make the next request
 * wait. -ECHILD: no child could be started, which is not the file's fault. */
int parser_identify(struct parser *p, int fd, struct table_key *out);
/* A checked image, made of bytes that have this key; -ESTALE: the file's have another one by now. The child remembers
 * what it has identified last, so that asking at once costs no second look at the file. */
int parser_table(struct parser *p, int fd, const struct table_key *key, struct parser_reply *out);
/* The same with rows for code that has no unwind information of any kind (parser/synth_table.h); *out is owned, too,
 * by parser_reply_free of its bytes. Waits PARSER_SYNTH_MS, whatever the limits say: nobody should be waiting for the
 * caller. The key tells files apart that differ in their code alone; -EFBIG: the file is too large to have one. Then,
 * or when what is found will not be shared, `key` is NULL. */
int parser_synth_identify(struct parser *p, int fd, struct table_key *out);
int parser_synth(struct parser *p, int fd, const struct table_key *key, struct parser_synth *out);
#define PARSER_SYNTH_MS 10000
/* What the file says about debug information (elf/debug_links.h): nothing of it is more than a claim. `crc`: sum
 * all of the file up, too. */
int parser_links(struct parser *p, int fd, bool crc, struct debug_links *out);
int parser_facts(struct parser *p, int fd, struct facts *out); /* elf/facts.h */
/* The file's line index (dwarf/dwarf.h), to be kept and given to parser_names. files->dwo is called, in this
 * process, with names that the file chose. Larger files take seconds; it waits PARSER_LINES_PATIENCE times longer than
 * for others, and the child gives up by itself before. */
int parser_lines(struct parser *p, const struct dwarf_fds *files, struct parser_reply *out);
#define PARSER_LINES_PATIENCE 4
int parser_names(struct parser *p, const struct names_fds *files, const u64 *offsets, size_t n,
                 struct parser_reply *out, struct names *view);
/* Names out of a runtime's own map (runtime/jit_map.h) of n ascending addresses. */
int parser_jit(struct parser *p, int fd, const u64 *addresses, size_t n, struct parser_reply *out, struct names *view);
/* The same as a struct runtime_reader (runtime/runtime.h) wants it: `parser` is a struct parser. */
int parser_jit_read(void *parser, int fd, const u64 *addresses, size_t n,
                    void (*use)(void *arg, const struct names *names), void *arg);

/* For tests and the summary. */
pid_t parser_pid(const struct parser *p);         /* 0 when none is running at the moment */
unsigned parser_restarts(const struct parser *p); /* children started again after one was lost */
/* Ends the child; the next request starts another one. For a thread that used the parser and is about to end: the child
 * would end with it, perhaps in the midst of somebody else's request. */
void parser_rest(struct parser *p);
/* The secret that keys table digests, 16 bytes: to be set before the first parser_identify by those who keep tables.
 * Otherwise a random one does, so that nobody can make a file that is taken for another one. */
void parser_set_secret(struct parser *p, const u8 secret[16]);
