#include "cfi/loops.h"
#include "base/cleanup.h"
#include "elf/dynamic.h"
#include "elf/symbols.h"
#include <string.h>

#define MAX_SYMBOLS (1u << 20)

static const char *const NAMES[] = {"_PyEval_EvalFrameDefault"}; /* CPython: Python/ceval.c */

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

void loops_find(const struct elf_file *e, struct loops *out)
{
    *out = (struct loops){0};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++) {
        Elf64_Sym sym;
        if (!elf_dynamic_symbol(e, NAMES[i], &sym))
            continue;
        const struct elf_segment *l = elf_segment_at(e, sym.st_value, PF_X);
        u64 start = l ? sym.st_value - l->vaddr + l->offset : 0;
        add(out, start, l ? start + sym.st_size : 0);
        add_parts(e, NAMES[i], out);
    }
}
