/* The parser process: an unprivileged child process that reads files, which a container may have crafted.
 *
 * It has no capabilities, no_new_privs, a seccomp allow-list, its own limits for memory and time per file, and no file
 * system. It receives open descriptors over a socket (SCM_RIGHTS) and replies with sealed memfds, which the parent maps
 * and checks (table_check, names_view) before use. If the child is killed, hangs, sends invalid data or runs out of
 * memory, only the current request fails: the call returns the cause, and the child is restarted for the next file. One
 * request at a time; not thread-safe: the worker thread owns it.
 *
 * The child is this same executable, started anew (execveat of /proc/self/exe), so that it inherits no memory of its
 * parent and can be restarted while other threads run. main() starts with:
 *     if (parser_is_child(argc, argv)) return parser_child_main(argc, argv);
 */
#pragma once
#include "elf/allocators.h"
#include "elf/facts.h"
#include "elf/functions.h"
#include "elf/usdt.h"
#include "dwarf/names.h"
#include "cfi/table.h"
#include "runtime/go_heap.h"
#include <stdbool.h>
#include <sys/types.h>

struct debug_links;
struct hung;
struct opener;
struct dwarf_fds;
struct parser;
struct parser_synth;

struct parser_limits {
    unsigned timeout_ms; /* per request */
    size_t memory;       /* bytes of address space, including mapped files; up to a quarter may be private memory */
};
#define PARSER_LIMITS_DEFAULT                          \
    {                                                  \
        .timeout_ms = 20000, .memory = (size_t)4 << 30 \
    }

#define PARSER_CHILD_ARG   "--parser-child" /* hidden first argument of the child */
#define PARSER_MAX_OFFSETS (1u << 22)       /* per call of parser_names */

bool parser_is_child(int argc, char **argv);
int parser_child_main(int argc, char **argv);

/* Starts the child and waits until it is sandboxed. The child dies with the thread that started it, so that thread must
 * outlive it (a later request then starts another child). Returns 0 or -errno. */
int parser_new(struct parser **out, const struct parser_limits *limits);
void parser_free(struct parser **p);

/* The result of a request: mapped read-only, owned by the caller; release with parser_reply_free. */
struct parser_reply {
    const void *data;
    size_t len;
};
void parser_reply_free(struct parser_reply *r);

/* For all requests: fd is borrowed and opened O_RDONLY or O_PATH (else -EINVAL); its file position may change. They
 * return 0; -errno of the child (see cfi/table.h, dwarf/names.h); -ETIMEDOUT: the child took too long; -EPIPE: it died;
 * -EPROTO: it sent invalid data. After these three the file should be quarantined; if they are frequent, the next
 * request is delayed. -EREMOTEIO: the file system does not answer (opener/hung.h). -ECHILD: no child could be started,
 * which is not the file's fault. */
int parser_identify(struct parser *p, int fd, struct table_key *out);
/* Returns a checked image, built from bytes with this key; -ESTALE: the contents of the file have another key by now.
 * The child keeps the file that it identified last, so that a request right after that does not read it again. */
int parser_table(struct parser *p, int fd, const struct table_key *key, struct parser_reply *out);
/* The same with rows for code that has no unwind information of any kind (parser/synth_table.h); *out is owned, too,
 * by parser_reply_free of its bytes. Waits for up to PARSER_SYNTH_MS, regardless of the limits, so no other work should
 * wait for the caller. The key also distinguishes files that differ only in their code; -EFBIG: the file is too large
 * to have a key. In this case, or if the result is not shared, `key` is NULL. */
int parser_synth_identify(struct parser *p, int fd, struct table_key *out);
int parser_synth(struct parser *p, int fd, const struct table_key *key, struct parser_synth *out);
#define PARSER_SYNTH_MS 10000
/* The same for a file with more code than that can follow: rows for n stretches, whose code must keep frame pointers
 * (synth_read_stretches). The other code has none. Never shared between files. `image`: descriptor of what an earlier
 * reply says was read of this file (out->stretches), borrowed; -1: none. Its stretches have rows, too. */
int parser_stretches(struct parser *p, int fd, int image, const u32 *wanted, size_t n, struct parser_synth *out);
#define PARSER_MAX_STRETCHES (1u << 15) /* 8 GB of code */
/* Reads the code that a process has generated (generated/generated.h): /proc/PID/mem, /proc/PID/maps, and its program
 * (-1: none). The reply is one for generated_open, which has checked it. */
