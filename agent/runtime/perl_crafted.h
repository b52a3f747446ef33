/* A process with a Perl, crafted for tests: bytes whose offsets are its addresses, and its mappings. Its interpreter
 * runs a sub, which was called by text that is evaluated, which was called by the program.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CRAFTED_NEXTSTATE 195
#define CRAFTED_DBSTATE   196
#define CRAFTED_OPS       200
#define CRAFTED_ID        77 /* of pads: 77, 78 ... */

enum crafted_libc { CRAFTED_GLIBC, CRAFTED_GLIBC_BLOCK, CRAFTED_MUSL, CRAFTED_LIBCS };
enum crafted_build { CRAFTED_THREADS, CRAFTED_MULTIPLICITY, CRAFTED_PLAIN, CRAFTED_BUILDS };

struct crafted_version {
    u8 minor;
    bool aux_inside;
    u16 context, sub, eval; /* size of a context; where its CV is */
    u16 stackinfo, main;    /* in an interpreter */
};
#define CRAFTED_VERSIONS 4
enum { CRAFTED_5_28, CRAFTED_5_32, CRAFTED_5_36, CRAFTED_5_40 };
static const struct crafted_version CRAFTED[CRAFTED_VERSIONS] = {{28, false, 96, 64, 80, 240, 1800},
                                                                 {32, false, 104, 72, 88, 240, 1808},
                                                                 {36, true, 104, 72, 88, 224, 1800},
                                                                 {40, true, 104, 72, 88, 224, 1584}};

enum { /* subs */
       CRAFTED_SUB,
       CRAFTED_ANON,
       CRAFTED_NAMED,
       CRAFTED_LEXICAL,
       CRAFTED_ALIAS,
       CRAFTED_FORMAT,
       CRAFTED_EVAL,
       CRAFTED_REQUIRE,
       CRAFTED_MAIN,
       CRAFTED_SUBS,
};

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    const struct crafted_version *v;
    enum crafted_libc libc;
    enum crafted_build build;
    u32 top; /* of what was given out */
    u32 nsymbols;
    u32 version[3], names, current, key; /* exported */
    u32 interpreter, info, stack, contexts, cop, tls;
    u32 stash;
    u32 cv[CRAFTED_SUBS], body[CRAFTED_SUBS], statement[CRAFTED_SUBS];
};

#include "runtime/crafted_bytes.h"

/* ---- Values */

static inline u32 crafted_sv(struct crafted *c, u32 flags, u32 body, u64 u)
{
    u32 at = crafted_alloc(c, 24);
    crafted_put(c, at, body, 8);
    crafted_put(c, at + 12, flags, 4);
    crafted_put(c, at + 16, u, 8);
    return at;
}

static inline u32 crafted_text(struct crafted *c, const char *s)
{
    u32 at = crafted_alloc(c, (u32)strlen(s) + 1);
    memcpy(c->bytes + at, s, strlen(s) + 1);
    return at;
}

static inline u32 crafted_hek(struct crafted *c, const char *s, u8 flags)
{
    u32 n = (u32)strlen(s), at = crafted_alloc(c, n + 10);
    crafted_put(c, at + 4, n, 4);
    memcpy(c->bytes + at + 8, s, n);
    c->bytes[at + 8 + n + 1] = flags;
    return at;
}

static inline u32 crafted_stash(struct crafted *c, const char *name)
{
    u32 body = crafted_alloc(c, 128), array = crafted_alloc(c, 8 * 8 + 64);
    crafted_put(c, body + 24, 7, 8);
    crafted_put(c, c->v->aux_inside ? body + 32 : array + 8 * 8, crafted_hek(c, name, 0), 8);
    return crafted_sv(c, 12 | 0x02000000, body, array);
}

/* `egv`: what it is an alias of; 0: nothing. */
static inline u32 crafted_glob(struct crafted *c, const char *name, u8 flags, u32 egv)
{
    u32 body = crafted_alloc(c, 48), gp = crafted_alloc(c, 80);
    u32 at = crafted_sv(c, 9 | 0x8000, body, gp);
    crafted_put(c, body + 32, crafted_hek(c, name, flags), 8);
    crafted_put(c, body + 40, c->stash, 8);
    crafted_put(c, gp + 56, egv ? egv : at, 8);
    return at;
}

