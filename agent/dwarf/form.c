/* Forms (DWARF 5, 7.5.6): how the value of an attribute is written. */
#include "dwarf/file.h"
#include <dwarf.h>

int dwarf_form_size(unsigned form, const struct dwarf_unit *u, u8 *var)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return u->address_size;
    case DW_FORM_ref_addr:
        return u->version == 2 ? u->address_size : u->offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return u->offset_size;
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        *var = VAR_LEB;
        return -1;
    case DW_FORM_string:
        *var = VAR_STRING;
        return -1;
    case DW_FORM_block1:
        *var = VAR_BLOCK1;
        return -1;
    case DW_FORM_block2:
        *var = VAR_BLOCK2;
        return -1;
    case DW_FORM_block4:
        *var = VAR_BLOCK4;
        return -1;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        *var = VAR_BLOCK;
        return -1;
    case DW_FORM_indirect:
        *var = VAR_INDIRECT;
        return -1;
    }
    return -2;
}

/* The form that DW_FORM_indirect names; those that need more than the value itself are refused. */
static unsigned indirect_form(struct cursor *c)
{
    u64 form = read_uleb(c);
    if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > 0xffff)
        c->bad = true;
    return c->bad ? DW_FORM_flag_present : (unsigned)form;
}

void dwarf_value_skip(struct cursor *c, const struct dwarf_unit *u, unsigned var)
{
    u8 inner = VAR_END;
    switch (var) {
    case VAR_LEB:
        while (c->pos < c->len && c->base[c->pos] & 0x80)
            c->pos++;
        read_skip(c, 1);
        break;
    case VAR_STRING:
        cursor_str(c);
        break;
    case VAR_BLOCK1:
        read_skip(c, cursor_u8(c));
        break;
    case VAR_BLOCK2:
        read_skip(c, cursor_u16(c));
        break;
    case VAR_BLOCK4:
        read_skip(c, cursor_u32(c));
        break;
    case VAR_BLOCK:
        read_skip(c, read_uleb(c));
        break;
    case VAR_INDIRECT: {
        int size = dwarf_form_size(indirect_form(c), u, &inner);
        if (size >= 0)
            read_skip(c, (u64)size);
        else if (size == -1)
            dwarf_value_skip(c, u, inner); /* never indirect again */
        else
            c->bad = true;
    }
    }
}

const char *dwarf_indexed_string(const struct dwarf_file *d, const struct dwarf_unit *u, u64 i)
{
    const struct elf_bytes *b = &d->sec[SEC_STR_OFFSETS];
    struct cursor c = cursor_of(b->data, b->len);
    read_seek(&c, i <= b->len && u->str_base <= b->len ? u->str_base + i * u->offset_size : UINT64_MAX);
    u64 off = read_uint(&c, u->offset_size);
    return c.bad ? NULL : dwarf_string(&d->sec[SEC_STR], off);
}

bool dwarf_indexed_address(const struct dwarf_file *d, const struct dwarf_unit *u, u64 i, u64 *out)
{
    const struct elf_bytes *b = &dwarf_linked(d)->sec[SEC_ADDR];
    struct cursor c = cursor_of(b->data, b->len);
    read_seek(&c, i <= b->len && u->addr_base <= b->len ? u->addr_base + i * u->address_size : UINT64_MAX);
    *out = read_uint(&c, u->address_size);
    return !c.bad;
}

static struct dwarf_value number(u64 n)
{
    return (struct dwarf_value){.kind = VAL_NUMBER, .n = n};
}
static struct dwarf_value text(const char *s)
{
    return (struct dwarf_value){.kind = VAL_STRING, .s = s};
}
static struct dwarf_value reference(struct dwarf_file *d, u64 off)
{
    return (struct dwarf_value){.kind = d ? VAL_REFERENCE : VAL_NONE, .n = off, .file = d};
}
static struct dwarf_value indexed_address(const struct dwarf_file *d, const struct dwarf_unit *u, u64 i)
{
    struct dwarf_value v = {.kind = VAL_ADDRESS};
    if (!dwarf_indexed_address(d, u, i, &v.n))
        v.kind = VAL_NONE;
    return v;
}

