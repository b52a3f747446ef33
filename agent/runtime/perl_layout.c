/* Which version of Perl it is, and where its interpreter has what. Offsets are those of builds for x86-64 of 5.28 to
 * 5.40, by their headers (cop.h, cv.h, sv.h). Those in the interpreter depend on how it was configured, so they are
 * found by what they lead to.
 */
#include "runtime/perl_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REVISION      5
#define MIN_VERSION   28
#define MAX_VERSION   42
#define WIDE_CONTEXTS 32 /* since this version, a context has the number of the sub's one around it */
#define AUX_INSIDE    36
#define MAX_OPS       1024

#define INFO_FROM 64 /* of an interpreter: where its PL_curstackinfo is, at least and at most */
#define INFO_TO   512
#define MAIN_TO   4096 /* the same of PL_main_cv */
#define TRIES     3    /* frames change while they are read */
#define MAX_INFOS 16   /* that are looked at */
#define MAX_LAST  64   /* contexts of each */
#define MAX_DEPTH (1 << 24)

/* ---- By version ------------------------------------------------------------------------------------------------- */

static void by_version(u8 minor, struct perl *p)
{
    static const struct xp_perl narrow = {.info_contexts = 8,
                                          .info_prev = 16,
                                          .info_index = 32,
                                          .context_bytes = 96,
                                          .context_cop = 16,
                                          .context_sub_return = 48,
                                          .context_sub = 64,
                                          .context_eval = 80,
                                          .subs = 1 << 9 | 1 << 10,
                                          .evals = 1 << 11,
                                          .body_words = CV_STASH,
                                          .cop_words = OP_TARGET,
                                          .pad_id = 16};
    p->machine.language = XP_LANGUAGE_PERL;
    p->machine.perl = narrow;
    if (minor >= WIDE_CONTEXTS) {
        p->machine.perl.context_bytes = 104;
        p->machine.perl.context_sub = 72;
        p->machine.perl.context_eval = 88;
    }
    p->layout.aux_inside = minor >= AUX_INSIDE;
}

static u64 variable(struct memory *m, const struct perl_found *f, const char *name, unsigned bytes, bool *ok)
{
    u64 at = module_symbol(m, &f->module, name);
    *ok = *ok && at;
    return memory_u(m, at, bytes, ok);
}

static int read_version(struct memory *m, struct perl_found *f)
{
    bool ok = true;
    u8 v[] = {(u8)variable(m, f, "PL_revision", 1, &ok), (u8)variable(m, f, "PL_version", 1, &ok),
              (u8)variable(m, f, "PL_subversion", 1, &ok)};
    if (!ok || v[0] != REVISION || v[1] < MIN_VERSION || v[1] > MAX_VERSION)
        return -ENOTSUP;
    snprintf(f->p.version, sizeof(f->p.version), "%u.%u.%u", v[0], v[1], v[2]);
    by_version(v[1], &f->p);
    return 0;
}

/* Types of ops have names, in their order. */
static int read_ops(struct memory *m, struct perl_found *f)
{
    u64 size = 0, names = module_symbol_sized(m, &f->module, "PL_op_name", &size);
    char name[16];
    bool ok = names != 0;
    for (u32 i = 0; ok && i < size / 8 && i < MAX_OPS && i < OP_TYPES; i++) {
        u64 at = memory_u(m, names + 8 * i, sizeof(u64), &ok);
        if (!ok || !memory_text(m, at, name, sizeof(name)))
            continue;
        if (!strcmp(name, "nextstate"))
            f->p.layout.nextstate = (u16)i;
        if (!strcmp(name, "dbstate"))
            f->p.layout.dbstate = (u16)i;
    }
    return f->p.layout.nextstate && f->p.layout.dbstate ? 0 : -ENOTSUP;
}

/* ---- An interpreter --------------------------------------------------------------------------------------------- */

