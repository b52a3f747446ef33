#include "dwarf/file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#define DROP_EVERY (4 << 20) /* bytes of the file; four times as many when they are not compressed */
#define MIN_HEADER 11        /* bytes of the smallest unit header */

static const char *const names[SEC_COUNT] = {
    [SEC_INFO] = "info",         [SEC_ABBREV] = "abbrev",           [SEC_STR] = "str",
    [SEC_LINE_STR] = "line_str", [SEC_STR_OFFSETS] = "str_offsets", [SEC_ADDR] = "addr",
    [SEC_RANGES] = "ranges",     [SEC_RNGLISTS] = "rnglists",       [SEC_LINE] = "line",
};

bool dwarf_look_at_clock(struct dwarf_file *d)
{
    d->work = 0;
    d->late |= d->deadline_ns && clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= d->deadline_ns;
    return !d->late;
}

bool dwarf_is_code(const struct dwarf_file *d, u64 address)
{
    for (size_t i = 0; i < d->exec.n; i++)
        if (address >= d->exec.v[i].lo && address < d->exec.v[i].hi)
            return true;
    return false;
}

const char *dwarf_string(const struct elf_bytes *b, u64 off)
{
    if (off >= b->len)
        return NULL;
    if (b->data[b->len - 1] && !memchr(b->data + off, 0, b->len - off)) /* nearly always the section ends with one */
        return NULL;
    return (const char *)b->data + off;
}

bool dwarf_is_lasting(const struct dwarf_file *d, const char *s)
{
    const u8 *p = (const u8 *)s;
    return !d->stream || p < d->window.v || p >= d->window.v + d->window.n;
}

/* ---- Sections --------------------------------------------------------------------------------------------------- */

static int read_exec(struct dwarf_file *d, const struct elf_file *e)
{
    struct elf_section s;
    for (u32 i = 0; i < e->shnum; i++) {
        if (!elf_section_at(e, i, &s) || !(s.flags & SHF_EXECINSTR) || s.addr + s.memory <= s.addr)
            continue;
        struct dwarf_exec *x = d->exec.n < 4096 ? VEC_PUSH(&d->exec) : NULL;
        if (!x)
            return -ENOMEM;
        *x = (struct dwarf_exec){s.addr, s.addr + s.memory};
    }
    return 0;
}

/* Whole, or what is left of it. -EBADMSG: it is compressed, and damaged. */
static int read_whole(struct dwarf_file *d, const struct elf_file *e, enum dwarf_section id,
                      const struct elf_section *s)
{
    int err = elf_section_bytes(s, DWARF_MAX_SECTION, &d->sec[id]);
    if (!err && id == SEC_INFO)
        d->info_size = d->sec[id].len;
    if (!err && d->sec[id].owned)
        elf_have_read(e, s->data, s->len);
    return err;
}

static int read_stream(struct dwarf_file *d, const struct elf_section *s)
{
    d->dropped = s->data;
    return elf_stream_new(&d->stream, s, DWARF_MAX_SECTION, &d->info_size);
}

static int read_section(struct dwarf_file *d, const struct elf_file *e, enum dwarf_section id, u64 whole_bytes)
{
    char name[32];
    struct elf_section s;
    snprintf(name, sizeof(name), "%s%s", names[id], d->skeleton ? ".dwo" : "");
    if (!elf_debug_section(e, name, &s) || s.type == SHT_NOBITS)
        return 0;
    if (id != SEC_INFO || whole_bytes == DWARF_ANY_SIZE || !(s.flags & SHF_COMPRESSED))
        return read_whole(d, e, id, &s);
    int err = read_stream(d, &s);
    if (err || d->info_size > whole_bytes)
        return err;
    elf_stream_free(&d->stream);
    d->dropped = NULL;
    err = read_whole(d, e, id, &s);
    return err == -EBADMSG ? read_stream(d, &s) : err;
}

/* Objects and kernel modules hold addresses that a linker has yet to fill in; what dwz makes only looks like one. */
static bool needs_linking(const struct elf_file *e)
{
    struct elf_section s;
    return e->type == ET_REL && (elf_section(e, ".rela.debug_info", &s) || elf_section(e, ".rel.debug_info", &s));
}

/* ---- Units ------------------------------------------------------------------------------------------------------ */

/* DWARF 5, 7.5.1. The cursor is at the header and ends with what there is of the section. */
static int read_header(struct cursor *c, u64 at, struct dwarf_unit *u)
{
    *u = (struct dwarf_unit){.off = at + c->pos, .offset_size = 4};
    u64 len = cursor_u32(c);
    if (len == 0xffffffff) {
        len = cursor_u64(c);
        u->offset_size = 8;
    }
    if (c->bad || len < 7 || len > DWARF_MAX_SECTION)
        return -EBADMSG;
    u->end = at + c->pos + len;
    u->version = cursor_u16(c);
    unsigned type = DW_UT_compile;
    if (u->version >= 5) {
        type = cursor_u8(c);
        u->address_size = cursor_u8(c);
        u->abbrev_off = read_uint(c, u->offset_size);
        if (type == DW_UT_skeleton || type == DW_UT_split_compile)
            u->dwo_id = cursor_u64(c);
    } else {
        u->abbrev_off = read_uint(c, u->offset_size);
        u->address_size = cursor_u8(c);
    }
    u->die = at + c->pos;
    u->readable = u->version >= 2 && u->version <= 5 && (u->address_size == 8 || u->address_size == 4) &&
                  u->die <= u->end && type != DW_UT_type && type != DW_UT_split_type;
    return c->bad ? -EBADMSG : 0;
}

