/* Which Ruby it is, and where its structures have what. Sources: vm_core.h, iseq.h, include/ruby/internal/core of each
 * version, on machines of 64 bits.
 */
#include "runtime/ruby_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <stdio.h>

#define LOCATION 64 /* in rb_iseq_constant_body, since 2.5 */

static const struct version {
    u8 major, minor;
    u8 frame_bytes;
    u16 info, info_bytes;
    u8 string_length, array_bits;
    struct ruby_lists lists;
} VERSIONS[] = {
    {2, 7, 56, 120, 8, 0, 2, {.vm_main = 192, .thread_vm = 24, .thread_ec = 32, .ec_thread = 56, .by_key = true}},
    {3, 0, 56, 120, 8, 0, 2, {.vm_main = 40, .thread_vm = 32, .thread_ec = 40, .ec_thread = 56}},
    {3, 1, 64, 120, 12, 0, 2, {.vm_main = 40, .thread_vm = 32, .thread_ec = 40, .ec_thread = 48}},
    {3, 2, 64, 112, 12, 16, 7, {.vm_main = 40, .thread_vm = 32, .thread_ec = 48, .thread_native = 40, .ec_thread = 48}},
    {3, 3, 56, 112, 12, 16, 7, {.vm_main = 40, .thread_vm = 32, .thread_ec = 48, .thread_native = 40, .ec_thread = 48}},
    {3, 4, 56, 112, 12, 16, 7, {.vm_main = 40, .thread_vm = 32, .thread_ec = 48, .thread_native = 40, .ec_thread = 48}},
};

static const struct version *version_of(const char *text)
{
    unsigned major, minor;
    if (sscanf(text, "%u.%u.", &major, &minor) != 2)
        return NULL;
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(*VERSIONS); i++)
        if (VERSIONS[i].major == major && VERSIONS[i].minor == minor)
            return &VERSIONS[i];
    return NULL;
}

static struct xp_ruby machine_of(const struct version *v)
{
    return (struct xp_ruby){.stack = 0,
                            .stack_size = 8,
                            .frame = 16,
                            .frame_pc = 0,
                            .frame_iseq = 16,
                            .frame_ep = 32,
                            .frame_bytes = v->frame_bytes,
                            .iseq_body = 16,
                            .body_code = 8,
                            .body_words = LOCATION,
                            .entry_words = 8};
}

int ruby_layout(struct memory *m, const struct module *mod, struct ruby_found *out)
{
    struct ruby *r = &out->r;
    u64 at = module_symbol(m, mod, "ruby_version");
    if (!at)
        return -ENODATA;
    if (!memory_text(m, at, r->version, sizeof(r->version)) || !version_sound(r->version, sizeof(r->version)))
        return -ENOTSUP;
    const struct version *v = version_of(r->version);
    if (!v)
        return -ENOTSUP;
    out->lists = v->lists;
    r->machine.language = XP_LANGUAGE_RUBY;
    r->machine.found = XP_ROOT_THREAD;
    r->machine.ruby = machine_of(v);
    r->layout.info = v->info;
    r->layout.info_bytes = v->info_bytes;
    r->layout.parent = v->info + 48; /* behind insns_info (32), local_table and catch_table */
    r->layout.string_length = v->string_length;
    r->layout.array_bits = v->array_bits;
    return 0;
}
