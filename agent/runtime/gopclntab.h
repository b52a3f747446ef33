/* Reads the tables of a Go program: functions, files, lines and inlined calls of every pc, also in stripped programs.
 *
 * The Go linker writes a table, runtime.pclntab, that the runtime needs for its own tracebacks; no strip removes it.
 * Its header leads to arrays of bytes: an index of functions by entry, a record for each function, and value tables,
 * which give a number (file, line, index of an inlined call) for each range of pcs as runs of varints. The inline trees
 * lie elsewhere in read-only data (go:func.*), and where that is, only moduledata says, a struct of the runtime among
 * the program's writable data. Layouts: Go's src/runtime/symtab.go, src/internal/abi/symtab.go, debug/gosym; they
 * changed with 1.16, 1.18 and 1.20, and each has a magic number of its own.
 *
 * All places outside are file offsets. Nothing is allocated and nothing is trusted: a read outside of an array yields 0
 * or an empty string, chains of inlined calls have a greatest length, and the steps through value tables have a budget,
 * beyond which functions keep their names but lose lines and inlined calls.
 */
#pragma once
#include "elf/elf.h"

enum go_layout { GO_1_2, GO_1_16, GO_1_18, GO_1_20 }; /* first version that wrote it */

struct go_bytes {
    const u8 *data;
    size_t len;
};

/* Borrowed from `elf`; nothing to free. */
struct gopclntab {
    const struct elf_file *elf;
    enum go_layout layout;
    u64 address; /* of the table */
    u64 nfuncs;
    u64 text;   /* address that entries count from; 0 before 1.18, which has addresses */
    u64 etext;  /* end of Go's code; 0: moduledata was not found */
    u64 gofunc; /* address that funcdata counts from; 0: unknown, or addresses */
    struct go_bytes index, funcs, names, units, files, values;
    u64 steps;  /* through value tables, left */
    u8 wrapper; /* FuncIDWrapper of this version */
    bool wrapper_known;
    bool truncated; /* the steps did not suffice: some frames lack their line or their inlined calls */
};

#define GO_MAX_FUNCS  (8u << 20) /* the largest program seen has 0.2 M */
#define GO_MAX_FRAMES 128        /* at one pc; the compiler's budget ends below 40 */
#define GO_MAX_NAME   (16u << 10)
#define GO_STEPS      (1ull << 29) /* about 1 s; a look-up takes a few hundred */

/* 0; -ENODATA: no Go program; -ENOTSUP: a table of an unknown layout; -EBADMSG. `e` has to outlive `t`. */
int go_open(struct gopclntab *t, const struct elf_file *e);

/* All code of the file is Go's, but for a few KiB: headers, PLT, what the C compiler and runtime/cgo bring along. */
bool go_is_all(const struct gopclntab *t);

struct go_text { /* inside the file, not terminated, any bytes; len 0: unknown */
    const char *data;
    u32 len;
};
struct go_frame {
    struct go_text name; /* as in the table, type arguments in full */
    struct go_text file;
    u32 line; /* in this function: of the pc, or of the call that was inlined; 0: unknown */
};
struct go_frames {
    u64 start; /* file offset of the function's entry */
    u32 n;
    struct go_frame v[GO_MAX_FRAMES]; /* innermost first; the last one is the function itself */
};

/* The frames at a file offset, which is inside of an instruction, or one below a return address. Wrappers that the
 * compiler made are left out where another frame is there to show, as in Go's tracebacks. False: no Go function. */
bool go_frames_at(struct gopclntab *t, u64 offset, struct go_frames *out);

/* Go's tools print type arguments as "[...]": what stands before and behind. False: the name has none. */
bool go_name_split(struct go_text name, struct go_text *head, struct go_text *tail);
