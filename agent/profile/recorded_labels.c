#include "profile/recorded_labels.h"
#include "profile/frames.h"
#include "runtime/kinds.h"
#include <string.h>

static u8 cause_of(const char *slug)
{
    for (unsigned i = 0; i < XP_CAUSE_COUNT; i++)
        if (!strcmp(cause_slug((u8)i), slug))
            return (u8)i;
    return XP_CAUSE_END;
}

static u8 code_of(const char *slug)
{
    for (u8 i = 1; i < RUNTIME_KINDS; i++)
        if (!strcmp(runtime_kind_slug(i), slug))
            return i;
    return 0;
}

void recorded_label(const struct profile *p, u32 key, u32 text, u64 number, struct recorded_labels *out)
{
    const char *name = profile_text(p, key);
    if (!strcmp(name, "pid"))
        out->pid = (u32)number;
    else if (!strcmp(name, "process"))
        out->process = text;
    else if (!strcmp(name, "tid"))
        out->tid = (u32)number;
    else if (!strcmp(name, "nstid"))
        out->nstid = (u32)number;
    else if (!strcmp(name, "thread"))
        out->thread = text;
    else if (!strcmp(name, "holder"))
        out->holder = text;
    else if (event_is_tag(name))
        out->tag = text;
    else if (!strcmp(name, "cut"))
        out->cause = cause_of(profile_text(p, text));
    else if (!strcmp(name, "unwind"))
        out->found = found_of_slug(profile_text(p, text));
    else if (!strcmp(name, "runtime"))
        out->code = code_of(profile_text(p, text));
}
