/* A process with Erlang's virtual machine, crafted for tests: bytes whose offsets are its addresses, and its mappings.
 * It has the code that all modules share, and two modules; the second one of two schedulers runs a process.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#undef CRAFTED_MAPS
#define CRAFTED_MAPS                                             \
    "00001000-00002000 r--p 00000000 08:01 7    /usr/bin/beam\n" \
    "00002000-00003000 r-xp 00001000 08:01 7    /usr/bin/beam\n" \
    "00003000-00010000 rw-p 00000000 00:00 0 \n"

#define CRAFTED_MAIN    0x2100 /* the function of C that jumps to the scheduler, of 0x40 bytes */
#define CRAFTED_CALLER  0x2345 /* a return address of what has called it */
#define CRAFTED_FRAME   0x200
#define CRAFTED_SHOP    0x8000 /* code of modules: 0x100 bytes each, of which functions have 0x20 */
#define CRAFTED_CART    0x8100
#define CRAFTED_STRIDE  0x440 /* of schedulers */
#define CRAFTED_THREAD  0xf100
#define CRAFTED_CURRENT 0x98 /* ErtsSchedulerData.current_process */

enum {                     /* builds */
       CRAFTED_PUSHED = 1, /* the scheduler keeps a frame pointer */
       CRAFTED_FAR = 2,    /* its registers are far from their start, and not the first thing of its data */
       CRAFTED_MUSL = 4,
       CRAFTED_IDLE = 8, /* no scheduler runs a process */
       CRAFTED_BUILDS = 16,
};

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    unsigned build;
    u32 top; /* of what was given out */
    u32 nsymbols, descriptor, exit, schedulers;
    u32 first, main, last, table; /* the first scheduler; code of it; the last entry of the list; text of the Shop */
};

#include "runtime/crafted_bytes.h"

static inline u32 crafted_bytes(struct crafted *c, u32 at, const void *bytes, u32 n)
{
    memcpy(c->bytes + at, bytes, n);
    return at + n;
}

static inline u32 crafted_export(struct crafted *c, const char *name, u32 at)
{
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, name, at);
    return at;
}

/* ---- Modules */

struct crafted_line {
    u32 start, line;
};
struct crafted_range {
    const char *name;
    u32 start, end;
    struct crafted_line lines[3]; /* line 0: no more */
    const char *file;
};

static inline u32 crafted_ranges(struct crafted *c, u32 at, const struct crafted_range *r, u32 n)
{
    for (u32 i = 0; i < n; i++, r++) {
        u32 lines = 0, len = (u32)strlen(r->name) + 1;
        while (lines < 3 && r->lines[lines].line)
            lines++;
        crafted_put(c, at, r->start, 4);
        crafted_put(c, at + 4, r->end, 4);
        crafted_put(c, at + 8, lines, 4);
        crafted_put(c, at + 12, len, 2);
        crafted_bytes(c, at + 14, r->name, len);
        at += 16 + len;
        for (u32 k = 0; k < lines; k++) {
            len = (u32)strlen(r->file) + 1;
            crafted_put(c, at, r->lines[k].start, 4);
            crafted_put(c, at + 4, r->lines[k].line, 4);
            crafted_put(c, at + 8, len, 2);
            crafted_bytes(c, at + 10, r->file, len);
            at += 12 + len;
        }
    }
    return at;
}

/* Puts a module at the head of the list. Returns its text. */
static inline u32 crafted_add(struct crafted *c, u32 kind, const char *name, u32 base, const struct crafted_range *r,
                              u32 n)
{
    u32 entry = crafted_alloc(c, 32), text = crafted_alloc(c, 0x180), len = (u32)strlen(name) + 1;
    crafted_put(c, text, kind, 4);
    crafted_put(c, text + 8, base, 8);
    crafted_put(c, text + 16, n, 4);
    crafted_put(c, text + 20, 0x100, 4);
    crafted_put(c, text + 24, len, 2);
    crafted_bytes(c, text + 26, name, len);
    u32 end = crafted_ranges(c, text + 32 + len, r, n);
    crafted_put(c, entry, crafted_get(c, c->descriptor + 16), 8);
    crafted_put(c, entry + 16, text, 8);
    crafted_put(c, entry + 24, end - text, 8);
    crafted_put(c, c->descriptor + 16, entry, 8);
    if (!c->last)
        c->last = entry;
    return text;
}

