/* The row of PHP in the table of runtimes. */
#include "runtime/attach.h"
#include "runtime/php_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_TLS   8192        /* of what a thread has in struct pthread */
#define MAX_FRAME (50u << 10) /* with threads, the state is part of something larger */

/* ---- The process ------------------------------------------------------------------------------------------------ */

/* The engine is in a program (php, php-fpm) or a library of it (mod_php). */
static int read_module(struct memory *m, const struct module *mod, void *found)
{
    struct php_found *out = found;
    u64 registry = module_symbol(m, mod, "zend_execute_ex") ? module_symbol(m, mod, "module_registry") : 0;
    int rc = registry ? php_layout(m, registry, out) : -ENODATA;
    if (!rc)
        rc = php_state(m, mod, out);
    return !rc && php_check(&out->p, sizeof(out->p)) ? -ENOTSUP : rc;
}

int php_find(struct memory *m, struct php_found *out)
{
    return attach_find(m, read_module, out);
}

static int attach(struct memory *m, struct buf *out)
{
    struct php_found found;
    int rc = php_find(m, &found);
    return rc ? rc : attach_reply(out, &found.p, sizeof(found.p));
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool offsets_fit(const struct xp_php *x)
{
    const u16 offsets[] = {
        x->call_opline,   x->call_func,      x->call_info,          x->call_prev,      x->op_line,
        x->function_type, x->function_words, x->function_file,      x->function_ops,   x->function_nops,
        x->call_result,   x->generator_call, x->generator_children, x->generator_child};
    return x->frame <= MAX_FRAME && offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), 512) &&
           x->op_bytes >= 16 && x->op_bytes <= 64;
}

static bool machine_fits(const struct xp_script *x)
{
    bool threads = x->found == XP_ROOT_THREAD;
    return x->language == XP_LANGUAGE_PHP && (threads || x->found == XP_ROOT_AT) && x->root < MAX_ADDRESS &&
           x->tls >= 0 && x->tls <= MAX_TLS && x->slot <= MAX_TLS && !x->pad && offsets_fit(&x->php);
}

int php_check(const void *data, size_t len)
{
    struct php p;
    if (len != sizeof(p))
        return -EBADMSG;
    memcpy(&p, data, sizeof(p));
    return machine_fits(&p.machine) && version_sound(p.version, sizeof(p.version)) && p.threads <= 1 && p.debug <= 1
               ? 0
               : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_SCRIPT;
    memcpy(&out->script, (const char *)attached + offsetof(struct php, machine), sizeof(out->script));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = php_check, .machine = machine, .names = php_names, .about = php_about};
const struct runtime runtime_php = {.name = "php", .memory = &ops};
