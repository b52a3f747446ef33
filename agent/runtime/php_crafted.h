/* A process with a PHP, crafted for tests: bytes whose offsets are its addresses, and its mappings. It has a module
 * with the engine, whose script has called a method, which has called a function in C.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CRAFTED_OPS  4      /* of each function */
#define CRAFTED_KEY  35     /* of pthread_setspecific */
#define CRAFTED_MOVE 0x2000 /* where the state is in what a thread has */

/* Numbers of a version. */
struct crafted_version {
    u32 api;
    const char *version;
    u16 functions, frame; /* executor_globals */
    u16 last, opcodes, file;
    u16 module;
    u16 generator, child; /* zend_generator.execute_data, node.child; 0: not known */
};
#define CRAFTED_VERSIONS 7
enum { CRAFTED_7_4, CRAFTED_8_0, CRAFTED_8_1, CRAFTED_8_2, CRAFTED_8_3, CRAFTED_8_4, CRAFTED_8_5 };
static const struct crafted_version CRAFTED[CRAFTED_VERSIONS] = {
    {20190902, "7.4.33", 432, 488, 60, 64, 136, 56, 64, 184},
    {20200930, "8.0.30", 432, 488, 68, 72, 144, 64, 0, 0},
    {20210902, "8.1.2-1", 432, 488, 68, 72, 144, 64, 56, 168},
    {20220829, "8.2.36", 432, 488, 80, 88, 152, 80, 56, 168},
    {20230831, "8.3.6", 432, 488, 76, 80, 144, 80, 56, 168},
    {20240924, "8.4.27", 432, 488, 96, 104, 168, 96, 56, 168},
    {20250925, "8.5.4", 456, 512, 96, 104, 168, 96, 56, 168}};

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    const struct crafted_version *v;
    u32 top; /* of what was given out */
    u32 nsymbols;
    u32 registry, state, loop;
    u32 core, standard; /* modules */
    u32 table;          /* of functions */
    u32 class, main, method, native;
    u32 frame; /* the current one, of `native`; those of `method` and `main` follow in memory */
    u32 getter, key, move;
};

#include "runtime/crafted_bytes.h"

#define CRAFTED_FRAME 80 /* bytes */

static inline u32 crafted_string_of(struct crafted *c, const char *s, u32 n)
{
    u32 at = crafted_alloc(c, 25 + n);
    crafted_put(c, at + 4, 6 | 0x40, 4);
    crafted_put(c, at + 16, n, 8);
    memcpy(c->bytes + at + 24, s, n);
    return at;
}

static inline u32 crafted_string(struct crafted *c, const char *s)
{
    return crafted_string_of(c, s, (u32)strlen(s));
}

/* ---- Tables */

static inline u32 crafted_table(struct crafted *c, u32 at, u32 n)
{
    u32 data = crafted_alloc(c, 32 * n);
    crafted_put(c, at + 16, data, 8);
    crafted_put(c, at + 24, n, 4);
    return data;
}

static inline void crafted_entry(struct crafted *c, u32 data, u32 i, const char *key, u32 value)
{
    crafted_put(c, data + 32 * i, value, 8);
    crafted_put(c, data + 32 * i + 24, crafted_string(c, key), 8);
}

static inline u32 crafted_php_module(struct crafted *c, const char *version)
{
    u32 at = crafted_alloc(c, 168), text = crafted_alloc(c, 64);
    strcpy((char *)c->bytes + text, version);
    crafted_put(c, at + 4, c->v->api, 4);
    crafted_put(c, at + 88, text, 8);
    return at;
}

/* ---- Functions */

static inline u32 crafted_function(struct crafted *c, u8 type, u32 name, u32 scope)
{
    u32 at = crafted_alloc(c, 256);
    crafted_put(c, at, type, 1);
    crafted_put(c, at + 8, name, 8);
    crafted_put(c, at + 16, scope, 8);
    if (type == 1) {
        crafted_put(c, at + c->v->module, c->core, 8);
        return at;
    }
    crafted_put(c, at + c->v->opcodes, crafted_alloc(c, 32 * CRAFTED_OPS), 8);
    crafted_put(c, at + c->v->last, CRAFTED_OPS, 4);
    crafted_put(c, at + c->v->file, crafted_string(c, "/srv/app.php"), 8);
    crafted_put(c, at + c->v->file + 8, 3 | 9ull << 32, 8);
    return at;
}

/* Code of no function is known by its file. */
static inline u64 crafted_address(const struct crafted *c, u32 function)
{
    bool code = c->bytes[function] != 1 && !crafted_get(c, function + 8);
    return code ? crafted_get(c, function + c->v->file) | XP_PHP_CODE : function;
}

static inline u32 crafted_code_cookie(const struct crafted *c, u64 string)
{
    u64 tail[3] = {0}, length;
    if (string >= CRAFTED_SIZE - 256)
        return 1; /* tests put anything there */
    length = crafted_get(c, string + 16);
    if (length >= 24 && length < CRAFTED_SIZE - string)
        memcpy(tail, c->bytes + string + length, sizeof(tail));
    return XP_SCRIPT_COOKIE(length, tail[0], tail[1], tail[2]);
}

