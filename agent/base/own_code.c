#include "base/own_code.h"
#include <link.h>

struct search {
    uintptr_t address;
    uint64_t offset;
};

/* The first object is the program itself. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct search *s = ctx;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && s->address >= from && s->address - from < h->p_filesz)
            s->offset = s->address - from + h->p_offset;
    }
    return 1;
}

uint64_t own_code_offset(uintptr_t address)
{
    struct search s = {.address = address};
    dl_iterate_phdr(find_offset, &s);
    return s.offset;
}