int parser_generated(struct parser *p, int mem, int maps, int program, struct parser_reply *out);
/* Finds the runtime of a process in its memory (runtime_attach in runtime/runtime.h): /proc/PID/mem and /proc/PID/maps.
 * The reply is one for runtime_attached, which has checked it. -ENODATA: there is none; -EAGAIN: it still starts;
 * -ENOTSUP: it is not understood. */
int parser_attach(struct parser *p, int mem, int maps, struct parser_reply *out);
/* Says what there is to know of it: text that runtime_about_sound (runtime/runtime.h) has checked. Takes the same, with
 * the same errors. */
int parser_about(struct parser *p, int mem, int maps, struct parser_reply *out);
/* Finds the names of n words of its frames, two for each (runtime_names): `attached` is a sealed memfd with the bytes
 * of that reply. The view has n / 2 entries. -E2BIG: more than RUNTIME_MAX_WORDS. */
int parser_runtime_names(struct parser *p, int mem, int attached, const u64 *words, size_t n, struct parser_reply *out,
                         struct names *view);
/* Returns the file's references to debug information (elf/debug_links.h), which are not trusted. `crc`: also compute
 * the CRC of the whole file. */
int parser_links(struct parser *p, int fd, bool crc, struct debug_links *out);
int parser_facts(struct parser *p, int fd, struct facts *out);                            /* elf/facts.h */
int parser_allocators(struct parser *p, int fd, struct allocators *out);                  /* elf/allocators.h */
int parser_go_locks(struct parser *p, int fd, struct allocators *out);                    /* runtime/go_locks.h */
int parser_go_heap(struct parser *p, int fd, struct go_heap *out);                        /* runtime/go_heap.h */
int parser_usdt(struct parser *p, int fd, const char *pattern, struct parser_reply *out); /* a struct usdt */
/* A struct functions (parser/readable_functions.h). `debug`: the debug file, or -1. */
int parser_functions(struct parser *p, int fd, int debug, const char *pattern, struct parser_reply *out);
/* Builds the file's line index (dwarf/dwarf.h), to be kept and passed to parser_names. files->dwo is called in this
 * process, with names from the file. Large files take seconds: the time limit is PARSER_LINES_PATIENCE times that of
 * other requests, and the child gives up before. */
int parser_lines(struct parser *p, const struct dwarf_fds *files, struct parser_reply *out);
#define PARSER_LINES_PATIENCE 4
/* Builds the file's name index (dwarf/name_index.h) from `file` and `symbols`, to be kept and passed to parser_names.
 * -ENODATA: it would be of no use. */
int parser_name_index(struct parser *p, const struct names_fds *files, struct parser_reply *out);
int parser_names(struct parser *p, const struct names_fds *files, const u64 *offsets, size_t n,
                 struct parser_reply *out, struct names *view);
/* Reads the names of n ascending addresses from a runtime's map, and from symbols (runtime/jit_map.h). */
int parser_jit(struct parser *p, int fd, int symbols, const u64 *addresses, size_t n, struct parser_reply *out,
               struct names *view);
/* The same with the signature of struct runtime_reader (runtime/runtime.h): `parser` is a struct parser. */
int parser_jit_read(void *parser, int fd, int symbols, const u64 *addresses, size_t n,
                    void (*use)(void *arg, const struct names *names), void *arg);

/* For tests and the summary. */
pid_t parser_pid(const struct parser *p);         /* 0 when none is running at the moment */
unsigned parser_restarts(const struct parser *p); /* children started again after one was lost */
/* Returns which layers of the sandbox hold that not every machine allows, as bits (parser/sandbox.h). */
unsigned parser_layers(const struct parser *p);
/* Returns the CPU time of all children so far, in ns. Never decreases. Any thread may call it. */
u64 parser_cpu_ns(struct parser *p);
/* Has O_PATH descriptors opened by `opener`, and children that cannot end kept by `hung`, both borrowed. By default
 * they are opened in this process. */
void parser_set_opener(struct parser *p, struct opener *opener, struct hung *hung);
/* Ends the child; the next request starts another one. To be called by a thread that used the parser and is about to
 * end: the child would die with it, perhaps during a request of another thread. */
void parser_rest(struct parser *p);
/* Sets the 16-byte secret that keys table digests. To be called before the first parser_identify if tables are stored.
 * The default is a random secret. It prevents anyone from crafting a file that is mistaken for another. */
void parser_set_secret(struct parser *p, const u8 secret[16]);
