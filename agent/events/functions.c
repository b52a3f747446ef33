#include "events/made_internal.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/user.h>

/* ---- What conditions may ask for --------------------------------------------------------------------------------- */

/* A register as the program finds it (struct pt_regs of the kernel begins as struct user_regs_struct does). */
#define REGISTER(name, register)                          \
    {                                                     \
        name, offsetof(struct user_regs_struct, register) \
    }

struct place {
    const char *name;
    size_t offset;
};
/* System V ABI for AMD64, 3.2.3. */
static const struct place ARGUMENTS[] = {REGISTER("arg1", rdi), REGISTER("arg2", rsi), REGISTER("arg3", rdx),
                                         REGISTER("arg4", rcx), REGISTER("arg5", r8),  REGISTER("arg6", r9)};
static const struct place RESULT[] = {REGISTER("retval", rax)};

static void add_fields(const struct place *places, size_t n, bool late, struct tracepoint *out)
{
    for (size_t i = 0; i < n; i++) {
        struct tracepoint_field *f = &out->fields[out->nfields++];
        snprintf(f->name, sizeof(f->name), "%s", places[i].name);
        f->place =
            (struct xp_tp_field){.offset = (u32)places[i].offset, .size = 8, .source = XP_TP_SIGNED, .late = late};
    }
}

void made_registers(enum probe_when when, struct tracepoint *fields)
{
    if (when != PROBE_RETURNS)
        add_fields(ARGUMENTS, sizeof(ARGUMENTS) / sizeof(*ARGUMENTS), false, fields);
    if (when != PROBE_CALLS)
        add_fields(RESULT, 1, when == PROBE_BOTH, fields);
}

/* ---- Its name ---------------------------------------------------------------------------------------------------- */

/* FILE may have colons. */
static int split(const char *text, char *file, size_t len, const char **function)
{
    const char *begin = event_function_of(text);
    size_t n = begin ? (size_t)(begin - text) - 1 : 0;
    if (!n || !begin[0] || n >= len)
        return -EINVAL;
    snprintf(file, len, "%.*s", (int)n, text);
    *function = begin;
    return 0;
}

static const struct form {
    const char *name;
    enum probe_when when;
    const char *object, *type; /* of its kind; what is added to the name of the function */
    u32 trap_ns;               /* of a hit: a breakpoint at a call, and another one at the return, as measured */
} FORMS[] = {
    {UPROBE, PROBE_CALLS, "function", "", 700},
    {URETPROBE, PROBE_RETURNS, "function", "_return", 1750},
    {ULATENCY, PROBE_BOTH, "function_latency", "", 900},
};

#define STEP_NS 15000 /* to step over an instruction, as measured */

/* What a hit costs beside its program. */
static u32 trap_ns(const struct form *form, const struct probe_places *places)
{
    return form->trap_ns + (places->n ? (u32)(STEP_NS * places->stepped / places->n) : 0);
}

static const struct form *form_of(const char *name)
{
    const struct form *f = FORMS;
    while (!made_is(name, f->name))
        f++;
    return f;
}

int made_function(struct event_probe *p, const struct event_choice *choice, struct tracepoint *fields, char *why,
                  size_t len)
{
    const struct form *form = form_of(p->name);
    const char *function;
    char file[sizeof(p->name)];
    if (split(p->name + strlen(form->name), file, sizeof(file), &function)) {
        snprintf(why, len, "-e %s: expected %sFILE:FUNCTION, such as %slibc.so.6:fopen", p->name, form->name,
                 form->name);
        return -EINVAL;
    }
    p->places.when = form->when;
    int rc = choice->find ? choice->find(choice->ctx, file, function, &p->places, why, len) : -ENOTSUP;
    if (rc)
        return rc;
    snprintf(p->type, sizeof(p->type), "%.100s%s", function, form->type);
    made_registers(form->when, fields);
    p->kind.probe = (struct probe_event){
        .how = PROBE_KIND, .object = form->object, .places = &p->places, .trap_ns = trap_ns(form, &p->places)};
    p->kind.series = form->object;
    return 0;
}
