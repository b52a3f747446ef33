/* Reads what the rows need from the code of a Go function: which function it is, how it saves rbp and rbx, and where it
 * moves rsp to another stack. Compares a few instruction patterns at expected positions; nothing is disassembled.
 */
#pragma once
#include "runtime/gopclntab_internal.h"
#include "runtime/go_rows.h"

/* Functions for which the table is not sufficient. */
enum go_role {
    GO_PLAIN,
    GO_ROOT,      /* it has no caller */
    GO_RESTORER,  /* signal handlers return to it: the ucontext of the interrupted frame is on the stack */
    GO_HANDLER,   /* called by the kernel for a signal; returns to the restorer's first byte */
    GO_FROM_C,    /* called by C, which expects rbx to be preserved */
    GO_INJECTED,  /* injected call: its return address is where its caller was interrupted */
    GO_MORESTACK, /* this one and those below leave the stack of their caller */
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
    bool runtime; /* a function of the runtime */
    bool begun;   /* its frame is set up, and the members below are valid */
    s16 rbp;      /* the caller's rbp is at CFA + rbp */
    u64 saved;    /* from this address on; ~0: never */
    u64 chained;  /* from here on rbp = CFA - 16; 0: never */
    u64 aligned;  /* from here on rbp is the value of rsp at that point (assembly that aligns its stack); 0: never */
    u8 rbx;       /* as in struct xp_rule */
};

/* `p` are the f->end - f->entry bytes of code, or as many as there are. */
struct go_code go_code_of(const struct gopclntab *t, const struct go_func *f, const u8 *p, u64 len);
/* Notes that the depth of the stack is greater than 0 for the first time at address `at`. */
void go_code_begin(struct go_code *c, u64 at, u32 depth);
/* The same without reading the code, for compiled functions that are known to push rbp. */
void go_code_pushed(struct go_code *c, u64 at);
/* Tells whether the instruction before address `at` pops the return address into r12: rawVforkSyscall does so, because
 * its child shares the stack. */
bool go_code_pops_return(const struct go_code *c, u64 at);
/* Searches [from, to) for registers that assembly saves explicitly. */
void go_code_saves(struct go_code *c, u64 from, u64 to, u32 depth);
/* Returns the end of the first instruction at or after `from` that switches rsp to another stack (in racecall: that
 * saves it in r12 before); 0: none. */
u64 go_code_rsp_load(const struct go_code *c, u64 from);
/* Returns the rule that applies from there on. */
struct xp_rule go_code_switch(const struct go_code *c, u64 rsp_load, const struct go_layout_facts *facts);
/* `shift`: file offset - address. */
struct go_layout_facts go_facts_read(const struct go_code *morestack, const struct go_code *systemstack, s64 shift);
