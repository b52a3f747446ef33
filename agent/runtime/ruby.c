/* The row of Ruby in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/ruby_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_SLOT (1u << 12)
#define MAX_TLS  (1 << 20) /* bytes from the TLS base */

/* ---- The process ------------------------------------------------------------------------------------------------ */

static int read_module(struct memory *m, const struct module *mod, struct ruby_found *out)
{
    *out = (struct ruby_found){0};
    int rc = ruby_layout(m, mod, out);
    rc = rc ? rc : ruby_threads(m, mod, out);
    if (rc)
        return rc;
    ruby_find_symbols(m, mod, &out->r.layout);
    ruby_find_classes(m, mod, &out->r.layout);
    return ruby_check(&out->r, sizeof(out->r)) ? -ENOTSUP : 0;
}

int ruby_find(struct memory *m, struct ruby_found *out)
{
    int rc = -ENODATA;
    struct module_walk walk = {0};
    struct module mod;
    while (rc == -ENODATA && module_next(m, &walk, &mod))
        rc = read_module(m, &mod, out);
    return rc;
}

static int attach(struct memory *m, struct buf *out)
{
    struct ruby_found found;
    int rc = ruby_find(m, &found);
    return rc ? rc : attach_reply(out, &found.r, sizeof(found.r));
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool machine_fits(const struct xp_script *s)
{
    static const u8 none[sizeof(s->ruby.pad)];
    const struct xp_ruby *x = &s->ruby;
    const u16 offsets[] = {x->stack,     x->stack_size, x->frame,      x->iseq_body,
                           x->body_code, x->body_words, x->entry_words};
    const u16 frames[] = {x->frame_pc, x->frame_iseq, x->frame_ep};
    return s->language == XP_LANGUAGE_RUBY && s->found == XP_ROOT_THREAD && !s->root && !s->pad && s->tls >= -MAX_TLS &&
           s->tls <= MAX_TLS && s->slot <= MAX_SLOT &&
           offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && x->frame_bytes >= 48 &&
           x->frame_bytes <= 128 && offsets_sound(frames, sizeof(frames) / sizeof(*frames), x->frame_bytes - 8) &&
           !memcmp(x->pad, none, sizeof(none));
}

static bool layout_fits(const struct ruby_layout *l)
{
    static const u8 none[sizeof(l->pad)];
    const u16 offsets[] = {l->info, l->info_bytes, l->parent, l->classpath, l->attached, l->class_ext};
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && l->symbols < MAX_ADDRESS &&
           l->string_length <= 64 && l->array_bits <= 16 && !memcmp(l->pad, none, sizeof(none));
}

int ruby_check(const void *data, size_t len)
{
    struct ruby r;
    if (len != sizeof(r))
        return -EBADMSG;
    memcpy(&r, data, sizeof(r));
    return machine_fits(&r.machine) && layout_fits(&r.layout) && version_sound(r.version, sizeof(r.version)) ? 0
                                                                                                             : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_SCRIPT;
    memcpy(&out->script, (const char *)attached + offsetof(struct ruby, machine), sizeof(out->script));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = ruby_check, .machine = machine, .names = ruby_names, .about = ruby_about};
const struct runtime runtime_ruby = {.name = "ruby", .memory = &ops};
