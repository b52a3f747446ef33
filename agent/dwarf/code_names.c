#include "dwarf/code_names.h"
#include "elf/plt.h"
#include <errno.h>

int code_names_open(struct code_names *c, const struct elf_file *e, const struct elf_file *more, const u64 *offsets,
                    size_t n)
{
    c->e = e;
    c->symbols = reallocarray(NULL, n + 1, sizeof(*c->symbols));
    return c->symbols ? symbols_find(e, more, offsets, n, c->symbols) : -ENOMEM;
}

void code_names_close(struct code_names *c)
{
    free(c->symbols);
    cfi_free(&c->cfi);
    plt_free(&c->plt);
}

static struct name_hit symbol_hit(const struct symbol *s)
{
    return (struct name_hit){.kind = s->sized ? NAME_SIZED : NAME_LABEL,
                             .start = s->start,
                             .id = (u64)(uintptr_t)s->name,
                             .name = s->name,
                             .len = s->len};
}

static int read_cfi(struct code_names *c)
{
    if (c->have_cfi)
        return 0;
    c->have_cfi = true;
    int err = cfi_read(&c->cfi, c->e, CFI_MAX_FDES);
    return err == -ENOMEM ? err : 0; /* names without FDEs are better than none */
}

/* What no symbol and no debug information knows may be a stub of the PLT. */
static int find_stub(struct code_names *c, u64 offset, struct name_hit *out)
{
    const struct elf_segment *seg = elf_segment_of(c->e, offset, PF_X);
    size_t len;
    u64 start;
    if (!c->have_plt && plt_read(&c->plt, c->e) == -ENOMEM)
        return -ENOMEM;
    c->have_plt = true;
    const char *name = c->plt && seg ? plt_find(c->plt, offset - seg->offset + seg->vaddr, &len, &start) : NULL;
    if (name)
        *out = (struct name_hit){.kind = NAME_STUB,
                                 .start = start - seg->vaddr + seg->offset,
                                 .name = name,
                                 .len = len < SYMBOLS_MAX_NAME ? (u32)len : (u32)SYMBOLS_MAX_NAME};
    return 0;
}

int code_names_at(struct code_names *c, size_t i, u64 offset, bool named, struct name_hit *out)
{
    const struct symbol *s = &c->symbols[i];
    *out = s->name ? symbol_hit(s) : (struct name_hit){0};
    if (named || out->kind == NAME_SIZED)
        return 0;
    int err = read_cfi(c);
    if (err)
        return err;
    const struct cfi_fde *fde = cfi_fde_at(&c->cfi, offset);
    if (s->name && !(fde && fde->start > s->start))
        return 0;
    *out = fde ? (struct name_hit){.kind = NAME_FDE, .start = fde->start} : (struct name_hit){0};
    return find_stub(c, offset, out);
}
