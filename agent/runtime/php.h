/* Reads PHP out of the memory of its process, without any help of it.
 *
 * The engine exports where it has its state (executor_globals, Zend/zend_globals.h) and its modules (module_registry),
 * which say the version. Offsets do not depend on the build, so they are constants for each version. The process is
 * checked: its table of functions must begin with functions of the engine, and what runs must have instructions and a
 * file.
 *
 *   php.c           finds the engine, and what the unwinder must know of it (struct xp_script)
 *   php_layout.c    which version it is, and its offsets
 *   php_state.c     where its state is; whether that is what it should be
 *   php_function.c  from a function to its names (Zend/zend_compile.h, zend_types.h)
 *   php_names.c     from words of a stack (bpf/script.h) to frames
 *   php_about.c     what `inspect` says of it
 *
 * Frames are named as PHP's own backtraces name them: "Class::method", "function", "{closure}", "{main}" for the
 * script, "include" and "eval" for what it runs of other files and of texts. "[php: gone]" is a frame whose function is
 * another one by now; "[php]" is one whose name cannot be read.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; php_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

struct php { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_script machine;
    char version[30]; /* "8.2.36", "8.1.2-1ubuntu2.22"; printable, terminated */
    u8 threads;       /* it is a build with threads (ZTS) */
    u8 debug;         /* a build for debugging */
};
_Static_assert(sizeof(struct php) == 96, "no hidden padding");

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int php_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int php_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
