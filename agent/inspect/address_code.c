/* Generated code of a living process: its unwind information, and its virtual machine. */
#include "base/cleanup.h"
#include "generated/generated.h"
#include "inspect/address_space_internal.h"
#include "parser/parser.h"
#include "proc/proc.h"
#include <errno.h>

/* Takes what is known of the runtime. False: there is none. */
static bool fetch_machine(struct address_space *s)
{
    if (binaries_attach(s->binaries, s->tid, &s->machine))
        s->machine.kind = XP_MACHINE_NONE;
    for (size_t i = 0; s->machine.kind == XP_MACHINE_JVM && i < s->vmas.n; i++) {
        struct xp_vma *m = &s->vmas.v[i];
        if (!m->file.id && XP_JVM_MEETS(&s->machine.jvm, m))
            m->file.state = XP_FILE_JVM;
    }
    return s->machine.kind;
}

/* 0 or an error. */
static int read_code(struct address_space *s, struct parser_reply *reply, struct generated *out)
{
    AUTO_CLOSE int mem = proc_open(s->tid, "mem");
    AUTO_CLOSE int maps = proc_open(s->tid, "maps");
    AUTO_CLOSE int program = proc_open(s->tid, "exe");
    if (mem < 0 || maps < 0)
        return -ESRCH;
    int rc = binaries_generated(s->binaries, mem, maps, program, reply);
    return rc ? rc : generated_open(reply->data, reply->len, out);
}

static void load_code(struct address_space *s, const struct generated *code)
{
    for (size_t i = 0; i < s->vmas.n; i++)
        for (size_t k = 0; k < code->nregions; k++) {
            struct xp_vma *m = &s->vmas.v[i];
            if (m->file.id || m->start != code->regions[k].start ||
                address_space_load(s, code->regions[k].image, &m->file))
                continue;
            m->bias = m->start;
            m->file.flags |= XP_FILE_GENERATED;
        }
}

bool address_space_fetch_code(struct address_space *s, const struct xp_state *state)
{
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct generated code;
    bool any = false, loop = state->sample.flags & XP_SAMPLE_RUNTIME;
    for (u32 i = 0; i < state->sample.nuser; i++)
        any |= XP_WORD_KIND(state->words[i]) == XP_WORD_ANON;
    if ((any || loop) && !s->runtime_sought) {
        s->runtime_sought = true;
        if (fetch_machine(s))
            return true;
    }
    if (!any || s->code_read || s->machine.kind == XP_MACHINE_JVM)
        return false;
    s->code_read = true;
    if (read_code(s, &reply, &code))
        return false;
    load_code(s, &code);
    return true;
}
