/* A process with a Ruby, crafted for tests: bytes whose offsets are its addresses, and its mappings. It has a module
 * with the interpreter, two threads, the class Object and a singleton class, and a method with a block and a rescue.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CRAFTED_VARS    0x2000 /* of the module */
#define CRAFTED_THREADS 2
#define CRAFTED_CODE    128 /* words */
#define CRAFTED_ID      70  /* of the method in C */

enum crafted_libc { CRAFTED_GLIBC, CRAFTED_MUSL, CRAFTED_LIBCS };

struct crafted_version {
    const char *text;
    u16 frame, info, info_bytes;
    u16 vm_main, thread_vm, thread_ec, thread_native, ec_thread;
    bool old_strings, old_classes, by_key;
};

#define CRAFTED_VERSIONS 6
enum { CRAFTED_2_7, CRAFTED_3_0, CRAFTED_3_1, CRAFTED_3_2, CRAFTED_3_3, CRAFTED_3_4 };
static const struct crafted_version CRAFTED[CRAFTED_VERSIONS] = {
    {"2.7.4", 56, 120, 8, 192, 24, 32, 0, 56, true, true, true},
    {"3.0.2", 56, 120, 8, 40, 32, 40, 0, 56, true, true, false},
    {"3.1.2", 64, 120, 12, 40, 32, 40, 0, 48, true, true, false},
    {"3.2.3", 64, 112, 12, 40, 32, 48, 40, 48, false, false, false},
    {"3.3.8", 56, 112, 12, 40, 32, 48, 40, 48, false, false, false},
    {"3.4.1", 56, 112, 12, 40, 32, 48, 40, 48, false, false, false}};

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    const struct crafted_version *v;
    enum crafted_libc libc;
    u32 top; /* of what was given out */
    u32 nsymbols;
    u32 vm, head, object, singleton, symbols;
    u32 method, block, rescue, path; /* iseqs; the path of all of them */
    u32 entry, singleton_entry, native_entry;
    struct {
        u32 tls, slot, at, ec, stack;
    } thread[CRAFTED_THREADS];
};

#include "runtime/crafted_bytes.h"

/* ---- Values */

static inline u32 crafted_object(struct crafted *c, u32 flags, u32 size)
{
    u32 at = crafted_alloc(c, size);
    crafted_put(c, at, flags, 8);
    return at;
}

/* `heap`: the text is elsewhere. */
static inline u32 crafted_string(struct crafted *c, const char *s, u32 n, bool heap)
{
    u32 at = crafted_object(c, 5 | (heap ? 1u << 13 : c->v->old_strings ? n << 14 : 0), 24 + n);
    u32 text = heap ? crafted_alloc(c, n) : c->v->old_strings ? at + 16 : at + 24;
    if (heap || !c->v->old_strings)
        crafted_put(c, at + 16, n, 8);
    if (heap)
        crafted_put(c, at + 24, text, 8);
    memcpy(c->bytes + text, s, n);
    return at;
}

static inline u32 crafted_text(struct crafted *c, const char *s)
{
    return crafted_string(c, s, (u32)strlen(s), strlen(s) > 20);
}

static inline u32 crafted_pair(struct crafted *c, u32 first, u32 second) /* an array that is part of its object */
{
    u32 at = crafted_object(c, 7 | 1u << 13 | 2u << 15, 32);
    crafted_put(c, at + 16, first, 8);
    crafted_put(c, at + 24, second, 8);
    return at;
}

static inline u32 crafted_array(struct crafted *c, u32 n, u32 *elements)
{
    u32 at = crafted_object(c, 7, 40);
    *elements = crafted_alloc(c, 8 * n);
    crafted_put(c, at + 16, n, 8);
    crafted_put(c, at + 32, *elements, 8);
    return at;
}

/* A variable of a class, by an ID. */
static inline void crafted_variable(struct crafted *c, u32 class, u64 id, u64 value)
{
    u32 ext = crafted_alloc(c, 0x60), table = crafted_alloc(c, 56), entries = crafted_alloc(c, 48);
    crafted_put(c, class + 24, ext, 8);
    crafted_put(c, ext + 8, table, 8);
    crafted_put(c, table + 40, 2, 8);
    crafted_put(c, table + 48, entries, 8);
    crafted_put(c, entries + 8, 0x77, 8); /* another one */
    crafted_put(c, entries + 24 + 8, id, 8);
    crafted_put(c, entries + 24 + 16, value, 8);
}

static inline void crafted_classes(struct crafted *c)
{
    u32 name = crafted_text(c, "Object");
    c->object = crafted_object(c, 2, 0x110);
    c->singleton = crafted_object(c, 2, 0x110);
    crafted_put(c, c->object + 8, c->singleton, 8);
    if (c->v->old_classes) {
        crafted_variable(c, c->object, 0x1231, name);
        crafted_variable(c, c->singleton, 0x4561, c->object);
    } else {
        crafted_put(c, c->object + 0x90, name, 8);
        crafted_put(c, c->singleton + 0x78, c->object, 8);
    }
}

