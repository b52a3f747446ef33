/* Where a PHP has its state, and whether that is what it should be.
 *
 * Without threads there is one, which has a symbol. With threads (ZTS) each of them has its own, so many bytes behind
 * the start (executor_globals_offset) of what the thread has by pthread_setspecific. The key is a variable without
 * symbol, but a function returns the value (tsrm_get_ls_cache, TSRM/TSRM.c), and begins with nothing but loading the
 * key.
 */
#include "runtime/php_internal.h"
#include "runtime/sound.h"
#include "runtime/thread_block.h"
#include <errno.h>
#include <string.h>

#define MAX_STEPS 64 /* frames that are looked at */
#define MAX_OPS   (1u << 24)
#define MAX_STATE 8192 /* bytes */
#define TRIES     3    /* frames change while they are read */

#define MAX_THREAD (48u << 10) /* of what a thread has in a row (tsrm_reserve_fast) */

/* ---- One state -------------------------------------------------------------------------------------------------- */

static bool is_text(struct memory *m, u64 string)
{
    AUTO_BUF struct buf text = {0};
    return php_text(m, string, &text) && text.len;
}

/* The table of functions begins with those of the engine's own module. */
static int check_functions(struct memory *m, const struct php_found *f, u64 state)
{
    const struct xp_php *x = &f->p.machine.php;
    struct php_words w;
    bool ok = true;
    u64 table = memory_u(m, state + f->functions, sizeof(u64), &ok);
    if (ok && !table)
        return -EAGAIN;
    u64 data = ok && table < MAX_ADDRESS ? memory_u(m, table + PHP_TABLE_DATA, sizeof(u64), &ok) : 0;
    u64 first = ok && data && data < MAX_ADDRESS ? memory_u(m, data, sizeof(u64), &ok) : 0;
    ok = ok && first && first < MAX_ADDRESS && php_words(m, x, first, &w) && w.type == XP_PHP_INTERNAL && !w.scope &&
         is_text(m, w.name) && memory_u(m, first + f->module, sizeof(u64), &ok) == f->core;
    return ok ? 0 : -ENOTSUP;
}

static bool is_sound(struct memory *m, const struct xp_php *x, u64 function, u64 opline)
{
    struct php_words w;
    bool ok = true;
    if (!php_words(m, x, function, &w) || (w.name && !is_text(m, w.name)))
        return false;
    if (w.type == XP_PHP_INTERNAL)
        return true;
    u64 ops = memory_u(m, function + x->function_ops, sizeof(u64), &ok);
    u64 n = memory_u(m, function + x->function_nops, sizeof(u32), &ok);
    return ok && n && n < MAX_OPS && ops && ops < MAX_ADDRESS && is_text(m, w.file) &&
           (!opline || opline - ops < n * x->op_bytes);
}

/* The innermost frames. The oldest ones are those that change least; that there are none is no fault. An instruction
 * may be one of the engine's own (for exceptions), but not in all frames. */
static int check_frames(struct memory *m, const struct php_found *f, u64 state)
{
    const struct xp_php *x = &f->p.machine.php;
    bool ok = true;
    unsigned sound = 0, bad = 0;
    u64 at = memory_u(m, state + x->frame, sizeof(u64), &ok);
    for (unsigned i = 0; i < MAX_STEPS && ok && at && at < MAX_ADDRESS; i++) {
        u64 function = memory_u(m, at + x->call_func, sizeof(u64), &ok);
        u64 opline = memory_u(m, at + x->call_opline, sizeof(u64), &ok);
        if (function && ok)
            *(function < MAX_ADDRESS && is_sound(m, x, function, opline) ? &sound : &bad) += 1;
        at = memory_u(m, at + x->call_prev, sizeof(u64), &ok);
    }
    return sound || !bad ? 0 : -ENOTSUP;
}

static int check_state(struct memory *m, const struct php_found *f, u64 state)
{
    int rc = -ENOTSUP;
    for (unsigned i = 0; i < TRIES && rc == -ENOTSUP; i++) {
        if (i)
            memory_forget(m);
        rc = check_functions(m, f, state);
        rc = rc ? rc : check_frames(m, f, state);
    }
    return rc;
}

