/* Where the stacks of schedulers and of Erlang processes begin. The code of the scheduler (process_main.cpp) is
 * generated in each process: how it begins tells where a thread has its registers, and how large they are. Structures
 * have no descriptions: that of the process of a scheduler is found by what they refer to. */
#include "runtime/beam_internal.h"
#include "runtime/sound.h"
#include "runtime/thread_block.h"
#include <errno.h>
#include <string.h>

#define GLOBAL        "global" /* the module of code that all share */
#define MAIN          "global::process_main"
#define MAIN_CALLER   "process_main" /* the function of C that jumps there, or calls it */
#define CODE_BYTES    64             /* of the start of its code */
#define CACHE_LINE    64
#define MAX_FRAME     (1u << 20)
#define CALLERS       4          /* places where the return address may be */
#define STACK_PAGES   64         /* at the end of a thread's stack: where its TLS base is */
#define MAX_DISTANCE  (4u << 20) /* between the first scheduler and the last one that is looked at */
#define PROCESS_FROM  0x40       /* ErtsSchedulerData.current_process: where it may be */
#define PROCESS_TO    0x400
#define PROCESS_USUAL 0xa8 /* where it is in OTP 25 and 27 */
#define PROCESS_WORDS 64   /* of a process, one of which refers to its scheduler */
#define PROCESS_HEAP  0x50 /* htop, stop */

struct search {
    struct memory *m;
    struct beam *b;
    u64 first;         /* scheduler */
    u64 own, own_size; /* MAIN_CALLER */
};

/* ---- The code of the scheduler ---------------------------------------------------------------------------------- */

struct code {
    u8 bytes[CODE_BYTES];
    u32 at;
};

static bool skip(struct code *c, const char *bytes, u32 n)
{
    if (c->at + n > CODE_BYTES || memcmp(c->bytes + c->at, bytes, n) != 0)
        return false;
    c->at += n;
    return true;
}

static u32 number(struct code *c, u32 bytes)
{
    u32 v = 0;
    if (c->at + bytes <= CODE_BYTES)
        memcpy(&v, c->bytes + c->at, bytes);
    c->at += bytes;
    return v;
}

/* Makes room for the registers, stores where they are in the scheduler's data, and has them in rbx:
 *   sub rsp, imm32; and rsp, -64; mov [rdi + d], rsp; lea rbx, [rsp + d] */
static bool read_code(struct code *c, struct xp_beam *out)
{
    skip(c, "\x55\x48\x89\xe5", 4); /* perhaps: push rbp; mov rbp, rsp */
    if (!skip(c, "\x48\x81\xec", 3))
        return false;
    out->frame = number(c, 4);
    if (!skip(c, "\x48\x83\xe4\xc0", 4))
        return false;
    if (skip(c, "\x48\x89\x67", 3))
        out->scheduler_registers = (u16)number(c, 1);
    else if (!skip(c, "\x48\x89\x27", 3))
        return false;
    if (skip(c, "\x48\x8d\x5c\x24", 4))
        out->registers = (u16)number(c, 1);
    else if (skip(c, "\x48\x8d\x9c\x24", 4))
        out->registers = (u16)number(c, 4);
    return out->registers && out->frame > CACHE_LINE && out->frame < MAX_FRAME;
}

static int find_code(struct search *s)
{
    struct beam_walk w;
    struct beam_module mod, last = {0};
    struct beam_table t = {0};
    struct beam_place main = {0};
    struct code code = {0};
    if (!beam_walk_start(s->m, s->b->descriptor, &w))
        return -EAGAIN;
    while (beam_walk_next(s->m, &w, &mod)) /* it was the first one */
        last = mod;
    int rc = last.bytes ? beam_table_read(s->m, &last, &t) : -EAGAIN;
    if (rc)
        return rc;
    bool found = beam_table_named(&t, MAIN, &main);
    beam_table_free(&t);
    if (!found)
        return -ENOTSUP;
    struct xp_beam *out = &s->b->machine.beam;
    out->main = main.start;
    out->main_bytes = (u32)(main.end - main.start);
    return memory_read(s->m, main.start, code.bytes, CODE_BYTES) && read_code(&code, out) ? 0 : -ENOTSUP;
}

/* ---- A scheduler's thread --------------------------------------------------------------------------------------- */

static u64 registers_of(const struct search *s, u64 scheduler, bool *ok)
{
    u64 v = memory_u(s->m, scheduler + s->b->machine.beam.scheduler_registers, sizeof(v), ok);
    *ok = *ok && v && v < MAX_ADDRESS && v % CACHE_LINE == 0;
    return v;
}

/* Where the scheduler was called: the first return address behind its frame. In what is between, for want of alignment,
 * there may be one of the function of C that jumped to it. */
static u64 caller_of(const struct search *s, u64 registers)
{
    u64 at = registers + s->b->machine.beam.frame + 8;
    for (u32 i = 0; i < CALLERS; i++, at += 16) {
        bool ok = true;
        u64 ra = memory_u(s->m, at, sizeof(ra), &ok);
        const struct mapping *map = ok ? memory_mapping(s->m, ra) : NULL;
        if (map && map->exec && ra - s->own > s->own_size)
            return ra;
    }
    return 0;
}