static inline void crafted_symbols(struct crafted *c)
{
    u32 lists, strings, all = crafted_array(c, 1, &lists), first = crafted_array(c, 150, &strings);
    crafted_put(c, lists, first, 8);
    for (const char *s = "+-*/<"; *s; s++)
        crafted_put(c, strings + 16 * (u32)*s, crafted_string(c, s, 1, false), 8);
    crafted_put(c, strings + 16 * CRAFTED_ID, crafted_text(c, "each"), 8);
    crafted_put(c, c->symbols = CRAFTED_VARS + 0x40, all, 8);
}

/* ---- Code */

/* Lines: 10 from word 0 on; 12 from 5 on; 200 from 60 on. */
static inline void crafted_lines(struct crafted *c, u32 body)
{
    static const u32 lines[] = {10, 12, 200};
    u32 list = crafted_alloc(c, 48), table = crafted_alloc(c, 128), info = body + c->v->info;
    for (u32 i = 0; i < 3; i++)
        crafted_put(c, list + i * c->v->info_bytes, lines[i], 4);
    for (u32 i = 0; i < 54; i++)
        crafted_put(c, table + i / 9 * 8, crafted_get(c, table + i / 9 * 8) | (i < 5 ? 1ull : 2ull) << i % 9 * 7, 8);
    crafted_put(c, table + 48, 2, 4);
    for (u32 i = 0; i < 7; i++)
        crafted_put(c, table + 56, crafted_get(c, table + 56) | 1ull << 9 * i, 8);
    crafted_put(c, table + 64, 1 << 6, 8);
    crafted_put(c, info, list, 8);
    crafted_put(c, info + 16, 3, 4);
    crafted_put(c, info + 24, table, 8);
}

static inline u32 crafted_iseq(struct crafted *c, u32 path, const char *base, const char *label, u32 parent)
{
    u32 at = crafted_object(c, 0x701a, 40), body = crafted_alloc(c, 256), code = crafted_alloc(c, 8 * CRAFTED_CODE);
    crafted_put(c, at + 16, body, 8);
    crafted_put(c, body + 4, CRAFTED_CODE, 4);
    crafted_put(c, body + 8, code, 8);
    crafted_put(c, body + 64, path, 8);
    crafted_put(c, body + 72, crafted_text(c, base), 8);
    crafted_put(c, body + 80, crafted_text(c, label), 8);
    crafted_put(c, body + c->v->info + 48, parent, 8);
    crafted_lines(c, body);
    return at;
}

static inline u32 crafted_body(const struct crafted *c, u32 iseq)
{
    return (u32)crafted_get(c, iseq + 16);
}

static inline u32 crafted_entry(struct crafted *c, u32 owner, u32 type, u32 iseq, u32 id)
{
    u32 at = crafted_object(c, 0x601a, 40), def = crafted_alloc(c, 48);
    crafted_put(c, at + 8, owner, 8);
    crafted_put(c, at + 16, def, 8);
    crafted_put(c, at + 24, id, 8);
    crafted_put(c, at + 32, owner, 8);
    crafted_put(c, def, 0x50 | type, 8);
    crafted_put(c, def + 8, iseq, 8);
    crafted_put(c, def + 32, id, 8);
    return at;
}

/* Cookies, as the unwinder makes them; 1: tests put anything there. */
static inline u32 crafted_cookie(const struct crafted *c, u32 iseq)
{
    u64 w[4];
    u64 body = iseq < CRAFTED_SIZE - 64 ? crafted_get(c, iseq + 16) : CRAFTED_SIZE;
    if (body >= CRAFTED_SIZE - 128)
        return 1;
    memcpy(w, c->bytes + body + 8, 8);
    memcpy(w + 1, c->bytes + body + 64, 24);
    return XP_SCRIPT_COOKIE(w[0], w[1], w[2], w[3]);
}

static inline u32 crafted_entry_cookie(const struct crafted *c, u32 entry)
{
    return XP_SCRIPT_COOKIE(0, crafted_get(c, entry + 8), crafted_get(c, entry + 16), crafted_get(c, entry + 24));
}

