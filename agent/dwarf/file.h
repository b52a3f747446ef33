/* The DWARF (versions 2 to 5) of one file: its sections, units, abbreviations, entries (DIEs), ranges and names, as
 * needed for functions, inlined calls and lines.
 *
 * Debug information is not trusted, and a small input can cause a lot of work: many records that refer to one big
 * object. So every reference is checked before it is followed, every loop has one of the limits below, and all of them
 * share a limit of processor time (dwarf_spend).
 *
 * With -gsplit-dwarf the linked file only contains skeleton units: addresses, ranges of version 4 and line programs.
 * The rest is in .dwo files or in one package (dwarf_split.c). Each of these is a struct dwarf_file that refers to the
 * linked one.
 *
 * .debug_info is the largest section. If it is compressed and not small, it is inflated unit by unit, so that only one
 * unit is in memory (the window). If units refer to each other (LTO, dwz), `strayed` is set, and the file must be read
 * again as a whole.
 */
#pragma once
#include "base/vec.h"
#include "dwarf/read.h"
#include "elf/elf.h"
#include "elf/stream.h"

#define DWARF_MAX_SECTION ((size_t)4 << 30) /* uncompressed bytes; the largest of libjvm has 257 MB */
#define DWARF_MAX_UNITS   (1u << 20)
#define DWARF_MAX_ABBREVS (1u << 16) /* of one table */
#define DWARF_MAX_ATTRS   64         /* per entry: some take no bytes, but time. Up to 22 were seen */
#define DWARF_MAX_SPECS   (1u << 20) /* attributes of one table */
#define DWARF_MAX_DEPTH   512        /* of nested entries; 58 in duckdb */
#define DWARF_MAX_HOPS    16         /* references from an inlined call to the entry with the name */
#define DWARF_MAX_RANGES  (1u << 16) /* of one entry */
#define DWARF_MAX_NAME    (16u << 10)
#define DWARF_MAX_SCOPES  32 /* namespaces and classes of a name */

enum dwarf_section {
    SEC_INFO,
    SEC_ABBREV,
    SEC_STR,
    SEC_LINE_STR,
    SEC_STR_OFFSETS,
    SEC_ADDR,
    SEC_RANGES,
    SEC_RNGLISTS,
    SEC_LINE,
    SEC_COUNT,
};

/* How the walk treats an entry; decided once per abbreviation. */
enum die_kind { DIE_OTHER, DIE_FUNCTION, DIE_INLINED };

struct dwarf_attr {
    u16 at, form;
    s64 value; /* DW_FORM_implicit_const */
};
struct dwarf_skip { /* skip `fixed` bytes, then one value of kind `var` */
    u16 fixed;
    u8 var;
};
struct dwarf_abbrev {
    u64 code;
    u32 attr, nattrs, skip; /* rows of the table's vectors */
    u16 tag;
    u16 fixed; /* bytes of the whole entry, or DWARF_NOT_FIXED */
    bool children;
    u8 kind;
};
#define DWARF_NOT_FIXED 0xffff

struct dwarf_abbrevs {
    u64 off;
    u8 address_size, offset_size, version; /* the sizes of forms depend on them */
    bool dense;                            /* code i is row i - 1 */
    unsigned refs;
    VEC(struct dwarf_abbrev) rows;
    VEC(struct dwarf_attr) attrs;
    VEC(struct dwarf_skip) skips;
};

struct dwarf_unit {
    u64 off, die, end; /* in .debug_info: header, first entry, first byte after the unit */
    u64 abbrev_off;
    u64 low_pc, addr_base, str_base, ranges_base, line_off;
    const char *comp_dir;
    const char *dwo_name; /* of a skeleton; NULL: not a skeleton */
    u64 dwo_id;           /* of a skeleton and its split unit */
    u16 version, language;
    u8 address_size, offset_size;
    bool readable; /* has code: not a type unit, supported version */
    bool prepared, has_lines;
};