/* All units that are whole; a damaged tail costs itself only. */
static int list_units(struct dwarf_file *d)
{
    const struct elf_bytes *info = &d->sec[SEC_INFO];
    struct cursor c = cursor_of(info->data, info->len);
    struct dwarf_unit u;
    while (cursor_left(&c) >= MIN_HEADER && !read_header(&c, 0, &u) && u.end <= info->len) {
        if (d->units.n >= DWARF_MAX_UNITS)
            return -ENOSPC;
        struct dwarf_unit *place = VEC_PUSH(&d->units);
        if (!place)
            return -ENOMEM;
        *place = u;
        read_seek(&c, u.end);
    }
    return 0;
}

/* Makes the next n bytes of the stream the end of the window. */
static int extend_window(struct dwarf_file *d, size_t n)
{
    if (VEC_RESERVE(&d->window, d->window.n + n))
        return -ENOMEM;
    int err = elf_stream_read(d->stream, d->window.v + d->window.n, n);
    if (err)
        return err;
    d->window.n += n;
    if (elf_stream_at(d->stream) - d->dropped >= DROP_EVERY) {
        elf_have_read(d->e, d->dropped, (size_t)(elf_stream_at(d->stream) - d->dropped));
        d->dropped = elf_stream_at(d->stream);
    }
    return 0;
}

/* Bytes of the unit whose length field is next in the stream, that field included, which is now in the window. */
static int read_length(struct dwarf_file *d, u64 *total)
{
    int err = extend_window(d, 4);
    u64 len = err ? 0 : read_uint(&(struct cursor){.base = d->window.v, .len = 4}, 4);
    if (!err && len == 0xffffffff) {
        err = extend_window(d, 8);
        len = err ? 0 : read_uint(&(struct cursor){.base = d->window.v, .pos = 4, .len = 12}, 8);
    }
    *total = d->window.n + (len < DWARF_MAX_SECTION ? len : DWARF_MAX_SECTION);
    return err;
}

/* The unit behind the window becomes the window. */
static int next_in_stream(struct dwarf_file *d)
{
    u64 at = d->window_at + d->window.n, total;
    struct dwarf_unit u;
    if (d->info_size - at < MIN_HEADER)
        return -ENODATA;
    d->window_at = at;
    d->window.n = 0;
    int err = read_length(d, &total);
    if (!err)
        err = total > d->info_size - at ? -EBADMSG : extend_window(d, (size_t)total - d->window.n);
    if (err)
        return err;
    struct cursor c = cursor_of(d->window.v, d->window.n);
    err = read_header(&c, at, &u);
    if (err)
        return err;
    d->units.n = 0;
    struct dwarf_unit *place = VEC_PUSH(&d->units);
    if (!place)
        return -ENOMEM;
    *place = u;
    return 0;
}

/* Units in front of `off` have been read; who refers to them has their pages read again. */
static void leave_behind(struct dwarf_file *d, u64 off)
{
    const u8 *at = d->sec[SEC_INFO].data + off;
    if (!d->dropped)
        d->dropped = d->sec[SEC_INFO].data;
    if (at - d->dropped < 4 * DROP_EVERY)
        return;
    elf_have_read(d->e, d->dropped, (size_t)(at - d->dropped)); /* nothing, when it was inflated */
    d->dropped = at;
}

int dwarf_file_next(struct dwarf_file *d, struct dwarf_unit **out)
{
    if (d->stream) {
        int err = next_in_stream(d);
        if (err)
            return err;
        d->next_unit = 0;
    }
    if (d->next_unit >= d->units.n)
        return -ENODATA;
    *out = &d->units.v[d->next_unit++];
    if (!d->stream)
        leave_behind(d, (*out)->off);
    return 0;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_file *d, u64 off)
{
    size_t lo = 0, hi = d->units.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->units.v[mid].end <= off)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct dwarf_unit *u = lo < d->units.n ? &d->units.v[lo] : NULL;
    if (d->stream && (!u || off < u->off))
        d->strayed = true;
    return u && off >= u->die && u->readable ? u : NULL;
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

int dwarf_file_open(struct dwarf_file *d, const struct elf_file *e, struct dwarf_file *skeleton, u64 whole_bytes)
{
    CLEANUP(dwarf_file_close) struct dwarf_file f = {.e = e, .skeleton = skeleton};
    if (needs_linking(e))
        return -ENOTSUP;
    int err = read_exec(&f, e);
    for (int i = 0; i < SEC_COUNT && !err; i++)
        err = read_section(&f, e, i, whole_bytes);
    if (!err && !f.info_size)
        err = -ENODATA;
    if (!err && !f.stream)
        err = list_units(&f);
    if (err)
        return err;
    *d = f;
    f = (struct dwarf_file){0};
    return 0;
}

void dwarf_file_close(struct dwarf_file *d)
{
    for (int i = 0; i < SEC_COUNT; i++)
        elf_bytes_free(&d->sec[i]);
    for (int i = 0; i < DWARF_ABBREV_SLOTS; i++)
        dwarf_abbrevs_put(&d->slots[i]);
    for (int i = 0; i < DWARF_SCOPE_SLOTS; i++)
        vec_free(&d->scopes[i].v);
    elf_stream_free(&d->stream);
    vec_free(&d->exec);
    vec_free(&d->units);
    vec_free(&d->window);
    *d = (struct dwarf_file){0};
}
