#include "events/made_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define USDT_TRAP_NS 700 /* of a hit: sites are nops, which the kernel emulates */

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* An argument is one that all sites have. Its number has a sign if it has one anywhere, or may have one: if sites are
 * not known yet. */
static u8 source_of(const struct probe_places *places, size_t argument)
{
    u8 source = places->file ? XP_TP_SIGNED : XP_TP_UNSIGNED;
    for (size_t i = 0; i < places->n; i++) {
        u8 flags = places->sites[i].arguments[argument].flags;
        if (!(flags & XP_USDT_KNOWN))
            return XP_TP_NOTHING;
        if (flags & XP_USDT_SIGNED)
            source = XP_TP_SIGNED;
    }
    return source;
}

static void add_arguments(const struct probe_places *places, struct tracepoint *out)
{
    for (size_t i = 0; i < XP_USDT_ARGUMENTS; i++) {
        u8 source = source_of(places, i);
        if (source == XP_TP_NOTHING)
            continue;
        struct tracepoint_field *f = &out->fields[out->nfields++];
        snprintf(f->name, sizeof(f->name), "arg%zu", i + 1);
        f->place = (struct xp_tp_field){.offset = (u32)(8 * i), .size = 8, .source = source};
    }
}

static u32 argument_of(const struct xp_tp_field *f)
{
    bool any = f->source == XP_TP_SIGNED || f->source == XP_TP_UNSIGNED || f->source == XP_TP_USER;
    return any ? 1u << f->offset / 8 : 0;
}

void made_note_arguments(struct xp_tp *program)
{
    program->arguments = argument_of(&program->value);
    for (u32 i = 0; i < program->nterms; i++)
        program->arguments |= argument_of(&program->terms[i].field);
}

/* ---- Its name ---------------------------------------------------------------------------------------------------- */

/* FILE may have colons, PROVIDER and NAME have none. */
static int split(const char *text, char *file, size_t len, const char **probe)
{
    const char *name = strrchr(text, ':'), *provider = name ? memrchr(text, ':', (size_t)(name - text)) : NULL;
    if (!provider || provider == text || provider + 1 == name || !name[1] || (size_t)(provider - text) >= len)
        return -EINVAL;
    snprintf(file, len, "%.*s", (int)(provider - text), text);
    *probe = provider + 1;
    return 0;
}

int made_usdt(struct event_probe *p, const struct event_choice *choice, struct tracepoint *fields, char *why,
              size_t len)
{
    char file[sizeof(p->name)], *colon;
    const char *probe;
    if (split(p->name + strlen(USDT), file, sizeof(file), &probe)) {
        snprintf(why, len, "-e %s: expected usdt:FILE:PROVIDER:NAME, such as usdt:libstdc++.so.6:libstdcxx:throw",
                 p->name);
        return -EINVAL;
    }
    int rc = choice->find_usdt ? choice->find_usdt(choice->ctx, file, probe, &p->places, why, len) : -ENOTSUP;
    if (rc)
        return rc;
    snprintf(p->type, sizeof(p->type), "%.100s", probe);
    while ((colon = strchr(p->type, ':')))
        *colon = '_';
    add_arguments(&p->places, fields);
    p->kind.probe =
        (struct probe_event){.how = PROBE_KIND, .object = "usdt", .places = &p->places, .trap_ns = USDT_TRAP_NS};
    p->kind.series = "usdt";
    return 0;
}
