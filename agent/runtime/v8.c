/* The row of V8 in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include "runtime/v8_internal.h"
#include <errno.h>
#include <string.h>

#define MAX_FRAME 256 /* bytes from the frame pointer on, in either direction */

/* ---- The process ------------------------------------------------------------------------------------------------ */

/* A program and a library of it may both have an engine; the first one counts. */
int v8_find(struct memory *m, struct v8 *out)
{
    struct module_walk walk = {0};
    struct module mod;
    int rc = -ENODATA;
    while (rc == -ENODATA && module_next(m, &walk, &mod))
        rc = v8_layout(m, &mod, out);
    return !rc && v8_check(out, sizeof(*out)) ? -ENOTSUP : rc;
}

static int attach(struct memory *m, struct buf *out)
{
    struct v8 v;
    int rc = v8_find(m, &v);
    return rc ? rc : attach_reply(out, &v, sizeof(v));
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool in_frame(s16 at)
{
    return at >= -MAX_FRAME && at <= MAX_FRAME && at % 8 == 0;
}

static bool machine_fits(const struct xp_v8 *x)
{
    static const u16 none[3];
    const u16 offsets[] = {x->function_shared, x->shared_script, x->map_type, x->array_data};
    return in_frame(x->frame_function) && in_frame(x->frame_context) && in_frame(x->frame_array) &&
           in_frame(x->frame_position) && offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) &&
           !memcmp(x->pad, none, sizeof(none)) && (!x->array_type || x->array_data);
}

static bool layout_fits(const struct v8_layout *l)
{
    static const u16 none[2];
    const u16 offsets[] = {l->shared_name,        l->shared_data,     l->script_name,    l->script_source,
                           l->script_line_offset, l->array_positions, l->scope_first,    l->string_length,
                           l->string_first,       l->stream_head,     l->stream_code,    l->code_data,
                           l->code_places,        l->code_size,       l->deopt_literals, l->deopt_inlining,
                           l->deopt_shared,       l->deopt_wrapped};
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) &&
           l->positions <= V8_POSITIONS_BITS && l->old_scopes <= 1 && l->bytecodes <= V8_MAX_BYTECODES &&
           l->sizes < MAX_ADDRESS && !memcmp(l->pad, none, sizeof(none));
}

int v8_check(const void *data, size_t len)
{
    struct v8 v;
    if (len != sizeof(v))
        return -EBADMSG;
    memcpy(&v, data, sizeof(v));
    return machine_fits(&v.machine) && layout_fits(&v.layout) && version_sound(v.version, sizeof(v.version)) ? 0
                                                                                                             : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_V8;
    memcpy(&out->v8, (const char *)attached + offsetof(struct v8, machine), sizeof(out->v8));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = v8_check, .machine = machine, .names = v8_names, .about = v8_about};
const struct runtime runtime_v8 = {.name = "v8", .memory = &ops};
