/* The row of Perl in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/perl_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_SLOT    (1u << 16)
#define MAX_CONTEXT 256 /* bytes: more than the unwinder could keep */

/* ---- The process ------------------------------------------------------------------------------------------------ */

static int read_module(struct memory *m, const struct module *mod, void *found)
{
    struct perl_found *out = found;
    *out = (struct perl_found){.module = *mod};
    int rc = perl_layout(m, out);
    if (!rc)
        rc = perl_threads(m, out);
    return !rc && perl_check(&out->p, sizeof(out->p)) ? -ENOTSUP : rc;
}

int perl_find(struct memory *m, struct perl_found *out)
{
    return attach_find(m, read_module, out);
}

static int attach(struct memory *m, struct buf *out)
{
    struct perl_found found;
    int rc = perl_find(m, &found);
    return rc ? rc : attach_reply(out, &found.p, sizeof(found.p));
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool root_fits(const struct xp_script *s, u8 build)
{
    static const u8 found[] = {
        [PERL_THREADS] = XP_ROOT_THREAD, [PERL_MULTIPLICITY] = XP_ROOT_POINTER, [PERL_PLAIN] = XP_ROOT_AT};
    return build <= PERL_PLAIN && s->found == found[build] && s->language == XP_LANGUAGE_PERL &&
           s->root < MAX_ADDRESS && s->tls >= 0 && s->tls <= MAX_OFFSET && s->slot <= MAX_SLOT && !s->pad;
}

static bool places_fit(const struct xp_perl *p, u8 build)
{
    s32 places[] = {p->stackinfo, p->cop, p->main};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && build != PERL_PLAIN; i++)
        if (places[i] < 0 || places[i] > MAX_OFFSET)
            return false;
    return true;
}

static bool perl_fits(const struct xp_perl *p)
{
    const u16 offsets[] = {p->info_contexts, p->info_prev, p->info_index, p->cv_body,
                           p->body_words,    p->cop_words, p->pad_id};
    const u16 contexts[] = {p->context_cop, p->context_sub_return, p->context_sub, p->context_eval};
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && p->context_bytes >= 8 &&
           p->context_bytes <= MAX_CONTEXT && p->context_bytes % 8 == 0 &&
           offsets_sound(contexts, sizeof(contexts) / sizeof(*contexts), p->context_bytes - 8u);
}

static bool layout_fits(const struct perl_layout *l)
{
    static const u8 none[sizeof(l->pad)];
    return l->main < MAX_ADDRESS && l->nextstate < OP_TYPES && l->dbstate < OP_TYPES && l->aux_inside <= 1 &&
           !memcmp(l->pad, none, sizeof(none));
}

int perl_check(const void *data, size_t len)
{
    struct perl p;
    if (len != sizeof(p))
        return -EBADMSG;
    memcpy(&p, data, sizeof(p));
    return root_fits(&p.machine, p.layout.build) && places_fit(&p.machine.perl, p.layout.build) &&
                   perl_fits(&p.machine.perl) && layout_fits(&p.layout) && version_sound(p.version, sizeof(p.version))
               ? 0
               : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_SCRIPT;
    memcpy(&out->script, (const char *)attached + offsetof(struct perl, machine), sizeof(out->script));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = perl_check, .machine = machine, .names = perl_names, .about = perl_about};
const struct runtime runtime_perl = {.name = "perl", .memory = &ops};