/* A stackinfo knows its stack, and how many contexts it has room for. */
static bool is_info(struct memory *m, const struct xp_perl *p, u64 info, u64 stack)
{
    bool ok = info && stack && info % 8 == 0;
    u64 own = memory_u(m, info, sizeof(u64), &ok), contexts = memory_u(m, info + p->info_contexts, sizeof(u64), &ok);
    s32 last = (s32)memory_u(m, info + p->info_index, sizeof(s32), &ok);
    s32 most = (s32)memory_u(m, info + p->info_index + 4, sizeof(s32), &ok);
    return ok && own == stack && contexts && contexts % 8 == 0 && last >= -1 && last <= most && most < MAX_DEPTH &&
           perl_is(m, stack, SV_AV);
}

/* PL_curstack is in front of PL_curstackinfo. */
bool perl_is_interpreter(struct memory *m, const struct xp_perl *p, u64 at)
{
    bool ok = at && at % 8 == 0 && at < MAX_ADDRESS;
    u64 info = memory_u(m, at + (u64)p->stackinfo, sizeof(u64), &ok);
    u64 stack = memory_u(m, at + (u64)p->stackinfo - 8, sizeof(u64), &ok);
    return ok && is_info(m, p, info, stack);
}

static bool is_op(struct memory *m, u64 op)
{
    bool ok = op && op % 8 == 0;
    u64 function = memory_u(m, op + OP_FUNCTION, sizeof(u64), &ok);
    return ok && function && function < MAX_ADDRESS;
}

/* The CV of a program: it is of no sub. */
static bool is_program(struct memory *m, u64 cv)
{
    bool ok = true;
    u32 flags = perl_flags(m, cv);
    if ((flags & SV_TYPE) != SV_CV || (flags & SV_FAKE))
        return false;
    u64 body = memory_u(m, cv, sizeof(u64), &ok);
    return (memory_u(m, body + CV_FLAGS, sizeof(u32), &ok) & CV_UNIQUE) && ok;
}

/* PL_main_cv, PL_main_root, PL_main_start: the latter are 0 while the program is compiled. */
static bool is_main(struct memory *m, u64 at)
{
    bool ok = true;
    u64 cv = memory_u(m, at, sizeof(u64), &ok), root = memory_u(m, at + 8, sizeof(u64), &ok);
    u64 start = memory_u(m, at + 16, sizeof(u64), &ok);
    return ok && is_program(m, cv) && ((!root && !start) || (is_op(m, root) && is_op(m, start)));
}

static int find_places(struct memory *m, struct perl_found *f)
{
    struct xp_perl *p = &f->p.machine.perl;
    for (p->stackinfo = INFO_FROM; !perl_is_interpreter(m, p, f->interpreter);)
        if ((p->stackinfo += 8) > INFO_TO)
            return -ENOTSUP;
    p->cop = p->stackinfo - 16;
    for (p->main = p->stackinfo + 8; !is_main(m, f->interpreter + (u64)p->main);)
        if ((p->main += 8) > MAIN_TO)
            return -EAGAIN;
    f->p.layout.main = f->interpreter + (u64)p->main;
    return 0;
}

/* ---- Builds ----------------------------------------------------------------------------------------------------- */

static bool distance(u64 from, u64 to, s32 *out)
{
    *out = (s32)(to - from);
    return to && (u64)*out == to - from;
}

static int read_plain(struct memory *m, struct perl_found *f)
{
    struct xp_perl *p = &f->p.machine.perl;
    u64 info = module_symbol(m, &f->module, "PL_curstackinfo");
    bool ok = true;
    f->interpreter = f->p.machine.root = info;
    f->p.machine.found = XP_ROOT_AT;
    f->p.layout.build = PERL_PLAIN;
    f->p.layout.main = module_symbol(m, &f->module, "PL_main_cv");
    if (!info || !distance(info, module_symbol(m, &f->module, "PL_curcop"), &p->cop) ||
        !distance(info, f->p.layout.main, &p->main))
        return -ENOTSUP;
    u64 at = memory_u(m, info, sizeof(u64), &ok), stack = variable(m, f, "PL_curstack", sizeof(u64), &ok);
    u64 cv = memory_u(m, f->p.layout.main, sizeof(u64), &ok);
    if (!ok || !at || !is_program(m, cv))
        return ok ? -EAGAIN : -ENOTSUP;
    return is_info(m, p, at, stack) ? 0 : -ENOTSUP;
}

