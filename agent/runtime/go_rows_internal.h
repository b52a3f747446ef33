/* What rows need to know of a Go function's code: which one it is, how it saves rbp and rbx, where it moves rsp to
 * another stack. A handful of instruction patterns, compared where they are expected; nothing is disassembled.
 */
#pragma once
#include "runtime/gopclntab_internal.h"
#include "runtime/go_rows.h"

/* Functions to which more applies than the table says. */
enum go_role {
    GO_PLAIN,
    GO_ROOT,      /* its return address is nobody's */
    GO_RESTORER,  /* signal handlers return to it: the interrupted frame's ucontext is on the stack */
    GO_HANDLER,   /* called by the kernel for a signal; returns to the restorer's first byte */
    GO_FROM_C,    /* called by C, which wants its rbx back */
    GO_INJECTED,  /* made to look called: its return address is where its caller was interrupted */
    GO_MORESTACK, /* from here on: they leave their caller's stack */
    GO_MCALL,
    GO_SYSTEMSTACK,
    GO_ASMCGOCALL,
    GO_RACECALL,
};

#define GO_DW_R12 12 /* psABI x86-64, figure 3.36 */

struct go_code {
    const struct go_func *f;
    const u8 *p; /* its bytes */
    u64 len;
    enum go_role role;
    bool runtime; /* one of the runtime's own */
    bool begun;   /* its frame is there, and what follows is known */
    s16 rbp;      /* the caller's is at CFA + rbp */
    u64 saved;    /* from this address on; ~0: nowhere */
    u64 chained;  /* from here on rbp = CFA - 16; 0: never */
    u64 aligned;  /* from here on rbp is what rsp was then (assembly that aligns its stack); 0: never */
    u8 rbx;       /* as in struct xp_rule */
};

/* `p` are the f->end - f->entry bytes of code, or as many as there are. */
struct go_code go_code_of(const struct gopclntab *t, const struct go_func *f, const u8 *p, u64 len);
/* At address `at` the stack is deeper than 0 for the first time. */
void go_code_begin(struct go_code *c, u64 at, u32 depth);
/* The same without a look at the code, for one of the compiler's functions that is known to push rbp. */
void go_code_pushed(struct go_code *c, u64 at);
/* What leads to address `at` pops the return address into r12, above which the stack then ends: rawVforkSyscall, whose
 * child shares the stack. */
bool go_code_pops_return(const struct go_code *c, u64 at);
/* Looks into [from, to) for registers that assembly saves by hand. */
void go_code_saves(struct go_code *c, u64 from, u64 to, u32 depth);
/* The end of the first instruction from `from` on that loads rsp with that of another stack (of racecall: that keeps it
 * in r12 before); 0: none. */
u64 go_code_rsp_load(const struct go_code *c, u64 from);
/* The rule that holds from there on. */
struct xp_rule go_code_switch(const struct go_code *c, u64 rsp_load, const struct go_layout_facts *facts);
/* `shift`: file offset - address. */
struct go_layout_facts go_facts_read(const struct go_code *morestack, const struct go_code *systemstack, s64 shift);