static inline void crafted_modules(struct crafted *c)
{
    static const struct crafted_range global[] = {{"global::apply_shared", 0, 0x40, {{0}}, ""},
                                                  {"global::process_main", 0x40, 0xc0, {{0}}, ""}};
    static const struct crafted_range shop[] = {
        {"shop::codeHeader", 0, 0x20, {{0}}, ""},
        {"shop:sell/2-CodeInfoPrologue", 0x20, 0x30, {{0}}, ""},
        {"shop:sell/2", 0x30, 0x50, {{0x30, 7}, {0x3c, 8}, {0x48, 9}}, "shop.erl"},
        {"shop:'-sell/2-fun-0-'/1", 0x50, 0x70, {{0x58, 11}}, "shop.erl"}};
    static const struct crafted_range cart[] = {{"Elixir.Cart:add!/1", 0, 0x20, {{0, 3}}, "lib/cart.ex"}};
    c->main = CRAFTED_SHOP + 0x200 + 0x40;
    crafted_add(c, 1, "global", CRAFTED_SHOP + 0x200, global, 2);
    crafted_add(c, 0, "", 1, NULL, 0); /* the emulator's own entry */
    c->table = crafted_add(c, 1, "shop", CRAFTED_SHOP, shop, 4);
    crafted_add(c, 1, "Elixir.Cart", CRAFTED_CART, cart, 1);
}

/* ---- Schedulers */

static inline void crafted_code(struct crafted *c)
{
    bool far = c->build & CRAFTED_FAR;
    u32 at = c->main, frame = CRAFTED_FRAME;
    if (c->build & CRAFTED_PUSHED)
        at = crafted_bytes(c, at, "\x55\x48\x89\xe5", 4);
    at = crafted_bytes(c, at, "\x48\x81\xec", 3);
    at = crafted_bytes(c, at, &frame, 4);
    at = crafted_bytes(c, at, "\x48\x83\xe4\xc0", 4);
    at = far ? crafted_bytes(c, at, "\x48\x89\x67\x08", 4) : crafted_bytes(c, at, "\x48\x89\x27", 3);
    if (far)
        crafted_bytes(c, at, "\x48\x8d\x9c\x24\x80\0\0\0", 8);
    else
        crafted_bytes(c, at, "\x48\x8d\x5c\x24\x40", 5);
}

static inline u32 crafted_scheduler(struct crafted *c, u32 i)
{
    u32 at = c->first + CRAFTED_STRIDE * i, registers = 0xc000 + 0x800 * i;
    crafted_put(c, at + (c->build & CRAFTED_FAR ? 8 : 0), registers, 8);
    crafted_put(c, registers + CRAFTED_FRAME + 8, CRAFTED_MAIN + 0x28, 8); /* it called something before it jumped */
    crafted_put(c, registers + CRAFTED_FRAME + 24, CRAFTED_CALLER, 8);
    return at;
}

static inline void crafted_process(struct crafted *c, u32 scheduler)
{
    u32 p = crafted_alloc(c, 512), free = crafted_alloc(c, 512);
    crafted_put(c, free + 0x50, 0x7000, 8); /* one that has run here, and that nobody runs */
    crafted_put(c, free + 0x58, 0x7100, 8);
    crafted_put(c, scheduler + CRAFTED_CURRENT - 8, free, 8);
    crafted_put(c, p + 0x50, 0x7000, 8);
    crafted_put(c, p + 0x58, 0x7100, 8);
    crafted_put(c, p + 0x188, scheduler, 8);
    crafted_put(c, scheduler + CRAFTED_CURRENT, c->build & CRAFTED_IDLE ? 0 : p, 8);
}

static inline void crafted_thread(struct crafted *c)
{
    crafted_put(c, CRAFTED_THREAD, CRAFTED_THREAD, 8);
    if (c->build & CRAFTED_MUSL) {
        u32 values = crafted_alloc(c, 1024);
        crafted_put(c, CRAFTED_THREAD + 0x80, values, 8);
        crafted_put(c, values + 24, c->first, 8);
        return;
    }
    crafted_put(c, CRAFTED_THREAD + 0x10, CRAFTED_THREAD, 8);
    crafted_put(c, CRAFTED_THREAD + 0x318 + 16 * 4, c->first, 8);
}

static inline void crafted_make(struct crafted *c, unsigned build)
{
    memset(c, 0, sizeof(*c));
    c->build = build;
    c->top = 0x3000;
    crafted_module(c->bytes, CRAFTED_MODULE);
    c->exit = crafted_export(c, "beam_normal_exit", crafted_alloc(c, 8));
    c->schedulers = crafted_export(c, "erts_aligned_scheduler_data", crafted_alloc(c, 8));
    c->descriptor = crafted_export(c, "__jit_debug_descriptor", crafted_alloc(c, 64));
    crafted_bytes(c, crafted_export(c, "etp_otp_release", crafted_alloc(c, 8)), "27", 3);
    crafted_export(c, "process_main", CRAFTED_MAIN);
    crafted_put(c, CRAFTED_MODULE + CRAFTED_MODULE_SYMTAB + c->nsymbols * 24u + 16, 0x40, 8);
    crafted_put(c, c->exit, CRAFTED_SHOP + 0x230, 8);
    crafted_modules(c);
    crafted_code(c);
    c->first = (c->top + 63) & ~63u;
    c->top = c->first + 2 * CRAFTED_STRIDE;
    crafted_put(c, c->schedulers, c->first, 8);
    crafted_scheduler(c, 0);
    crafted_process(c, crafted_scheduler(c, 1));
    crafted_thread(c);
}