static inline void crafted_method(struct crafted *c)
{
    u32 real = crafted_text(c, "/real/path/of/the/file.rb"), catches = crafted_alloc(c, 80);
    c->path = crafted_pair(c, crafted_text(c, "dir/file.rb"), real);
    c->method = crafted_iseq(c, c->path, "run", "run", 0);
    c->block = crafted_iseq(c, c->path, "run", "block in run", c->method);
    c->rescue = crafted_iseq(c, c->path, "run", "rescue in run", c->block);
    crafted_put(c, (u32)crafted_get(c, crafted_body(c, c->method) + 8) + 8 * 127, c->block, 8);
    crafted_put(c, crafted_body(c, c->block) + c->v->info + 40, catches, 8);
    crafted_put(c, catches, 2, 4);
    crafted_put(c, catches + 4 + 32 + 8, c->rescue, 8);
    c->entry = crafted_entry(c, c->object, 0, c->method, 0x1111);
    c->singleton_entry = crafted_entry(c, c->singleton, 0, c->method, 0x1111);
    c->native_entry = crafted_entry(c, c->object, 1, 0, CRAFTED_ID << 4);
}

/* ---- Threads */

static inline u32 crafted_tls(struct crafted *c, u32 thread, u32 ec)
{
    u32 block = crafted_alloc(c, 32), at = crafted_alloc(c, 0x600), vector = crafted_alloc(c, 64);
    crafted_put(c, at, at, 8);
    crafted_put(c, at + 8, vector, 8);
    crafted_put(c, vector + (c->libc == CRAFTED_GLIBC ? 32 : 16), block, 8);
    if (c->v->by_key)
        crafted_put(c, at + 0x318 + 16 * 5, thread, 8);
    else
        crafted_put(c, block + 16, ec, 8);
    return at;
}

static inline void crafted_thread(struct crafted *c, unsigned i)
{
    u32 at = c->thread[i].at = crafted_alloc(c, 0x400), ec = c->thread[i].ec = crafted_alloc(c, 256);
    u32 words = 4 * 64, stack = c->thread[i].stack = crafted_alloc(c, 8 * words), native = crafted_alloc(c, 0x40);
    u32 frame = stack + 8 * words - 2 * c->v->frame, tls = c->thread[i].tls = crafted_tls(c, at, ec);
    crafted_put(c, at + c->v->thread_vm, c->vm, 8);
    crafted_put(c, at + c->v->thread_ec, ec, 8);
    if (c->v->thread_native)
        crafted_put(c, at + c->v->thread_native, native, 8);
    crafted_put(c, c->v->thread_native ? native + 16 : at + 0x48, tls, 8);
    crafted_put(c, ec, stack, 8);
    crafted_put(c, ec + 8, words, 8);
    crafted_put(c, ec + 16, frame, 8);
    crafted_put(c, ec + c->v->ec_thread, at, 8);
    crafted_put(c, frame + 16, c->path, 8); /* the inner one is of a function in C in the place of a block */
    crafted_put(c, frame + c->v->frame, crafted_get(c, crafted_body(c, c->method) + 8) + 8, 8);
    crafted_put(c, frame + c->v->frame + 16, c->method, 8);
}

/* ---- All of it */

static inline void crafted_file(struct crafted *c)
{
    u8 *at = c->bytes + CRAFTED_MODULE;
    crafted_module(c->bytes, CRAFTED_MODULE);
    Elf64_Phdr p[4] = {{.p_type = PT_LOAD},
                       {.p_type = PT_DYNAMIC, .p_vaddr = CRAFTED_MODULE_DYNAMIC, .p_memsz = 4 * sizeof(Elf64_Dyn)},
                       {.p_type = PT_LOAD, .p_flags = PF_W, .p_vaddr = CRAFTED_VARS - CRAFTED_MODULE, .p_memsz = 0x80},
                       {.p_type = PT_TLS, .p_memsz = 24}};
    Elf64_Ehdr h;
    memcpy(&h, at, sizeof(h));
    h.e_phoff = 0xc00;
    h.e_phnum = 4;
    memcpy(at, &h, sizeof(h));
    memcpy(at + 0xc00, p, sizeof(p));
    strcpy((char *)at + 0xf00, c->v->text);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, "ruby_version", CRAFTED_MODULE + 0xf00);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, "rb_cObject", CRAFTED_VARS + 0x10);
}

static inline void crafted_make(struct crafted *c, unsigned version, enum crafted_libc libc)
{
    memset(c, 0, sizeof(*c));
    c->v = &CRAFTED[version];
    c->libc = libc;
    c->top = CRAFTED_VARS + 0x100;
    crafted_file(c);
    c->vm = crafted_alloc(c, 0x200);
    c->head = crafted_alloc(c, 0x40);
    crafted_classes(c);
    crafted_symbols(c);
    crafted_method(c);
    crafted_thread(c, 0);
    crafted_thread(c, 1);
    crafted_put(c, c->thread[0].at, c->thread[1].at, 8);
    crafted_put(c, c->thread[1].at, c->head, 8);
    crafted_put(c, c->head, c->thread[0].at, 8);
    crafted_put(c, c->vm + c->v->vm_main, c->thread[0].at, 8);
    crafted_put(c, CRAFTED_VARS + 0x10, c->object, 8);
    crafted_put(c, CRAFTED_VARS + 0x60, c->vm, 8);
}
