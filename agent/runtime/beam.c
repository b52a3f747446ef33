/* The row of Erlang's virtual machine in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/beam_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_CODE (1u << 20)

static int read_module(struct memory *m, const struct module *mod, void *out)
{
    struct beam *b = out;
    int rc = beam_layout(m, mod, b);
    return rc ? rc : beam_check(b, sizeof(*b)) ? -ENOTSUP : 0;
}

static int attach(struct memory *m, struct buf *out)
{
    struct beam b;
    int rc = attach_find(m, read_module, &b);
    return rc ? rc : attach_reply(out, &b, sizeof(b));
}

static int about(struct memory *m, struct buf *out)
{
    struct beam b;
    struct beam_walk walk;
    struct beam_module mod;
    u64 modules = 0, bytes = 0;
    int rc = attach_find(m, read_module, &b);
    if (rc)
        return rc;
    bool more = beam_walk_start(m, b.descriptor, &walk);
    for (; more && beam_walk_next(m, &walk, &mod); modules++)
        bytes += mod.end - mod.base;
    buf_printf(out, "machine\tErlang/OTP %s with JIT\n", *b.release ? b.release : "of an unknown release");
    buf_printf(out, "code\t%llu modules, %llu KiB\n", (unsigned long long)modules, (unsigned long long)bytes >> 10);
    buf_printf(out, "schedulers\t%s\n", b.machine.found == XP_ROOT_THREAD ? "found" : "not found");
    return out->failed ? -ENOMEM : 0;
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool root_fits(const struct xp_script *s)
{
    return s->language == XP_LANGUAGE_BEAM && !s->root && s->tls >= 0 && s->tls <= MAX_OFFSET &&
           s->slot <= MAX_OFFSET && (s->found == XP_ROOT_THREAD || (s->found == XP_ROOT_AT && !s->tls && !s->slot)) &&
           !s->pad;
}

static bool beam_fits(const struct xp_beam *b)
{
    const u16 offsets[] = {b->registers, b->scheduler_registers, b->scheduler_process};
    return b->exit < MAX_ADDRESS && b->main < MAX_ADDRESS && b->caller < MAX_ADDRESS && b->main_bytes <= MAX_CODE &&
           b->frame <= MAX_CODE && offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && !b->pad;
}

int beam_check(const void *data, size_t len)
{
    struct beam b;
    if (len != sizeof(b))
        return -EBADMSG;
    memcpy(&b, data, sizeof(b));
    return root_fits(&b.machine) && beam_fits(&b.machine.beam) && b.descriptor < MAX_ADDRESS &&
                   version_sound(b.release, sizeof(b.release))
               ? 0
               : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_SCRIPT;
    memcpy(&out->script, (const char *)attached + offsetof(struct beam, machine), sizeof(out->script));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = beam_check, .machine = machine, .names = beam_names, .about = about};
const struct runtime runtime_beam = {.name = "erlang", .memory = &ops};
