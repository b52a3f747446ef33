/* The row of .NET in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/dotnet_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

static int read_module(struct memory *m, const struct module *mod, void *out)
{
    struct dotnet *d = out;
    *d = (struct dotnet){.machine = {.language = XP_LANGUAGE_DOTNET}};
    int rc = dotnet_layout(m, mod, &d->layout);
    return rc ? rc : dotnet_check(d, sizeof(*d)) ? -ENOTSUP : 0;
}

static int attach(struct memory *m, struct buf *out)
{
    struct dotnet d;
    int rc = attach_find(m, read_module, &d);
    return rc ? rc : attach_reply(out, &d, sizeof(d));
}

static int about(struct memory *m, struct buf *out)
{
    struct dotnet d;
    int rc = attach_find(m, read_module, &d);
    if (rc)
        return rc;
    buf_str(out, "machine\t.NET 9 or later\nlines\tnot known\n");
    return out->failed ? -ENOMEM : 0;
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool machine_fits(const struct xp_script *s)
{
    return s->language == XP_LANGUAGE_DOTNET && !s->root && !s->tls && !s->slot && !s->found && !s->pad;
}

static bool layout_fits(const struct dotnet_layout *l)
{
    static const u8 none[sizeof(l->pad)];
    const u16 offsets[] = {l->code_method, l->code_parts,   l->code_part,    l->method_index, l->method_flags,
                           l->method_name, l->method_token, l->chunk_bytes,  l->chunk_table,  l->chunk_token,
                           l->table_token, l->table_class,  l->table_module, l->class_table,  l->module_base};
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && l->method_unit >= 1 &&
           l->method_unit <= 64 && l->token_bits >= 8 && l->token_bits <= 16 && !memcmp(l->pad, none, sizeof(none));
}

int dotnet_check(const void *data, size_t len)
{
    struct dotnet d;
    if (len != sizeof(d))
        return -EBADMSG;
    memcpy(&d, data, sizeof(d));
    return machine_fits(&d.machine) && layout_fits(&d.layout) ? 0 : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_SCRIPT;
    memcpy(&out->script, (const char *)attached + offsetof(struct dotnet, machine), sizeof(out->script));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = dotnet_check, .machine = machine, .names = dotnet_names, .about = about};
const struct runtime runtime_dotnet = {.name = "dotnet", .memory = &ops};