enum dwarf_value_kind { VAL_NONE, VAL_ADDRESS, VAL_NUMBER, VAL_STRING, VAL_REFERENCE, VAL_OFFSET, VAL_LIST_INDEX };
struct dwarf_file;
struct dwarf_value {
    enum dwarf_value_kind kind;
    u64 n; /* of a reference: the offset in .debug_info of its file */
    const char *s;
    struct dwarf_file *file; /* of a reference */
};

struct dwarf_die {
    u16 tag;
    bool has_low, has_ranges, ranges_indexed, high_is_address, has_call_file;
    u64 low, high, ranges;
    const char *name, *linkage_name;
    u64 origin; /* abstract origin or specification; 0: none */
    struct dwarf_file *origin_file;
    u64 call_file, call_line;
};

struct dwarf_scope {
    u64 lo, hi; /* in .debug_info */
    const char *name;
    u32 up; /* 1 + row */
};
struct dwarf_scopes { /* namespaces and classes of a unit, in the order of entries */
    u64 unit;
    bool valid;
    VEC(struct dwarf_scope) v;
};

struct dwarf_exec {
    u64 lo, hi;
};

#define DWARF_ABBREV_SLOTS 64
#define DWARF_SCOPE_SLOTS  8

struct dwarf_file {
    struct elf_bytes sec[SEC_COUNT];
    VEC(struct dwarf_exec) exec; /* executable sections; code dropped by the linker is elsewhere */
    VEC(struct dwarf_unit) units;
    size_t next_unit;
    struct dwarf_file *alt;      /* file with the parts moved by dwz; borrowed; NULL: none */
    struct dwarf_file *skeleton; /* of a .dwo or a package: the linked file; borrowed */
    /* In a package: start of the unit's part of these sections. */
    u64 str_offsets_at, rnglists_at;

    const struct elf_file *e;  /* borrowed */
    struct elf_stream *stream; /* of .debug_info; NULL: sec[SEC_INFO] contains all of it */
    const u8 *dropped;         /* the stream before it has been released */
    u64 info_size;
    VEC(u8) window;
    u64 window_at;
    bool strayed; /* something outside of the window was needed */

    struct dwarf_abbrevs *slots[DWARF_ABBREV_SLOTS];
    struct dwarf_scopes scopes[DWARF_SCOPE_SLOTS];

    u64 work, deadline_ns; /* CPU time of the process; 0: none */
    bool late;
};

#define DWARF_ANY_SIZE UINT64_MAX

/* Reads the sections and, unless it is read as a stream, the list of units. A compressed .debug_info is read by units
 * if it is larger than `whole_bytes`, or damaged; DWARF_ANY_SIZE: never. `skeleton`: read the sections of split units.
 * `e` must outlive the file. Returns 0; -ENODATA: no debug information; -ENOTSUP: an object that is not linked;
 * -EBADMSG; -ENOSPC; -ENOMEM. */
int dwarf_file_open(struct dwarf_file *d, const struct elf_file *e, struct dwarf_file *skeleton, u64 whole_bytes);
void dwarf_file_close(struct dwarf_file *d);
/* Reads the next unit, in the order of the file. In a stream, data of previous units is no longer available. Returns 0;
 * -ENODATA: no more units; -EBADMSG: the rest is damaged; -ENOSPC; -ENOMEM. */
int dwarf_file_next(struct dwarf_file *d, struct dwarf_unit **out);
/* Finds the unit with an entry at `off`, or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dwarf_file *d, u64 off);
/* Tells whether this address is in code of the file. The linker writes 0, 1, -1 or -2 for dropped code. */
bool dwarf_is_code(const struct dwarf_file *d, u64 address);
/* Returns a string of a section; NULL: outside, or not terminated. */
const char *dwarf_string(const struct elf_bytes *b, u64 off);
/* Counts work, in entries or similar units. False: the time limit is reached. */
#define DWARF_CLOCK_EVERY (1u << 16) /* units of work between two checks of the clock */
bool dwarf_look_at_clock(struct dwarf_file *d);
static inline bool dwarf_spend(struct dwarf_file *d, u64 work)
{
    d->work += work;
    return d->work < DWARF_CLOCK_EVERY ? !d->late : dwarf_look_at_clock(d);
}
/* Tells whether a text of a section stays valid when the next unit is read. */
bool dwarf_is_lasting(const struct dwarf_file *d, const char *s);

