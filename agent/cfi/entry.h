/* Reads CIEs and FDEs from their section. For cfi.c and cfi_entry.c. */
#pragma once
#include "cfi/cfi.h"
#include <dwarf.h>

static inline u64 cfi_load(const u8 *p, unsigned n)
{
    u64 v = 0;
    memcpy(&v, p, n);
    return v;
}

struct cfi_entry { /* the common part of a CIE or FDE */
    const u8 *id, *body, *next;
    u64 value; /* value of the ID: for a CIE 0 (.eh_frame) or all ones (.debug_frame) */
};

/* Returns 1: an entry; 0: the terminator (next is after it); -1: malformed. */
static inline int cfi_read_entry(const u8 *p, const u8 *end, bool debug, struct cfi_entry *e)
{
    if (end - p < 4)
        return -1;
    u64 len = cfi_load(p, 4);
    unsigned n = 4;
    p += 4;
    if (len == 0xffffffff) { /* 64-bit DWARF */
        if (end - p < 8)
            return -1;
        len = cfi_load(p, 8);
        p += 8;
        n = 8;
    }
    e->next = p;
    if (!len)
        return 0;
    if (len < n || len > (size_t)(end - p))
        return -1;
    e->id = p;
    e->body = p + n;
    e->next = p + len;
    e->value = cfi_load(p, n);
    if (debug && n == 4 && e->value == 0xffffffff)
        e->value = ~0ull;
    return 1;
}

/* Reads only the value, by the lower half of the encoding (LSB 5, 10.5.1). */
bool cfi_plain_pointer(u8 format, const u8 **p, const u8 *end, u64 *out);
/* Parses the CIE at an offset of its section. Sets `usable` if all of it is valid. */
void cfi_parse_cie(const struct cfi *c, u64 offset, struct cfi_cie *cie);

/* Reads the range of code that an FDE covers and advances *p. */
static inline bool cfi_fde_range(const struct cfi_section *s, const struct cfi_cie *cie, const u8 **p, const u8 *end,
                                 u64 *at, u64 *len)
{
    if (!cie->usable || end - *p > INT32_MAX)
        return false;
    if (cie->encoding == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) && end - *p >= 8) { /* what linkers write */
        *at = s->vaddr + (u64)(*p - s->data) + (u64)(s64)(s32)cfi_load(*p, 4);
        *len = cfi_load(*p + 4, 4);
        *p += 8;
        return true;
    }
    u8 format = cie->encoding == DW_EH_PE_aligned ? DW_EH_PE_absptr : cie->encoding & 0x07; /* without sign */
    return cfi_pointer(s, cie->encoding, p, end, at) && cfi_plain_pointer(format, p, end, len);
}