static inline u32 crafted_cookie(const struct crafted *c, u32 function)
{
    u64 words[3], file[2] = {0};
    memcpy(words, c->bytes + function + 8, sizeof(words));
    if (c->bytes[function] != 1 && !words[0])
        return crafted_code_cookie(c, crafted_get(c, function + c->v->file));
    if (c->bytes[function] != 1) {
        u64 text[2] = {0};
        memcpy(file, c->bytes + function + c->v->file, sizeof(file));
        if (words[0] <= CRAFTED_SIZE - 32)
            memcpy(text, c->bytes + words[0] + 16, sizeof(text));
        words[0] = XP_PHP_NAME(words[0], text);
    }
    return XP_SCRIPT_COOKIE(words[0], words[1], words[2], XP_PHP_FILE(file[0], file[1]));
}

static inline void crafted_call(struct crafted *c, u32 frame, u32 function, bool last)
{
    if (c->bytes[function] != 1)
        crafted_put(c, frame, crafted_get(c, function + c->v->opcodes) + 32, 8);
    crafted_put(c, frame + 24, function, 8);
    crafted_put(c, frame + 40, last ? XP_PHP_TOP : 0, 4);
    crafted_put(c, frame + 48, last ? 0 : frame + CRAFTED_FRAME, 8);
}

/* ---- All of it */

static inline u32 crafted_export(struct crafted *c, const char *name, u32 size)
{
    u32 at = crafted_alloc(c, size);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, name, at);
    crafted_put(c, CRAFTED_MODULE + CRAFTED_MODULE_SYMTAB + 24 * c->nsymbols + 16, size, 8);
    return at;
}

static inline void crafted_calls(struct crafted *c)
{
    u32 functions = crafted_alloc(c, 56), data = crafted_table(c, functions, 1);
    c->table = functions;
    c->class = crafted_alloc(c, 64);
    crafted_put(c, c->class + 8, crafted_string(c, "Space\\Class"), 8);
    c->native = crafted_function(c, 1, crafted_string(c, "zend_version"), 0);
    crafted_entry(c, data, 0, "zend_version", c->native);
    c->main = crafted_function(c, 2, 0, 0);
    c->method = crafted_function(c, 2, crafted_string(c, "method"), c->class);
    c->frame = crafted_alloc(c, 3 * CRAFTED_FRAME);
    crafted_call(c, c->frame, c->native, false);
    crafted_call(c, c->frame + CRAFTED_FRAME, c->method, false);
    crafted_call(c, c->frame + 2 * CRAFTED_FRAME, c->main, true);
}

/* [endbr64] [sub $8,%rsp] mov KEY(%rip),%edi; jmp or call. */
static inline void crafted_getter(struct crafted *c, bool far)
{
    u8 code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x8b, 0x3d, 0, 0, 0, 0, 0xe8};
    u32 from = far ? 0 : 8, distance = c->key - (c->getter + 14 - from);
    memcpy(code + 10, &distance, sizeof(distance));
    code[14] = far ? 0xe8 : 0xe9;
    memcpy(c->bytes + c->getter, code + from, sizeof(code) - from);
}

static inline void crafted_threads(struct crafted *c)
{
    c->move = crafted_export(c, "executor_globals_offset", 16);
    crafted_put(c, c->move, CRAFTED_MOVE, 8);
    crafted_export(c, "gnu_get_libc_version", 16);
    c->getter = crafted_export(c, "tsrm_get_ls_cache", 32);
    c->key = crafted_alloc(c, 16);
    crafted_put(c, c->key, CRAFTED_KEY, 4);
    crafted_getter(c, false);
}

static inline void crafted_make(struct crafted *c, unsigned version, bool threads)
{
    *c = (struct crafted){.v = &CRAFTED[version], .top = 0x2000};
    crafted_module(c->bytes, CRAFTED_MODULE);
    crafted_export(c, "zend_execute_ex", 16);
    c->registry = crafted_export(c, "module_registry", 56);
    c->loop = crafted_export(c, "execute_ex", 256);
    u32 modules = crafted_table(c, c->registry, 3);
    c->core = crafted_php_module(c, "4.2.36");
    c->standard = crafted_php_module(c, c->v->version);
    crafted_put(c, c->core + 9, threads, 1);
    crafted_entry(c, modules, 0, "core", c->core);
    crafted_entry(c, modules, 1, "date", crafted_php_module(c, "1"));
    crafted_entry(c, modules, 2, "standard", c->standard);
    if (threads) {
        crafted_threads(c);
        crafted_calls(c);
        return;
    }
    c->state = crafted_export(c, "executor_globals", 1800);
    crafted_calls(c);
    crafted_put(c, c->state + 640, c->loop + 64, 8); /* a handler */
    crafted_put(c, c->state + c->v->functions, c->table, 8);
    crafted_put(c, c->state + c->v->frame, c->frame, 8);
}