/* ---- The loop --------------------------------------------------------------------------------------------------- */

/* Instructions have the address of the code of the loop that handles them, also those that the state itself has (for
 * exceptions). */
static void find_loop(struct memory *m, const struct module *mod, u64 state, u64 size, struct xp_script *x)
{
    u64 bytes, start = module_symbol_sized(m, mod, "execute_ex", &bytes);
    bool ok = start != 0;
    for (u64 at = state; ok && at + sizeof(u64) <= state + size && at < state + MAX_STATE; at += sizeof(u64)) {
        u64 handler = memory_u(m, at, sizeof(u64), &ok), distance = handler - state;
        if (!ok || handler <= start || handler - start >= bytes || (s64)distance != (s32)distance)
            continue;
        x->php.loop = (s32)distance;
        return;
    }
}

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

static const u8 ENDBR64[] = {0xf3, 0x0f, 0x1e, 0xfa}, SUB_RSP[] = {0x48, 0x83, 0xec, 8};
static const u8 LOAD_KEY[] = {0x8b, 0x3d}; /* mov KEY(%rip), %edi; then a call or a jump */
#define LOAD_BYTES 6

static u64 skip(struct memory *m, u64 at, const u8 *code, size_t n)
{
    u8 found[sizeof(ENDBR64)];
    return memory_near(m, at, found, n) && !memcmp(found, code, n) ? at + n : at;
}

static bool read_key(struct memory *m, u64 getter, u32 *key)
{
    u8 code[LOAD_BYTES + 1];
    s32 distance;
    bool ok = true;
    u64 at = skip(m, skip(m, getter, ENDBR64, sizeof(ENDBR64)), SUB_RSP, sizeof(SUB_RSP));
    if (!memory_near(m, at, code, sizeof(code)) || memcmp(code, LOAD_KEY, sizeof(LOAD_KEY)) != 0 ||
        (code[LOAD_BYTES] != 0xe8 && code[LOAD_BYTES] != 0xe9 && code[LOAD_BYTES] != 0xff))
        return false;
    memcpy(&distance, code + sizeof(LOAD_KEY), sizeof(distance));
    *key = (u32)memory_u(m, at + LOAD_BYTES + (u64)(s64)distance, sizeof(u32), &ok);
    return ok && *key < GLIBC_MAX_KEYS;
}

static bool has_glibc(struct memory *m)
{
    struct module_walk walk = {0};
    struct module mod;
    while (module_next(m, &walk, &mod))
        if (module_symbol(m, &mod, "gnu_get_libc_version"))
            return true;
    return false;
}

static int find_threads(struct memory *m, const struct module *mod, u64 offset_at, struct php_found *f)
{
    struct xp_script *x = &f->p.machine;
    bool ok = true;
    u32 key;
    u64 getter = module_symbol(m, mod, "tsrm_get_ls_cache"), offset = memory_u(m, offset_at, sizeof(u64), &ok);
    if (ok && !offset)
        return -EAGAIN;
    if (!ok || !getter || offset > MAX_THREAD || !read_key(m, getter, &key) || !has_glibc(m))
        return -ENOTSUP;
    struct thread_place place = thread_block_glibc(key);
    x->tls = place.tls;
    x->slot = place.slot;
    x->found = XP_ROOT_THREAD;
    x->php.frame = (u16)(x->php.frame + offset);
    return 0;
}

int php_state(struct memory *m, const struct module *mod, struct php_found *f)
{
    u64 size = 0, state = module_symbol_sized(m, mod, "executor_globals", &size);
    u64 offset = state ? 0 : module_symbol(m, mod, "executor_globals_offset");
    if (!state)
        return offset ? find_threads(m, mod, offset, f) : -ENODATA;
    f->p.machine.found = XP_ROOT_AT;
    f->p.machine.root = state;
    find_loop(m, mod, state, size, &f->p.machine);
    return check_state(m, f, state);
}