static inline u32 crafted_cop(struct crafted *c, u32 type, u32 line, const char *file)
{
    u32 at = crafted_alloc(c, 88), globbed = c->build != CRAFTED_THREADS;
    char name[64] = "_<";
    strcat(name, file);
    crafted_put(c, at + 16, CRAFTED_MODULE + 8, 8);
    crafted_put(c, at + 32, type | 0xabcd0000u, 4);
    crafted_put(c, at + 36, line, 4);
    crafted_put(c, at + 48, globbed ? crafted_glob(c, name, 0, 0) : crafted_text(c, file), 8);
    return at;
}

/* ---- Subs */

static inline void crafted_sub(struct crafted *c, u32 i, u32 type, u32 flags, u32 name)
{
    u32 body = c->body[i] = crafted_alloc(c, 104), pads = crafted_alloc(c, 24), start = crafted_alloc(c, 40);
    c->cv[i] = crafted_sv(c, type, body, 0);
    c->statement[i] = crafted_cop(c, CRAFTED_NEXTSTATE, 100 + i, "lib/Foo.pm");
    crafted_put(c, start, c->statement[i], 8); /* an op before the first statement */
    crafted_put(c, body + 32, c->stash, 8);
    crafted_put(c, body + 40, flags & 0x100 ? 0 : start, 8);
    crafted_put(c, body + 56, name, 8);
    crafted_put(c, body + 72, pads, 8);
    crafted_put(c, body + 92, flags, 4);
    crafted_put(c, body + 96, 1, 4);
    crafted_put(c, pads + 16, CRAFTED_ID + i, 4);
}

static inline void crafted_subs(struct crafted *c)
{
    u32 plain = crafted_glob(c, "plain", 0, 0);
    c->stash = crafted_stash(c, "Foo::Bar");
    crafted_sub(c, CRAFTED_SUB, 13, 0, crafted_glob(c, "caf\xc3\xa9", 1, 0));
    crafted_sub(c, CRAFTED_ANON, 13, 0x80, crafted_glob(c, "__ANON__", 0, 0));
    crafted_sub(c, CRAFTED_NAMED, 13, 0x8000, crafted_hek(c, "caf\xe9", 0));
    crafted_sub(c, CRAFTED_LEXICAL, 13, 0x18000, crafted_hek(c, "lexical", 0));
    crafted_put(c, crafted_get(c, plain) + 40, c->stash, 8);
    crafted_sub(c, CRAFTED_ALIAS, 13, 0, crafted_glob(c, "alias", 0, plain));
    crafted_sub(c, CRAFTED_FORMAT, 14, 0, crafted_glob(c, "STDOUT", 0, 0));
    crafted_sub(c, CRAFTED_EVAL, 13, 0x100, 0);
    crafted_put(c, c->body[CRAFTED_EVAL] + 80, c->cv[CRAFTED_SUB], 8);
    crafted_sub(c, CRAFTED_REQUIRE, 13, 0x100, 0);
    crafted_sub(c, CRAFTED_MAIN, 13, 0x100, 0);
}

static inline u32 crafted_cookie(const struct crafted *c, u32 i)
{
    u64 w[XP_PERL_WORDS];
    u32 id = 0;
    memcpy(w, c->bytes + c->body[i] + 32, sizeof(w));
    if (w[XP_PERL_WORDS - 1] < CRAFTED_SIZE - 20)
        memcpy(&id, c->bytes + w[XP_PERL_WORDS - 1] + 16, sizeof(id));
    return XP_PERL_COOKIE(w, id);
}

/* ---- The interpreter */

static inline void crafted_context(struct crafted *c, u32 i, u8 type, u32 field, u32 cv)
{
    u32 at = c->contexts + i * c->v->context;
    c->bytes[at] = type;
    if (field)
        crafted_put(c, at + field, cv, 8);
}

static inline void crafted_stacks(struct crafted *c)
{
    c->stack = crafted_sv(c, 11, 0, 0);
    c->contexts = crafted_alloc(c, 8 * 104);
    c->info = crafted_alloc(c, 56);
    crafted_put(c, c->info, c->stack, 8);
    crafted_put(c, c->info + 8, c->contexts, 8);
    crafted_put(c, c->info + 32, 2, 4);
    crafted_put(c, c->info + 36, 7, 4);
    crafted_context(c, 0, 2, 0, 0);
    crafted_context(c, 1, 11 | 0x20, c->v->eval, c->cv[CRAFTED_EVAL]);
    crafted_context(c, 2, 9 | 0x20, c->v->sub, c->cv[CRAFTED_SUB]);
}

