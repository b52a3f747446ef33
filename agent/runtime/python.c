/* The row of CPython in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/python_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_SLOT (1u << 16)

/* ---- The process ------------------------------------------------------------------------------------------------ */

static int read_module(struct memory *m, const struct module *mod, void *found)
{
    struct python_found *out = found;
    *out = (struct python_found){.runtime = module_symbol(m, mod, "_PyRuntime")};
    int rc = out->runtime ? python_layout(m, mod, out) : -ENODATA;
    if (!rc)
        rc = python_threads(m, out);
    out->p.machine.kind_shift = out->p.layout.kind_shift; /* which the threads' texts have told */
    return !rc && python_check(&out->p, sizeof(out->p)) ? -ENOTSUP : rc;
}

int python_find(struct memory *m, struct python_found *out)
{
    return attach_find(m, read_module, out);
}

static int attach(struct memory *m, struct buf *out)
{
    struct python_found found;
    int rc = python_find(m, &found);
    return rc ? rc : attach_reply(out, &found.p, sizeof(found.p));
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool machine_fits(const struct xp_python *x)
{
    const u16 offsets[] = {x->state_thread, x->state_frame, x->state_cframe, x->cframe_frame, x->cframe_back,
                           x->code_start,   x->code_names,  x->code_flags,   x->str_length};
    const u16 frames[] = {x->frame_code, x->frame_back, x->frame_position};
    bool has_cframes = x->shape == XP_PYTHON_CFRAME || x->shape == XP_PYTHON_ENTRY;
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) &&
           offsets_sound(frames, sizeof(frames) / sizeof(*frames), XP_PYTHON_FRAME - sizeof(u64)) &&
           x->frame_owner < XP_PYTHON_FRAME && x->tls >= -MAX_OFFSET && x->tls <= MAX_OFFSET && x->slot <= MAX_SLOT &&
           x->shape <= XP_PYTHON_SHIM && (x->names == 3 || x->names == XP_PYTHON_NAMES) && x->tag_bits <= 3 &&
           (x->state_frame || x->state_cframe) && (!has_cframes || x->state_cframe) &&
           (x->text || x->code_names >= 24) && x->kind_shift <= 16 && !x->pad[0] && !x->pad[1];
}

static bool layout_fits(const struct python_layout *l)
{
    static const u8 none[sizeof(l->pad)];
    const u16 offsets[] = {l->type,        l->bytes_size, l->bytes_data, l->str_length, l->str_state,  l->str_ascii,
                           l->str_compact, l->code_first, l->code_size,  l->code_bytes, l->code_copies};
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && l->code_type < MAX_ADDRESS &&
           l->str_type < MAX_ADDRESS && l->bytes_type < MAX_ADDRESS && l->kind_shift <= 16 &&
           l->lines <= PYTHON_LINES_LOCATIONS && (l->unit == 1 || l->unit == 2) && l->free_threaded <= 1 &&
           l->by_offsets <= 1 && !memcmp(l->pad, none, sizeof(none));
}

int python_check(const void *data, size_t len)
{
    struct python p;
    if (len != sizeof(p))
        return -EBADMSG;
    memcpy(&p, data, sizeof(p));
    return machine_fits(&p.machine) && layout_fits(&p.layout) && version_sound(p.version, sizeof(p.version)) ? 0
                                                                                                             : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_PYTHON;
    memcpy(&out->python, (const char *)attached + offsetof(struct python, machine), sizeof(out->python));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = python_check, .machine = machine, .names = python_names, .about = python_about};
const struct runtime runtime_python = {.name = "python", .memory = &ops};
