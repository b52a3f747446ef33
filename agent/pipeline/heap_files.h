/* The files of processes whose allocations are wanted, and the allocators in them. A file is held open while a process
 * is followed in it: it may be deleted, and its blocks are freed then. Owned by the thread of heaps.c, which the parser
 * process dies with.
 */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "parser/parser.h"
#include "probe/probe.h"

#define HEAP_FILES_MAX 8192 /* known, those without allocators included */

struct hung;
struct opener;

struct known_file {
    u32 id;       /* as in stack words */
    int fd;       /* O_PATH; -1: it has no allocators, or nobody has needed it since it was closed */
    bool closed;  /* it is to be read when it is needed */
    bool remote;  /* it is left alone: its file system may not answer (opener/hung.h) */
    bool without; /* it has the name that is looked for, but not the function */
    bool said;    /* that one of these is so, or that the kernel refuses probes in it */
    u8 failures;  /* when it was to be read */
    u32 users;    /* processes in which it is followed */
    struct allocators *sites;
    struct named_usdt *usdt; /* beside them, of USDT probes; NULL */
    struct go_heap go;       /* if it is wanted */
};

/* Finds what is followed of the file behind fd: parser_allocators, or parser_go_locks. Not needed for what is found by
 * name (named_file.h). */
typedef int heap_files_read(struct parser *parser, int fd, struct allocators *out);

struct heap_files {
    heap_files_read *read;
    const struct probe_places *named; /* what is followed in files of a name; NULL: `read` knows */
    bool go;                          /* heaps of Go are wanted, too */
    struct hung *hung;                /* borrowed */
    struct opener *opener;
    struct parser *parser;
    bool ready;        /* the children that open and read files have been started */
    u64 found, failed; /* files with allocators; files that could not be read, or had no room; atomic */
    u64 remote;        /* files that are left alone; atomic */
    u64 without;       /* files of the name that have not the function, or may not have a probe there; atomic */
    u64 left_out;      /* places in files that are not followed, because a file has too many; atomic */
    struct map places; /* file ID -> its place in `all`, plus 1 */
    VEC(struct known_file) all;
};

int heap_files_init(struct heap_files *f, heap_files_read *read, struct hung *hung); /* 0 or -errno */
void heap_files_free(struct heap_files *f);
/* Starts the children, in the calling thread, unless that is done. */
void heap_files_prepare(struct heap_files *f);
/* The children are not needed for some time. */
void heap_files_rest(struct heap_files *f);

/* Returns the file of a mapping, which is read if it is new; NULL: there is no room, because so many are followed.
 * Valid until the next call. Where a file system may not answer, nothing is read: a probe would wait for it while it
 * keeps all processes of the machine from forking (kernel/events/uprobes.c: register_for_each_vma). */
struct known_file *heap_files_know(struct heap_files *f, const struct xp_listed *l);
struct known_file *heap_files_find(const struct heap_files *f, u32 id);
/* Somebody no longer follows it. */
void heap_files_give(struct heap_files *f, u32 id);
