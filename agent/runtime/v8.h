/* Reads V8, the JavaScript engine of Node.js, out of the memory of its process, without any help of it. It exports
 * numbers for debuggers (v8dbg_*, V8's tools/gen-postmortem-metadata.py): types, and offsets of most fields.
 *
 *   v8.c           finds the engine, and what the unwinder must know of it (struct xp_v8)
 *   v8_layout.c    its numbers
 *   v8_text.c      strings (src/objects/string.tq)
 *   v8_function.c  from a SharedFunctionInfo to its name, its script and where it begins there
 *   v8_places.c    from a position in the bytecode to a place in the source (src/codegen/source-position-table.h)
 *   v8_lines.c     from there to a line
 *   v8_code.c      from an address in machine code to whose it is (src/objects/code.h)
 *   v8_bytecodes.c sizes of bytecodes, where V8 does not tell them
 *   v8_compiled.c  from there to places: of the function, and of what is inlined into it
 *   v8_names.c     from words of a stack (bpf/v8.h) to frames
 *   v8_about.c     what `inspect` says of it
 *
 * Functions are named as in stack traces and by V8's own profiler: by their name, or by what V8 inferred for one that
 * has none, or "(anonymous)". Names of methods are without their class. A function of the language itself
 * (Array.prototype.map) has a name, and no file. The line is that of the bytecode at hand; in optimised code that of
 * the last call, for V8 notes places of calls; and if V8 keeps no places of a function, that where it begins. Where a
 * leaf in optimised code is between calls of two functions that are inlined, it is one of the function that both are
 * part of. A name that cannot be read is "(anonymous)", too; "[javascript: gone]" is a frame whose function is another
 * object by now, and "[javascript]" one of which nothing can be read.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; v8_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

enum v8_positions { /* how tables of positions tell what is a statement */
                    V8_POSITIONS_SIGN,
                    V8_POSITIONS_BITS, /* since 14: by two bits */
};

/* Offsets in bytes from the start of their structure, like those of struct xp_v8. */
struct v8_layout {
    u16 shared_type, script_type, scope_type; /* types of objects */
    u16 shared_name, shared_data;             /* SharedFunctionInfo: name_or_scope_info, function_data */
    u16 script_name, script_source, script_line_offset;
    u16 array_positions;             /* BytecodeArray.source_position_table */
    u16 scope_first;                 /* ScopeInfo: the index of the first local */
    u16 not_string;                  /* bits that types of strings do not have */
    u16 string_length, string_first; /* the text of sequential strings; what others refer to */
    u8 positions;                    /* enum v8_positions */
    u8 old_scopes;                   /* ScopeInfo: names are always in it, and the place of the receiver */

    /* Machine code. 0 in `stream_type`: it is not known how that is laid out. */
    u16 stream_type, stream_head;       /* what instructions are in, and its bytes before them */
    u16 stream_code;                    /* where that refers to its Code; 0: it is the Code */
    u16 code_data, code_places;         /* Code: deoptimization_data or bytecode; source_position_table */
    u16 code_size;                      /* bytes of instructions */
    u16 deopt_literals, deopt_inlining; /* indexes in DeoptimizationData: functions, and where they are inlined */
    u16 deopt_shared;                   /* the function itself */
    u16 deopt_wrapped;                  /* where what that index leads to refers to it; 0: it is it */
    u16 bytecodes;                      /* how many there are */
    u16 table;                          /* v8_bytecodes_of: where `sizes` is not known */
    u16 pad[2];
    u64 sizes; /* address of the bytes of each, for three widths of operands; 0: not known */
};
_Static_assert(sizeof(struct v8_layout) == 64, "no hidden padding");

struct v8 { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_v8 machine;
    struct v8_layout layout;
    char version[24]; /* "12.4.254.21-node.57", perhaps shortened; printable, terminated; empty: it is not known */
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int v8_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int v8_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