/* Strings and addresses. False: another class. */
static bool read_text_or_address(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u, unsigned form,
                                 struct dwarf_value *out)
{
    switch (form) {
    case DW_FORM_addr:
        *out = (struct dwarf_value){.kind = VAL_ADDRESS, .n = read_uint(c, u->address_size)};
        return true;
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        *out = indexed_address(d, u, read_uleb(c));
        return true;
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
        *out = indexed_address(d, u, read_uint(c, form - DW_FORM_addrx1 + 1));
        return true;
    case DW_FORM_string:
        *out = text(cursor_str(c));
        return true;
    case DW_FORM_strp:
        *out = text(dwarf_string(&d->sec[SEC_STR], read_uint(c, u->offset_size)));
        return true;
    case DW_FORM_line_strp:
        *out = text(dwarf_string(&d->sec[SEC_LINE_STR], read_uint(c, u->offset_size)));
        return true;
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup: {
        u64 off = read_uint(c, u->offset_size);
        *out = text(d->alt ? dwarf_string(&d->alt->sec[SEC_STR], off) : NULL);
        return true;
    }
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
        *out = text(dwarf_indexed_string(d, u, read_uleb(c)));
        return true;
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        *out = text(dwarf_indexed_string(d, u, read_uint(c, form - DW_FORM_strx1 + 1)));
        return true;
    }
    return false;
}

static bool read_reference(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u, unsigned form,
                           struct dwarf_value *out)
{
    switch (form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
        *out = reference(d, u->off + read_uint(c, (unsigned)dwarf_form_size(form, u, NULL)));
        return true;
    case DW_FORM_ref_udata:
        *out = reference(d, u->off + read_uleb(c));
        return true;
    case DW_FORM_ref_addr:
        *out = reference(d, read_uint(c, u->version == 2 ? u->address_size : u->offset_size));
        return true;
    case DW_FORM_GNU_ref_alt:
        *out = reference(d->alt, read_uint(c, u->offset_size));
        return true;
    case DW_FORM_ref_sup4:
        *out = reference(d->alt, cursor_u32(c));
        return true;
    case DW_FORM_ref_sup8:
        *out = reference(d->alt, cursor_u64(c));
        return true;
    }
    return false;
}

struct dwarf_value dwarf_value_read(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u, unsigned form,
                                    s64 implicit)
{
    struct dwarf_value v = {0};
    u8 var = VAR_END;
    if (form == DW_FORM_indirect)
        form = indirect_form(c);
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_flag:
        return number(cursor_u8(c));
    case DW_FORM_data2:
        return number(cursor_u16(c));
    case DW_FORM_data4:
        return number(cursor_u32(c));
    case DW_FORM_data8:
        return number(cursor_u64(c));
    case DW_FORM_udata:
        return number(read_uleb(c));
    case DW_FORM_sdata:
        return number((u64)read_sleb(c));
    case DW_FORM_implicit_const:
        return number((u64)implicit);
    case DW_FORM_flag_present:
        return number(1);
    case DW_FORM_sec_offset:
        return (struct dwarf_value){.kind = VAL_OFFSET, .n = read_uint(c, u->offset_size)};
    case DW_FORM_rnglistx:
        return (struct dwarf_value){.kind = VAL_LIST_INDEX, .n = read_uleb(c)};
    }
    if (read_reference(c, d, u, form, &v) || read_text_or_address(c, d, u, form, &v))
        return v;
    int size = dwarf_form_size(form, u, &var);
    if (size >= 0)
        read_skip(c, (u64)size);
    else if (size == -1)
        dwarf_value_skip(c, u, var);
    else
        c->bad = true;
    return v;
}
