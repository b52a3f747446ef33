/* Names of the frames of runtimes, which consist of two words: the runtime's reader knows what they are (struct
 * name_source.runtime). */
#include "base/cleanup.h"
#include "parser/parser.h"
#include "profile/runtime_mappings.h"
#include "profile/strings.h"
#include "profile/symbolize_internal.h"
#include "runtime/kinds.h"

#define FROZEN "[virtual thread: frozen callers]"

struct job { /* the frames of one process */
    struct naming *n;
    const u32 *rows;
    size_t nrows;
    u32 mapping;
    bool named;
};

static void add_line(struct job *j, struct prof_location *l, const struct names *names, const struct names_frame *f)
{
    struct profile *p = j->n->out;
    struct prof_function function = {
        .name = profile_string(p, names->strings + f->name),
        .system_name = profile_string(p, names->strings + f->system_name),
        .file = profile_string(p, names->strings + f->file),
    };
    if (!function.name)
        return;
    naming_line(j->n, l, &function, f->line);
    if (!j->n->failed && f->start < RUNTIME_KINDS)
        p->lines.v[p->lines.n - 1].code = (u8)f->start;
}

static void use_names(void *arg, const struct names *names)
{
    struct job *j = arg;
    if (j->named || names->n != j->nrows || j->n->failed)
        return;
    j->named = true;
    for (size_t i = 0; i < j->nrows; i++)
        for (u32 f = names->first[i]; f < names->first[i + 1]; f++)
            add_line(j, &j->n->out->locations.v[j->rows[i]], names, &names->frames[f]);
    if (!j->n->failed)
        j->n->out->mappings.v[j->mapping].has_functions = true;
}

static void ask(struct job *j, u32 owner)
{
    const struct name_source *src = j->n->src;
    const struct prof_process *who = &j->n->out->processes.v[owner];
    AUTO_FREE u64 *words = calloc(2 * j->nrows + 1, sizeof(*words));
    j->n->failed |= !words;
    if (!words)
        return;
    for (size_t i = 0; i < j->nrows; i++) {
        words[2 * i] = j->n->words.v[j->rows[i]];
        words[2 * i + 1] = j->n->more.v[j->rows[i]];
    }
    src->runtime(src->ctx, who->tgid, who->start, words, j->nrows, use_names, j);
}

/* Machine code of V8 is where its function is not. */
static u64 address_of(u64 word, u64 more)
{
    bool compiled = XP_WORD_KIND(word) == XP_WORD_V8 && XP_V8_FORM(word) == XP_V8_COMPILED;
    return compiled ? XP_V8_PC(more) : XP_WORD_ADDR(word) + XP_MORE_POSITION(more);
}

static const char *unnamed(u64 word)
{
    if (XP_WORD_KIND(word) != XP_WORD_JAVA)
        return runtime_mapping(word);
    return XP_JAVA_FORM(word) == XP_JAVA_FROZEN ? FROZEN : "[java]";
}

void naming_runtime(struct naming *n, u32 owner, const u32 *rows, size_t nrows)
{
    struct job j = {.n = n, .rows = rows, .nrows = nrows};
    const char *mapping = runtime_mapping(nrows ? n->words.v[rows[0]] : 0); /* a process has one runtime */
    j.mapping = naming_mapping(n, mapping, "", false);
    for (size_t i = 0; i < nrows && !n->failed; i++) {
        struct prof_location *l = &n->out->locations.v[rows[i]];
        naming_put(n, l, j.mapping, address_of(n->words.v[rows[i]], n->more.v[rows[i]]), 0);
        l->origin = FRAME_JIT;
    }
    if (!n->failed && n->src->runtime && owner != NOBODYS)
        ask(&j, owner);
    for (size_t i = 0; i < nrows && !n->failed; i++) {
        struct prof_location *l = &n->out->locations.v[rows[i]];
        if (!l->nlines)
            naming_plain_line(n, l, unnamed(n->words.v[rows[i]]));
    }
}
