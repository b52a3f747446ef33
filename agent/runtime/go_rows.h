/* Writes exact unwind rows for Go code, from the table that the runtime's own tracebacks use.
 *
 * For every instruction the table (pcsp) contains the distance of rsp from the return address, which determines the
 * CFA. The location of the caller's rbp follows from the prologue of the function: "push rbp; mov rbp, rsp" since Go
 * 1.21, a store below the return address before. Both are recognised in the code; a function with another prologue does
 * not change rbp.
 *
 * A distance cannot describe the stack switches of the runtime. They are done by a few assembly functions, which are
 * found by name and by the linker's flag for functions that write rsp (wrappers have the same names). If such a
 * function keeps the caller's stack in rbp (since 1.21), the rule uses rbp; the others use the saved registers of the
 * goroutine, see XP_CFA_GO_G in bpf/xprof.h and bpf/go.bpf.h. The offsets of these registers are read from the code of
 * morestack and systemstack, because they differ between versions and builds.
 *
 * Frame pointers alone would be simpler and reach the end of the stack as often, but they are wrong in prologues, in
 * leaves, in assembly, and while a stack is copied.
 */
#pragma once
#include "base/vec.h"
#include "cfi/table.h"
#include "runtime/gopclntab.h"

struct go_layout_facts { /* layout of the runtime's structs, as found in the code */
    bool known;          /* false: stack switches end the stack, with a separate cause */
    bool slot;           /* the TLS offset of g is at file offset `g`, else it is `g` */
    s32 g;
    u16 curg;    /* offset of m.curg in m */
    u8 sched_bp; /* offset of sched.bp in g */
};

struct go_rows {
    struct table_code code; /* its rows are borrowed from `rows` */
    VEC(struct table_row) rows;
    struct go_layout_facts facts;
    u32 functions;
};

/* Returns 0; -ENOTSUP: written by Go before 1.18; -ENODATA: no code; -ENOMEM. `out` must be {0}; release it with
 * go_rows_free. A malformed function loses the rows of its own range. The number of steps through the table is limited;
 * code after the limit has no rows (code.bad counts both). */
int go_rows_read(const struct gopclntab *t, struct go_rows *out);
void go_rows_free(struct go_rows *r);
#define AUTO_GO_ROWS __attribute__((cleanup(go_rows_free)))
