#include "dwarf/split.h"
#include "base/cleanup.h"
#include <dwarf.h>
#include <errno.h>
#include <unistd.h>

#define MAX_COLUMNS 16 /* of a package's index; eight are defined */

/* Sections by number in the index; the numbers up to 6 are those of GNU's version 2, too. */
enum column { COLUMN_INFO = 1, COLUMN_ABBREV = 3, COLUMN_STR_OFFSETS = 6, COLUMN_RNGLISTS = 8, COLUMN_COUNT };

/* ---- Packages --------------------------------------------------------------------------------------------------- */

struct package_index { /* .debug_cu_index: a hash table of ids, then a row of offsets for each unit */
    struct cursor c;
    u32 version, columns, units, slots;
};

static bool open_index(const struct elf_file *e, struct package_index *x)
{
    struct elf_section s;
    if (!elf_section(e, ".debug_cu_index", &s) || s.flags & SHF_COMPRESSED)
        return false;
    x->c = cursor_of(s.data, s.len);
    x->version = cursor_u16(&x->c); /* four bytes in version 2 */
    cursor_u16(&x->c);
    x->columns = cursor_u32(&x->c);
    x->units = cursor_u32(&x->c);
    x->slots = cursor_u32(&x->c);
    return !x->c.bad && (x->version == 2 || x->version == 5) && x->columns <= MAX_COLUMNS && x->slots &&
           !(x->slots & (x->slots - 1)) && x->slots <= s.len && x->units <= x->slots;
}

static u64 number_at(const struct package_index *x, u64 at, unsigned size)
{
    struct cursor c = x->c;
    read_seek(&c, at);
    return read_uint(&c, size); /* 0 outside */
}

/* Row of the unit with this id, counted from 1; 0: none. */
static u32 find_row(const struct package_index *x, u64 id)
{
    u32 mask = x->slots - 1, h = (u32)id & mask, step = ((u32)(id >> 32) & mask) | 1;
    for (u32 i = 0; i < x->slots; i++, h = (h + step) & mask) {
        u32 row = (u32)number_at(x, 16 + 8ull * x->slots + 4ull * h, 4);
        if (!row || row > x->units)
            return 0;
        if (number_at(x, 16 + 8ull * h, 8) == id)
            return row;
    }
    return 0;
}

static bool find_share(const struct elf_file *e, u64 id, u64 share[COLUMN_COUNT])
{
    struct package_index x;
    u32 row = open_index(e, &x) ? find_row(&x, id) : 0;
    for (u32 i = 0; row && i < x.columns; i++) {
        u64 names = 16 + 12ull * x.slots, section = number_at(&x, names + 4ull * i, 4);
        if (section < COLUMN_COUNT)
            share[section] = number_at(&x, names + 4ull * x.columns * row + 4ull * i, 4);
    }
    return row;
}

static struct dwarf_unit *unit_with_header_at(struct dwarf_file *d, u64 off)
{
    size_t lo = 0, hi = d->units.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->units.v[mid].off < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->units.n && d->units.v[lo].off == off ? &d->units.v[lo] : NULL;
}

static struct dwarf_unit *unit_of_package(struct dwarf_split *s, u64 id)
{
    u64 share[COLUMN_COUNT] = {0};
    struct dwarf_unit *u =
        find_share(s->parts->dwp, id, share) ? unit_with_header_at(&s->file, share[COLUMN_INFO]) : NULL;
    if (!u)
        return NULL;
    s->file.str_offsets_at = share[COLUMN_STR_OFFSETS];
    s->file.rnglists_at = share[COLUMN_RNGLISTS];
    if (!u->prepared)
        u->abbrev_off += share[COLUMN_ABBREV];
    return u;
}

/* ---- Single files ----------------------------------------------------------------------------------------------- */

static bool open_dwo(struct dwarf_split *s, const struct dwarf_unit *skeleton)
{
    const char *dir = skeleton->comp_dir ? skeleton->comp_dir : "";
    AUTO_CLOSE int fd = s->parts->dwo ? s->parts->dwo(s->parts->ctx, dir, skeleton->dwo_name) : -ENOENT;
    dwarf_file_close(&s->file);
    elf_close(&s->elf);
    if (fd < 0 || elf_open(&s->elf, fd))
        return false;
    bool opened = !dwarf_file_open(&s->file, &s->elf, s->linked, DWARF_ANY_SIZE);
    dwarf_look_at_clock(s->linked); /* it may have been large */
    return opened;
}

/* Version 4 has the id among the unit's attributes. */
static struct dwarf_unit *unit_of_dwo(struct dwarf_file *d, u64 id)
{
    struct dwarf_die o;
    for (struct dwarf_unit *u = d->units.v; u < d->units.v + d->units.n; u++)
        if (u->readable && (u->version >= 5 || !dwarf_unit_prepare(d, u, &o)) && u->dwo_id == id)
            return u;
    return NULL;
}

/* ---- Either ----------------------------------------------------------------------------------------------------- */

static void open_package(struct dwarf_split *s)
{
    s->tried = true;
    s->package = s->parts->dwp && !dwarf_file_open(&s->file, s->parts->dwp, s->linked, DWARF_ANY_SIZE);
}

struct dwarf_unit *dwarf_split_unit(struct dwarf_split *s, const struct dwarf_unit *skeleton, struct dwarf_file **file)
{
    struct dwarf_unit *u = NULL;
    struct dwarf_die o;
    if (!s->parts || s->linked->late)
        return NULL;
    if (!s->tried)
        open_package(s);
    s->file.deadline_ns = s->linked->deadline_ns;
    if (s->package)
        u = unit_of_package(s, skeleton->dwo_id);
    else if (open_dwo(s, skeleton))
        u = unit_of_dwo(&s->file, skeleton->dwo_id);
    if (!u || !u->readable)
        return NULL;
    s->file.deadline_ns = s->linked->deadline_ns;
    u->addr_base = skeleton->addr_base;
    u->ranges_base = skeleton->ranges_base;
    if (dwarf_unit_prepare(&s->file, u, &o))
        return NULL;
    u->low_pc = skeleton->low_pc;
    *file = &s->file;
    return u;
}

void dwarf_split_close(struct dwarf_split *s)
{
    dwarf_file_close(&s->file);
    elf_close(&s->elf);
}