/* What the C library has of a thread: key 3 of glibc, key 35 of glibc, key 2 of musl. */
static inline void crafted_tls(struct crafted *c)
{
    u32 at = c->tls = crafted_alloc(c, 0x900), block = crafted_alloc(c, 512);
    crafted_put(c, at, at, 8);
    if (c->libc != CRAFTED_MUSL)
        crafted_put(c, at + 0x10, at, 8);
    if (c->libc == CRAFTED_GLIBC) {
        crafted_put(c, at + 0x318 + 16 * 3, c->interpreter, 8);
    } else if (c->libc == CRAFTED_GLIBC_BLOCK) {
        crafted_put(c, at + 0x510 + 8, block, 8);
        crafted_put(c, block + 16 * 3 + 8, c->interpreter, 8);
    } else {
        crafted_put(c, at + 0x80, block, 8);
        crafted_put(c, block + 8 * 2, c->interpreter, 8);
    }
}

static inline u32 crafted_export(struct crafted *c, const char *name, u32 size)
{
    u32 at = crafted_alloc(c, size);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, name, at);
    crafted_put(c,
                CRAFTED_MODULE + CRAFTED_MODULE_SYMTAB + c->nsymbols * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_size),
                size, 8);
    return at;
}

static inline void crafted_variables(struct crafted *c)
{
    crafted_put(c, crafted_export(c, "PL_curinterp", 8), c->info, 8); /* there is none */
    crafted_put(c, crafted_export(c, "PL_curstack", 8), c->stack, 8);
    crafted_put(c, c->interpreter = crafted_export(c, "PL_curstackinfo", 8), c->info, 8);
    crafted_put(c, crafted_export(c, "PL_curcop", 8), c->cop, 8);
    crafted_put(c, c->current = crafted_export(c, "PL_main_cv", 8), c->cv[CRAFTED_MAIN], 8);
    memset(c->bytes + c->current + 8, 0xff, 16); /* what follows is of others */
    c->top += 16;
}

static inline void crafted_interpreter(struct crafted *c)
{
    static const u32 keys[CRAFTED_LIBCS] = {3, 35, 2};
    u32 at = c->interpreter = crafted_alloc(c, 4096), end = c->statement[CRAFTED_MAIN];
    crafted_put(c, at + c->v->stackinfo, c->info, 8);
    crafted_put(c, at + c->v->stackinfo - 8, c->stack, 8);
    crafted_put(c, at + c->v->stackinfo - 16, c->cop, 8);
    crafted_put(c, at + c->v->main, c->cv[CRAFTED_MAIN], 8);
    crafted_put(c, at + c->v->main + 8, end, 8);
    crafted_put(c, at + c->v->main + 16, end, 8);
    crafted_put(c, c->current = crafted_export(c, "PL_curinterp", 8), at, 8);
    if (c->build != CRAFTED_THREADS)
        return;
    crafted_put(c, c->key = crafted_export(c, "PL_thr_key", 4), keys[c->libc], 4);
    crafted_tls(c);
}

static inline void crafted_make(struct crafted *c, unsigned version, enum crafted_build build, enum crafted_libc libc)
{
    static const char *const version_names[] = {"PL_revision", "PL_version", "PL_subversion"};
    *c = (struct crafted){.v = &CRAFTED[version], .build = build, .libc = libc, .top = 0x2000};
    const u8 numbers[] = {5, c->v->minor, 1};
    crafted_module(c->bytes, CRAFTED_MODULE);
    for (u32 i = 0; i < 3; i++)
        c->bytes[c->version[i] = crafted_export(c, version_names[i], 1)] = numbers[i];
    c->names = crafted_export(c, "PL_op_name", 8 * CRAFTED_OPS);
    crafted_put(c, c->names + 8 * CRAFTED_NEXTSTATE, crafted_text(c, "nextstate"), 8);
    crafted_put(c, c->names + 8 * CRAFTED_DBSTATE, crafted_text(c, "dbstate"), 8);
    crafted_subs(c);
    c->cop = crafted_cop(c, CRAFTED_DBSTATE, 42, "page.tt");
    crafted_stacks(c);
    if (build == CRAFTED_PLAIN)
        crafted_variables(c);
    else
        crafted_interpreter(c);
}
