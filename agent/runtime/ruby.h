/* Reads Ruby (MRI) out of the memory of its process, without any help of it.
 *
 * Ruby does not say where its structures have what, so offsets are constants of a version, and the process is checked:
 * its threads must lead back to themselves, and frames must have instructions whose names are strings.
 *
 *   ruby.c           finds the interpreter, and what the unwinder must know of it (struct xp_ruby)
 *   ruby_layout.c    which version it is, and its offsets
 *   ruby_threads.c   its threads, and where a thread has its execution context
 *   ruby_values.c    strings and arrays (include/ruby/internal/core)
 *   ruby_symbols.c   from an ID to its name (symbol.c)
 *   ruby_classes.c   from a class to its name (variable.c, internal/class.h)
 *   ruby_code.c      from an instruction sequence or a method entry to names (vm_core.h, method.h)
 *   ruby_lines.c     from an instruction to its line (iseq.c)
 *   ruby_names.c     from words of a stack (bpf/script.h) to frames
 *   ruby_about.c     what `inspect` says of it
 *
 * Frames are named as backtraces of Ruby 3.4 have them: "Class#method", "Class.method", "block in Class#method",
 * "<main>", "<class:Name>". "[ruby: gone]" is a frame whose code is something else by now; "[ruby]" is one whose name
 * cannot be read.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; ruby_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

/* Offsets in bytes from the start of their structure. */
struct ruby_layout {
    u64 symbols;      /* address of the array of all symbols (rb_symbols_t.ids); 0: it was not found */
    u64 classpath_id; /* IDs that classes have their name and their object by; 0: fields have them */
    u64 attached_id;  /* the same of the object that a singleton class belongs to */
    u16 info;         /* rb_iseq_constant_body.insns_info */
    u16 info_bytes;   /* sizeof(struct iseq_insn_info_entry) */
    u16 parent;       /* rb_iseq_constant_body.parent_iseq */
    u16 classpath;    /* in a class, or with IDs, its table of variables in what `class_ext` leads to; 0: unknown */
    u16 attached;     /* in a class; 0: unknown */
    u16 class_ext;    /* RClass.ptr; 0: its fields are part of the class */
    u8 string_length; /* lengths of embedded strings: 0: bits of flags; else where they are */
    u8 array_bits;    /* of lengths of embedded arrays, from bit 15 of flags on */
    u8 pad[2];
};
_Static_assert(sizeof(struct ruby_layout) == 40, "no hidden padding");

struct ruby { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_script machine;
    struct ruby_layout layout;
    char version[16]; /* "3.1.2"; printable, terminated */
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int ruby_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int ruby_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
