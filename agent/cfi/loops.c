#include "cfi/loops.h"
#include "base/cleanup.h"
#include "cfi/labels.h"
#include "elf/dynamic.h"
#include "elf/symbols.h"
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOLS (1u << 20)

#define RUBY_LABELS 128 /* instructions: Ruby 2.5 has 194 with their traced forms, and each one since more */

static const struct {
    u32 language;
    const char *name;
} NAMES[] = {
    {XP_LANGUAGE_PYTHON, "_PyEval_EvalFrameDefault"}, /* CPython: Python/ceval.c */
    {XP_LANGUAGE_PHP, "execute_ex"},                  /* Zend/zend_vm_execute.h */
    {XP_LANGUAGE_PERL, "Perl_runops_standard"},       /* run.c */
    {XP_LANGUAGE_PERL, "Perl_runops_debug"},          /* dump.c */
};
/* What Ruby exports for those that embed it (include/ruby/internal/interpreter.h); its loop is vm_exec_core. */
#define RUBY "ruby_run_node"

static void add(struct loops *to, u64 start, u64 end)
{
    if (to->n < LOOPS_MAX && start < end)
        to->v[to->n++] = (struct loop){start, end};
}

/* Parts that a compiler made of the function, or copies of it: NAME.part.0, NAME.cold, NAME.lto_priv.0. */
static bool is_part(const struct symbol *s, const char *name)
{
    size_t len = strlen(name);
    return s->name && s->len > len && !memcmp(s->name, name, len) && s->name[len] == '.';
}

static void add_parts(const struct elf_file *e, const char *name, struct loops *to)
{
    AUTO_FREE struct symbol *all = NULL;
    size_t n = 0;
    if (symbols_list(e, NULL, MAX_SYMBOLS, &all, &n))
        return;
    for (size_t i = 0; i < n; i++)
        if (is_part(&all[i], name))
            add(to, all[i].start, all[i].end);
}

static void add_named(const struct elf_file *e, const char *name, struct loops *to)
{
    Elf64_Sym sym;
    if (!elf_dynamic_symbol(e, name, &sym))
        return;
    const struct elf_segment *l = elf_segment_at(e, sym.st_value, PF_X);
    u64 start = l ? sym.st_value - l->vaddr + l->offset : 0;
    add(to, start, l ? start + sym.st_size : 0);
    add_parts(e, name, to);
}

static void add_handlers(const struct elf_file *e, struct loops *to)
{
    u64 starts[LABELS_MAX];
    size_t n = labels_handlers(e, starts);
    if (!n)
        return;
    *to = (struct loops){.language = XP_LANGUAGE_PYTHON_CALLS};
    for (size_t i = 0; i < n; i++)
        add(to, starts[i], starts[i] + 1);
}

static int by_start(const void *a, const void *b)
{
    const struct loop *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void loops_find(const struct elf_file *e, struct loops *out)
{
    u64 start, end;
    *out = (struct loops){0};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++)
        if (!out->n || out->language == NAMES[i].language) {
            out->language = NAMES[i].language;
            add_named(e, NAMES[i].name, out);
        }
    if (out->n && out->language == XP_LANGUAGE_PYTHON)
        add_handlers(e, out);
    if (!out->n && elf_has_dynamic_symbol(e, RUBY) && labels_function(e, RUBY_LABELS, &start, &end)) {
        out->language = XP_LANGUAGE_RUBY;
        add(out, start, end);
    }
    out->language = out->n ? out->language : 0;
    qsort(out->v, out->n, sizeof(*out->v), by_start);
}
