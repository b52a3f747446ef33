#include "dwarf/data_names.h"
#include "base/cleanup.h"
#include "elf/symbols.h"
#include <errno.h>
#include <string.h>

#define NOWHERE UINT64_MAX /* no address of a variable */
#define HEAP    "heap"

static int ascending(const void *a, const void *b)
{
    const u64 *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

int data_names_find(const struct elf_file *e, const struct elf_file *more, const u64 *offsets, size_t n,
                    struct data_name *out)
{
    AUTO_FREE u64 *sorted = reallocarray(NULL, n + 1, sizeof(*sorted));
    AUTO_FREE struct symbol *symbols = reallocarray(NULL, n + 1, sizeof(*symbols));
    size_t known = 0;
    if (!sorted || !symbols)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct data_name){.address = NOWHERE};
        if (elf_data_address(e, offsets[i], &out[i].address))
            sorted[known++] = out[i].address;
    }
    qsort(sorted, known, sizeof(*sorted), ascending); /* addresses need not ascend as offsets do */
    int err = symbols_find_data(e, more, sorted, known, symbols);
    for (size_t i = 0; i < n && !err; i++) {
        if (out[i].address ==
            NOWHERE) { /* other memory begins where .bss ends, and the kernel makes one mapping of both */
            out[i] = (struct data_name){.address = offsets[i], .name = HEAP, .len = strlen(HEAP)};
            continue;
        }
        const u64 *at = bsearch(&out[i].address, sorted, known, sizeof(*sorted), ascending);
        const struct symbol *s = at ? &symbols[at - sorted] : NULL;
        if (s && s->name) {
            out[i].name = s->name;
            out[i].len = s->len;
            out[i].into = out[i].address - s->start;
        }
    }
    return err;
}
