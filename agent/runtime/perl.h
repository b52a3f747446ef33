/* Reads Perl out of the memory of its process, without any help of it.
 *
 * Perl says which version it is, and what is read of it has had few layouts since 5.28. Whether it is what it should be
 * is seen in the process: the current stack must be that of the current stackinfo, its contexts must have subs, and the
 * interpreter must be where a thread has its own. There are three kinds of builds:
 *
 *   threads        each thread has an interpreter (struct interpreter): by pthread_getspecific, with the key PL_thr_key
 *   multiplicity   the current interpreter is PL_curinterp
 *   none           what would be in an interpreter are variables
 *
 *   perl.c           finds the interpreter, and what the unwinder must know of it (struct xp_script)
 *   perl_layout.c    which version it is, and where its interpreter has what
 *   perl_threads.c   where a thread has its interpreter
 *   perl_sub.c       from a sub (CV) to its name, from a statement (COP) to its file and line (cv.h, cop.h)
 *   perl_names.c     from words of a stack (bpf/script.h) to frames
 *   perl_about.c     what `inspect` says of it
 *
 * Frames are named as caller() does it: "Package::sub", "Package::__ANON__", "Package::BEGIN", "(eval)" for a string
 * that is evaluated; but "(require)" for a file that is loaded by use, require or do, and "(main)" for the program
 * itself. Blocks of eval are no frames. "[perl: gone]" is a frame whose sub is another one by now, or none; "[perl]" is
 * one whose name cannot be read.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; perl_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

enum perl_build { PERL_THREADS, PERL_MULTIPLICITY, PERL_PLAIN };

struct perl_layout {
    u64 main;               /* where the CV of the program is: PL_main_cv of the first interpreter */
    u16 nextstate, dbstate; /* types of COPs that are in programs (opnames.h) */
    u8 build;               /* enum perl_build */
    u8 aux_inside;          /* what a stash has beside a hash is in its body; else behind its array (5.28 to 5.34) */
    u8 pad[2];
};
_Static_assert(sizeof(struct perl_layout) == 16, "no hidden padding");

struct perl { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_script machine;
    struct perl_layout layout;
    char version[16]; /* "5.36.0"; printable, terminated */
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int perl_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int perl_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