static int read_interpreter(struct memory *m, struct perl_found *f, u64 current)
{
    bool ok = true, threads = module_symbol(m, &f->module, "PL_thr_key") != 0;
    f->p.layout.build = threads ? PERL_THREADS : PERL_MULTIPLICITY;
    f->p.machine.found = threads ? XP_ROOT_THREAD : XP_ROOT_POINTER;
    f->p.machine.root = threads ? 0 : current;
    f->interpreter = memory_u(m, current, sizeof(u64), &ok);
    f->key = threads ? variable(m, f, "PL_thr_key", sizeof(u32), &ok) : 0;
    if (!ok)
        return -ENOTSUP;
    return f->interpreter ? find_places(m, f) : -EAGAIN;
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

struct verdict {
    u32 sound, unsound; /* frames */
};

static void check_contexts(struct memory *m, const struct xp_perl *p, u64 info, struct verdict *v)
{
    bool ok = true;
    u64 contexts = memory_u(m, info + p->info_contexts, sizeof(u64), &ok);
    s32 last = (s32)memory_u(m, info + p->info_index, sizeof(s32), &ok);
    for (s32 i = last; ok && i >= 0 && i > last - MAX_LAST; i--) {
        u64 at = contexts + (u64)i * p->context_bytes;
        u64 type = memory_u(m, at, 1, &ok) & 15;
        u64 cv = memory_u(m, at + p->context_sub, sizeof(u64), &ok);
        if (ok && p->subs >> type & 1) {
            u32 is = perl_flags(m, cv) & SV_TYPE;
            v->sound += is == SV_CV || is == SV_FORMAT;
            v->unsound += is != SV_CV && is != SV_FORMAT;
        }
    }
}

/* What is there has to be what it should be; but there may be nothing, and one frame is enough: others may have changed
 * meanwhile. */
static int check_frames(struct memory *m, const struct perl_found *f)
{
    const struct xp_perl *p = &f->p.machine.perl;
    struct verdict v = {0};
    bool ok = true;
    u64 info = memory_u(m, f->interpreter + (u64)p->stackinfo, sizeof(u64), &ok);
    for (unsigned i = 0; ok && info && i < MAX_INFOS; i++) {
        check_contexts(m, p, info, &v);
        info = memory_u(m, info + p->info_prev, sizeof(u64), &ok);
    }
    return v.sound || !v.unsound ? 0 : -ENOTSUP;
}

static int look(struct memory *m, struct perl_found *f, u64 current)
{
    int rc = current ? read_interpreter(m, f, current) : read_plain(m, f);
    return rc ? rc : check_frames(m, f);
}

/* What would be in an interpreter has symbols where there is none; PL_curinterp is there all the same. */
int perl_layout(struct memory *m, struct perl_found *f)
{
    bool plain = module_symbol(m, &f->module, "PL_curstackinfo") != 0;
    u64 current = plain ? 0 : module_symbol(m, &f->module, "PL_curinterp");
    if (!module_symbol(m, &f->module, "PL_revision") || (!current && !plain))
        return -ENODATA;
    int rc = read_version(m, f);
    if (!rc)
        rc = read_ops(m, f);
    if (rc)
        return rc;
    rc = look(m, f, current);
    for (unsigned i = 1; i < TRIES && rc == -ENOTSUP; i++) {
        memory_forget(m);
        rc = look(m, f, current);
    }
    return rc;
}
