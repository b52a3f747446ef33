/* Writes exact unwind rows for Go code, from the table that the runtime's own tracebacks use.
 *
 * For every instruction the table (pcsp) says how far rsp is below the return address, and that is the CFA. Where the
 * caller's rbp is follows from how a function begins: "push rbp; mov rbp, rsp" since 1.21, a store below the return
 * address before. Both are read from the code; a function that begins in another way leaves rbp alone.
 *
 * What cannot be said in bytes below the return address are the runtime's switches of stacks. A few functions of
 * assembly make them; they are found by name, and by the linker's flag that they write rsp (wrappers have the same
 * names). Where such a function keeps the caller's stack in rbp (since 1.21), that is the rule; in the others the
 * goroutine's saved registers are, see XP_CFA_GO_G in bpf/xprof.h and bpf/go.bpf.h. Where in memory those are is read
 * from the code of morestack and systemstack, because the offsets differ between versions and builds.
 *
 * Frame pointers alone would be simpler and end as often, but are wrong in prologues, in leaves, in assembly, and while
 * a stack is copied.
 */
#pragma once
#include "base/vec.h"
#include "cfi/table.h"
#include "runtime/gopclntab.h"

struct go_layout_facts { /* of the runtime's structs, as the code has them */
    bool known;          /* without it, switches end stacks with a cause of their own */
    bool slot;           /* the TLS offset of g is at file offset `g`, else it is `g` */
    s32 g;
    u16 curg;    /* of m.curg in m */
    u8 sched_bp; /* of sched.bp in g */
};

struct go_rows {
    struct table_code code; /* its rows are borrowed from `rows` */
    VEC(struct table_row) rows;
    struct go_layout_facts facts;
    u32 functions;
};

/* 0; -ENOTSUP: of a version before 1.18; -ENODATA: no code; -ENOMEM. `out` starts as {0}; go_rows_free. A malformed
 * function costs its own range; the steps through the table are bounded, and what is behind the last one has no rows
 * (both count in code.bad). */
int go_rows_read(const struct gopclntab *t, struct go_rows *out);
void go_rows_free(struct go_rows *r);
#define AUTO_GO_ROWS __attribute__((cleanup(go_rows_free)))
