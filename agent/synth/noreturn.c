/* Calls that do not return, system calls among them. What lies behind one belongs to somebody else: to the next
 * function, or to a landing pad that only the tables of exceptions name, and neither has the stack that the call left.
 * Known by name are the ends that compilers know, too: what a PLT stub leads to, or a symbol of the file itself. */
#include "elf/plt.h"
#include "synth/analysis.h"
#include "synth/insn.h"

#define MAX_NAME 64

static bool is_deadly(const char *name, size_t len)
{
    static const char *const deadly[] = {"abort",
                                         "exit",
                                         "_exit",
                                         "_Exit",
                                         "quick_exit",
                                         "__assert_fail",
                                         "__chk_fail",
                                         "__stack_chk_fail",
                                         "__fortify_fail",
                                         "__libc_fatal",
                                         "longjmp",
                                         "siglongjmp",
                                         "__longjmp_chk",
                                         "pthread_exit",
                                         "__assert_perror_fail",
                                         "err",
                                         "errx",
                                         "verr",
                                         "verrx",
                                         "__cxa_bad_cast",
                                         "__cxa_throw",
                                         "__cxa_rethrow",
                                         "__cxa_bad_typeid",
                                         "_ZSt9terminatev",
                                         "__cxa_throw_bad_array_new_length",
                                         "_Unwind_Resume"};
    for (unsigned i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
        if (strlen(deadly[i]) == len && !memcmp(name, deadly[i], len))
            return true;
    return len > 14 && !memcmp(name, "_ZSt", 4) && memmem(name, 14, "__throw_", 8); /* std::__throw_length_error ... */
}

void noreturn_symbol(struct analysis *a, const struct elf_section *names, const Elf64_Sym *sym)
{
    size_t left = sym->st_name < names->len ? names->len - sym->st_name : 0;
    const char *name = (const char *)names->data + sym->st_name;
    size_t len = strnlen(name, left < MAX_NAME ? left : MAX_NAME);
    if (a->ndeadly < MAX_DEADLY && is_deadly(name, len))
        a->deadly[a->ndeadly++] = sym->st_value;
}

#define MAX_LOOK 4096 /* bytes of a function that are looked at for a way out */

/* Is there none in covered code from here to its end? Whatever does not look like one of these is taken for one. */
static bool covered_stays(struct analysis *a, u64 target)
{
    const struct synth_span *s = code_span_of(&a->code, target);
    size_t left;
    const u8 *p = s ? elf_at(a->code.elf, target, &left) : NULL;
    const struct elf_segment *seg = s ? elf_segment_at(a->code.elf, target, PF_X) : NULL;
    struct insn x;
    if (!p || !seg)
        return false;
    u64 n = s->end - (seg->offset + (target - seg->vaddr)), i = 0;
    for (; i < n && i < MAX_LOOK; i += x.len) {
        if (!insn_decode(p + i, left - i, &x) || x.op == INSN_RET)
            return false;
        analysis_tick(a);
        if (x.op != INSN_JMP && x.op != INSN_JCC)
            continue;
        if (x.a.kind != INSN_IMM || i + x.len + (u64)x.a.value >= n)
            return false;
    }
    return i >= n;
}

bool noreturn_call(struct analysis *a, u64 target)
{
    size_t len;
    u64 start;
    for (u32 i = 0; i < a->ndeadly; i++)
        if (a->deadly[i] == target)
            return true;
    if (!a->plt_read) {
        a->plt_read = true;
        if (plt_read(&a->plt, a->code.elf))
            a->plt = NULL;
    }
    const char *name = a->plt ? plt_find(a->plt, target, &len, &start) : NULL;
    if (name)
        return start == target && is_deadly(name, len);
    return covered_stays(a, target);
}

bool noreturn_is_not(struct analysis *a, u64 target)
{
    u32 at;
    if (!code_find(&a->code, target, &at))
        return code_covered(&a->code, target);
    const struct block *b = region_block_at(a, at);
    const struct region *r = b && b->region != a->current ? &a->regions.v[b->region] : NULL;
    return r && !r->frame.orphan && (r->endless ? r->passes_on && !r->gone : proof_holds(r));
}

/* ---- The system calls exit and exit_group ---- */

#define SYS_EXIT       60
#define SYS_EXIT_GROUP 231
#define MAX_STRAIGHT   16 /* instructions */

static bool is_syscall(const u8 *p, const struct insn *x)
{
    return x->len == 2 && p[0] == 0x0f && p[1] == 0x05;
}

/* xor eax, eax */
static bool clears_eax(const u8 *p, const struct insn *x)
{
    return x->len == 2 && (p[0] == 0x31 || p[0] == 0x33) && p[1] == 0xc0;
}

/* mov al, 60: of two bytes, as libraries like it (musl). */
static bool sets_al(const u8 *p, const struct insn *x)
{
    return x->len == 2 && p[0] == 0xb0;
}

bool noreturn_exits(struct exit_watch *w, const u8 *p, const struct insn *x)
{
    if (is_syscall(p, x) && w->known && (w->rax == SYS_EXIT || w->rax == SYS_EXIT_GROUP))
        return true;
    if (clears_eax(p, x))
        *w = (struct exit_watch){0, true};
    else if (sets_al(p, x))
        w->rax = (w->rax & ~0xffu) | p[1];
    else if (x->op == INSN_MOV && x->a.kind == INSN_REG && x->a.reg == INSN_RAX && x->b.kind == INSN_IMM &&
             x->size >= 4)
        *w = (struct exit_watch){(u32)x->b.value, true};
    else if (x->op == INSN_CALL || (x->op == INSN_POP && x->a.kind == INSN_REG && x->a.reg == INSN_RAX) ||
             (x->writes & 1u << INSN_RAX))
        w->known = false;
    return false;
}

bool noreturn_leads_to_exit(const struct code_gap *g, u32 at)
{
    struct exit_watch w = {0};
    struct insn x;
    size_t left;
    for (unsigned i = 0; i < MAX_STRAIGHT && at < g->base + (g->end - g->start); i++, at += x.len) {
        const u8 *p = code_bytes(g, at, &left);
        if (!insn_decode(p, left, &x) || x.op == INSN_RET || x.op == INSN_JMP || x.op == INSN_JCC || x.op == INSN_TRAP)
            return false;
        if (noreturn_exits(&w, p, &x))
            return true;
    }
    return false;
}
