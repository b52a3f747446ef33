#include "cfi/entry.h"
#include "cfi/leb.h"

#define MAX_CODE_FACTOR (1u << 20) /* 1 on this machine */

bool cfi_plain_pointer(u8 format, const u8 **p, const u8 *end, u64 *out)
{
    size_t left = (size_t)(end - *p), n;
    s64 s;
    switch (format) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        n = 8;
        break;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        n = 4;
        break;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        n = 2;
        break;
    case DW_EH_PE_uleb128:
        return leb_unsigned(p, end, out);
    case DW_EH_PE_sleb128:
        if (!leb_signed(p, end, &s))
            return false;
        *out = (u64)s;
        return true;
    default:
        return false;
    }
    if (left < n)
        return false;
    u64 v = cfi_load(*p, n);
    if (format == DW_EH_PE_sdata4)
        v = (u64)(s64)(s32)v;
    else if (format == DW_EH_PE_sdata2)
        v = (u64)(s64)(s16)v;
    *p += n;
    *out = v;
    return true;
}

bool cfi_pointer(const struct cfi_section *s, u8 encoding, const u8 **p, const u8 *end, u64 *out)
{
    u64 at = s->vaddr + (u64)(*p - s->data), v;
    if (encoding == DW_EH_PE_aligned) {
        size_t pad = (size_t)(-at & 7);
        if ((size_t)(end - *p) < pad)
            return false;
        *p += pad;
        return cfi_plain_pointer(DW_EH_PE_absptr, p, end, out);
    }
    if (!cfi_plain_pointer(encoding & 0x0f, p, end, &v))
        return false;
    switch (encoding & 0xf0) {
    case DW_EH_PE_absptr:
        *out = v;
        return true;
    case DW_EH_PE_pcrel:
        *out = v + at;
        return true;
    default: /* relative to text, data or function, or indirect: nobody writes them for code */
        return false;
    }
}

/* The augmentation string's letters describe the data behind the factors (LSB 5, 10.6.1.1.1). */
static bool augmentation(const struct cfi_section *s, struct cfi_cie *cie, const char *letters, const u8 *p,
                         const u8 *end)
{
    u64 ignored;
    for (; *letters; letters++) {
        u8 how;
        switch (*letters) {
        case 'R':
            if (p == end)
                return false;
            cie->encoding = *p++;
            break;
        case 'P': /* personality: its value does not matter, maybe relative to anything */
            if (p == end)
                return false;
            how = *p++;
            if (how != DW_EH_PE_omit && !cfi_pointer(s, how == DW_EH_PE_aligned ? how : how & 0x0f, &p, end, &ignored))
                return false;
            break;
        case 'L':
            if (p == end)
                return false;
            p++;
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'B': /* pointer authentication and memory tags: other machines */
        case 'G':
            break;
        default: /* unknown: its data has a length, so what follows is still found */
            return true;
        }
    }
    return true;
}

/* Behind the id: version, augmentation string, (address and segment size), factors, return address column. */
static bool cie_body(const struct cfi_section *s, struct cfi_cie *cie, const u8 *p, const u8 *end)
{
    u64 ra, len;
    u8 version = p < end ? *p++ : 0;
    const char *letters = (const char *)p;
    const u8 *nul = memchr(p, 0, (size_t)(end - p));
    if (!nul || (version != 1 && version != 3 && version != 4))
        return false;
    p = nul + 1;
    if (!strcmp(letters, "eh")) { /* gcc 2: a pointer of no use */
        letters += 2;
        if (end - p < 8)
            return false;
        p += 8;
    }
    if (version == 4) {
        if (end - p < 2 || p[0] != 8 || p[1] != 0)
            return false;
        p += 2;
    }
    if (!leb_unsigned(&p, end, &cie->code_factor) || !leb_signed(&p, end, &cie->data_factor) || p == end ||
        cie->code_factor > MAX_CODE_FACTOR)
        return false;
    if (version == 1)
        ra = *p++;
    else if (!leb_unsigned(&p, end, &ra))
        return false;
    if (ra != DW_RA)
        return false;
    if (*letters == 'z') {
        if (!leb_unsigned(&p, end, &len) || len > (size_t)(end - p) || !augmentation(s, cie, letters + 1, p, p + len))
            return false;
        cie->sized = true;
        p += len;
    } else if (*letters) {
        return false; /* nobody can tell where the instructions begin */
    }
    cie->ins = p;
    cie->end = end;
    return true;
}

void cfi_parse_cie(const struct cfi *c, u64 offset, struct cfi_cie *cie)
{
    const struct cfi_section *s = &c->section[cie->section];
    struct cfi_entry e;
    if (offset >= s->len || cfi_read_entry(s->data + offset, s->data + s->len, s->debug, &e) != 1 ||
        e.value != (s->debug ? ~0ull : 0) || e.next - e.body > CFI_MAX_CIE)
        return;
    cie->usable = cie_body(s, cie, e.body, e.next) && !cfi_run_initial(c, cie);
}

bool cfi_program(const struct cfi *c, const struct cfi_fde *f, const u8 **ins, const u8 **end)
{
    const struct cfi_cie *cie = &c->cies.v[f->cie];
    const struct cfi_section *s = &c->section[cie->section];
    struct cfi_entry e;
    u64 at, len, skip;
    if (cfi_read_entry(s->data + f->at, s->data + s->len, s->debug, &e) != 1)
        return false;
    const u8 *p = e.body;
    if (!cfi_fde_range(s, cie, &p, e.next, &at, &len))
        return false;
    if (cie->sized) {
        if (!leb_unsigned(&p, e.next, &skip) || skip > (size_t)(e.next - p))
            return false;
        p += skip;
    }
    *ins = p;
    *end = e.next;
    return true;
}
