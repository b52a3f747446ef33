/* Where a PHP has its state, and whether that is what it should be.
 *
 * Without threads there is one, which has a symbol. With threads (ZTS) each of them has its own: in what a variable of
 * the thread points to, so many bytes behind its start (executor_globals_offset). The variable has no symbol, but a
 * function returns it (tsrm_get_ls_cache, TSRM/TSRM.c), which consists of nothing else.
 */
#include "runtime/php_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_STEPS 64 /* frames that are looked at */
#define MAX_OPS   (1u << 24)
#define TRIES     3 /* frames change while they are read */

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
    u64 table = php_u(m, state + f->functions, sizeof(u64), &ok);
    if (ok && !table)
        return -EAGAIN;
    u64 data = ok && table < MAX_ADDRESS ? php_u(m, table + PHP_TABLE_DATA, sizeof(u64), &ok) : 0;
    u64 first = ok && data && data < MAX_ADDRESS ? php_u(m, data, sizeof(u64), &ok) : 0;
    ok = ok && first && first < MAX_ADDRESS && php_words(m, x, first, &w) && w.type == XP_PHP_INTERNAL && !w.scope &&
         is_text(m, w.name) && php_u(m, first + f->module, sizeof(u64), &ok) == f->core;
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
    u64 ops = php_u(m, function + x->function_ops, sizeof(u64), &ok);
    u64 n = php_u(m, function + x->function_nops, sizeof(u32), &ok);
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
    u64 at = php_u(m, state + x->frame, sizeof(u64), &ok);
    for (unsigned i = 0; i < MAX_STEPS && ok && at && at < MAX_ADDRESS; i++) {
        u64 function = php_u(m, at + x->call_func, sizeof(u64), &ok);
        u64 opline = php_u(m, at + x->call_opline, sizeof(u64), &ok);
        if (function && ok)
            *(function < MAX_ADDRESS && is_sound(m, x, function, opline) ? &sound : &bad) += 1;
        at = php_u(m, at + x->call_prev, sizeof(u64), &ok);
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

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

static const u8 ENDBR64[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const u8 LOAD[] = {0x64, 0x48, 0x8b, 0x04, 0x25};       /* mov %fs:TLS, %rax */
static const u8 LOAD_OFFSET[] = {0x48, 0x8b, 0x05};            /* mov OFFSET(%rip), %rax */
static const u8 LOAD_THERE[] = {0x64, 0x48, 0x8b, 0x00, 0xc3}; /* mov %fs:(%rax), %rax; ret */
#define RET 0xc3

/* Where the function that consists of such instructions reads its variable, from the TLS base on. */
static bool read_getter(struct memory *m, u64 at, s64 *tls)
{
    u8 code[16];
    s32 number;
    bool ok = true;
    if (!memory_near(m, at, code, sizeof(ENDBR64)))
        return false;
    at += memcmp(code, ENDBR64, sizeof(ENDBR64)) ? 0 : sizeof(ENDBR64);
    if (!memory_near(m, at, code, 12))
        return false;
    if (!memcmp(code, LOAD, sizeof(LOAD)) && code[9] == RET) {
        memcpy(&number, code + sizeof(LOAD), sizeof(number));
        *tls = number;
        return true;
    }
    if (memcmp(code, LOAD_OFFSET, sizeof(LOAD_OFFSET)) != 0 || memcmp(code + 7, LOAD_THERE, sizeof(LOAD_THERE)) != 0)
        return false;
    memcpy(&number, code + sizeof(LOAD_OFFSET), sizeof(number));
    *tls = (s64)php_u(m, at + 7 + (u64)(s64)number, sizeof(u64), &ok);
    return ok;
}

static int find_threads(struct memory *m, const struct module *mod, u64 offset_at, struct php_found *f)
{
    struct xp_script *x = &f->p.machine;
    bool ok = true;
    u64 getter = module_symbol(m, mod, "tsrm_get_ls_cache"), offset = php_u(m, offset_at, sizeof(u64), &ok);
    if (!ok || !getter || offset > MAX_OFFSET || !read_getter(m, getter, &x->tls))
        return -ENOTSUP;
    if (!offset)
        return -EAGAIN;
    x->found = XP_ROOT_THREAD;
    x->php.frame = (u16)(x->php.frame + offset);
    return 0;
}

int php_state(struct memory *m, const struct module *mod, struct php_found *f)
{
    u64 state = module_symbol(m, mod, "executor_globals");
    u64 offset = state ? 0 : module_symbol(m, mod, "executor_globals_offset");
    if (!state)
        return offset ? find_threads(m, mod, offset, f) : -ENODATA;
    f->p.machine.found = XP_ROOT_AT;
    f->p.machine.root = state;
    return check_state(m, f, state);
}