static bool take_place(void *arg, s64 offset)
{
    struct search *s = arg;
    s->b->machine.tls = offset;
    s->b->machine.found = XP_ROOT_THREAD;
    return true;
}

/* musl has an array of the values. */
static bool find_musl(struct search *s, u64 tls)
{
    for (u32 offset = 8; offset < MUSL_POINTERS; offset += 8) {
        for (u32 at = 0; at < MUSL_VALUES; at += 8) {
            bool ok = true;
            if (thread_block_value(s->m, tls, (struct thread_place){offset, at + 1}, &ok) != s->first || !ok)
                continue;
            s->b->machine.slot = at + 1;
            return take_place(s, offset);
        }
    }
    return false;
}

static bool find_in_page(struct search *s, u64 page)
{
    for (u64 at = page; at < page + MEMORY_PAGE; at += 8) {
        bool ok = true;
        if (!thread_block_is(s->m, at))
            continue;
        if (memory_u(s->m, at + GLIBC_SELF, sizeof(u64), &ok) == at && ok) {
            if (thread_block_keys(s->m, at, s->first, take_place, s))
                return true;
        } else if (find_musl(s, at)) {
            return true;
        }
    }
    return false;
}

/* The thread has its scheduler as the value of a key. Its stack ends with what tells that. */
static void find_thread(struct search *s, u64 registers)
{
    const struct mapping *map = memory_mapping(s->m, registers);
    u64 end = map ? map->end & ~(u64)(MEMORY_PAGE - 1) : 0;
    for (u32 i = 0; map && i < STACK_PAGES && end > map->start; i++)
        if (find_in_page(s, end -= MEMORY_PAGE))
            return;
}

/* ---- Its process ------------------------------------------------------------------------------------------------ */

static bool is_process(const struct search *s, u64 at, u64 scheduler)
{
    u64 w[PROCESS_WORDS];
    if (!at || at >= MAX_ADDRESS || at % 8 || !memory_near(s->m, at, w, sizeof(w)))
        return false;
    u64 top = w[PROCESS_HEAP / 8], stop = w[PROCESS_HEAP / 8 + 1];
    if (!top || top % 8 || stop % 8 || stop < top || stop >= MAX_ADDRESS)
        return false;
    for (u32 i = 0; i < PROCESS_WORDS; i++)
        if (w[i] == scheduler)
            return true;
    return false;
}

static u16 process_offset(const struct search *s, u64 scheduler)
{
    for (u16 offset = PROCESS_FROM; offset < PROCESS_TO; offset += 8) {
        bool ok = true;
        u64 at = memory_u(s->m, scheduler + offset, sizeof(at), &ok);
        if (ok && is_process(s, at, scheduler))
            return offset;
    }
    return 0;
}

/* Schedulers are an array. Those that run a process tell where they have it. */
static u16 find_process(const struct search *s)
{
    u16 found = 0;
    bool there = true;
    for (u64 at = s->first; there && !found && at - s->first < MAX_DISTANCE; at += CACHE_LINE) {
        bool ok = true;
        memory_u(s->m, at, sizeof(u64), &there);
        u64 registers = registers_of(s, at, &ok);
        if (ok && caller_of(s, registers) == s->b->machine.beam.caller)
            found = process_offset(s, at);
    }
    return found ? found : PROCESS_USUAL;
}

/* ---- All of it -------------------------------------------------------------------------------------------------- */

static u64 pointer(struct memory *m, u64 at)
{
    bool ok = true;
    u64 v = memory_u(m, at, sizeof(v), &ok);
    return ok && v < MAX_ADDRESS ? v : 0;
}

static void read_release(struct memory *m, const struct module *mod, struct beam *out)
{
    u64 at = module_symbol(m, mod, "etp_otp_release");
    if (!at || !memory_text(m, at, out->release, sizeof(out->release)) ||
        !version_sound(out->release, sizeof(out->release)))
        memset(out->release, 0, sizeof(out->release));
}

int beam_layout(struct memory *m, const struct module *mod, struct beam *out)
{
    u64 exit = module_symbol(m, mod, "beam_normal_exit");
    u64 schedulers = exit ? module_symbol(m, mod, "erts_aligned_scheduler_data") : 0;
    *out = (struct beam){.machine = {.language = XP_LANGUAGE_BEAM}};
    out->descriptor = schedulers ? module_symbol(m, mod, "__jit_debug_descriptor") : 0;
    if (!out->descriptor)
        return -ENODATA;
    struct search s = {.m = m, .b = out, .first = pointer(m, schedulers)};
    out->machine.beam.exit = pointer(m, exit);
    if (!s.first || !out->machine.beam.exit)
        return -EAGAIN;
    s.own = module_symbol_sized(m, mod, MAIN_CALLER, &s.own_size);
    int rc = find_code(&s);
    bool ok = true;
    u64 registers = rc ? 0 : registers_of(&s, s.first, &ok);
    if (rc || !ok)
        return rc ? rc : -EAGAIN;
    out->machine.beam.caller = caller_of(&s, registers);
    find_thread(&s, registers);
    out->machine.beam.scheduler_process = find_process(&s);
    read_release(m, mod, out);
    return 0;
}