/* Returns a cursor over .debug_info of a unit, from `off`; positions are relative to window_at. */
static inline struct cursor dwarf_cursor(const struct dwarf_file *d, const struct dwarf_unit *u, u64 off)
{
    struct cursor c = d->stream ? cursor_of(d->window.v, (size_t)(u->end - d->window_at))
                                : cursor_of(d->sec[SEC_INFO].data, (size_t)u->end);
    read_seek(&c, off - d->window_at);
    return c;
}

/* dwarf_abbrev.c: gets a table, to be released with dwarf_abbrevs_put; NULL: out of memory or time. */
struct dwarf_abbrevs *dwarf_abbrevs_get(struct dwarf_file *d, const struct dwarf_unit *u);
void dwarf_abbrevs_put(struct dwarf_abbrevs **t);
#define AUTO_ABBREVS __attribute__((cleanup(dwarf_abbrevs_put)))
const struct dwarf_abbrev *dwarf_abbrev_search(const struct dwarf_abbrevs *t, u64 code);
static inline const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, u64 code)
{
    if (t->dense)
        return code - 1 < t->rows.n ? &t->rows.v[code - 1] : NULL;
    return dwarf_abbrev_search(t, code);
}

/* Returns the file with the addresses of a unit and its ranges of version 4. */
static inline const struct dwarf_file *dwarf_linked(const struct dwarf_file *d)
{
    return d->skeleton ? d->skeleton : d;
}

/* dwarf_form.c: the values of attributes. */
enum dwarf_var { VAR_END, VAR_LEB, VAR_STRING, VAR_BLOCK1, VAR_BLOCK2, VAR_BLOCK4, VAR_BLOCK, VAR_INDIRECT };
/* Returns the size of a form in bytes; -1: variable, see *var; -2: unknown. */
int dwarf_form_size(unsigned form, const struct dwarf_unit *u, u8 *var);
struct dwarf_value dwarf_value_read(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u, unsigned form,
                                    s64 implicit);
void dwarf_value_skip(struct cursor *c, const struct dwarf_unit *u, unsigned var);
/* Return entry i of .debug_addr and .debug_str_offsets. */
bool dwarf_indexed_address(const struct dwarf_file *d, const struct dwarf_unit *u, u64 i, u64 *out);
const char *dwarf_indexed_string(const struct dwarf_file *d, const struct dwarf_unit *u, u64 i);

/* dwarf_die.c: entries; the cursor is after the code of the abbreviation. */
void dwarf_die_skip_varying(struct cursor *c, const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                            const struct dwarf_unit *u);
static inline void dwarf_die_skip(struct cursor *c, const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                                  const struct dwarf_unit *u)
{
    if (a->fixed != DWARF_NOT_FIXED)
        read_skip(c, a->fixed);
    else
        dwarf_die_skip_varying(c, t, a, u);
}
void dwarf_die_read(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u, const struct dwarf_abbrevs *t,
                    const struct dwarf_abbrev *a, struct dwarf_die *out);
/* Reads the entry of the unit itself: bases, directory, line program. Returns 0, -EBADMSG or -ENOMEM. */
int dwarf_unit_prepare(struct dwarf_file *d, struct dwarf_unit *u, struct dwarf_die *out);
/* Calls `use` for each non-empty range until it returns a value other than 0. Returns 0, -EBADMSG or -ENOSPC. */
int dwarf_die_ranges(struct dwarf_file *d, const struct dwarf_unit *u, const struct dwarf_die *die,
                     int (*use)(void *arg, u64 lo, u64 hi), void *arg);

/* dwarf_name.c: returns the name of the function whose entry is at `off`: the linkage name, else scope::name; NULL:
 * none. The text is in a section or in `buf`. */
const char *dwarf_die_name(struct dwarf_file *d, u64 off, char *buf, size_t size);
