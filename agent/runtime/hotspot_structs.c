/* The tables that a HotSpot exports: for each there are variables with its address, the step from row to row, and where
 * the columns are. A row without name ends it.
 */
#include "runtime/hotspot_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_STRIDE  256
#define MAX_ROWS    16384
#define MAX_NAME    128
#define MAX_COLUMNS 6

#define NAMES_FIELD(id, type, name) {type, name},
#define NAME(id, name)              name,
static const struct {
    const char *type, *name;
} FIELD_NAMES[] = {HOTSPOT_FIELDS(NAMES_FIELD)};
static const char *const TYPE_NAMES[] = {HOTSPOT_TYPES(NAME)};
static const char *const CONSTANT_NAMES[] = {HOTSPOT_CONSTANTS(NAME)};

struct table {
    u64 at, stride, columns[MAX_COLUMNS];
};
struct row {
    u8 bytes[MAX_STRIDE];
};

static u64 column(const struct table *t, const struct row *r, unsigned i)
{
    u64 v;
    memcpy(&v, r->bytes + t->columns[i], sizeof(v));
    return v;
}

/* The value of a variable that the module exports: "gHotSpotVM", table, what. */
static bool variable(struct memory *m, const struct module *mod, const char *table, const char *what, u64 *out)
{
    char name[64];
    snprintf(name, sizeof(name), "gHotSpotVM%s%s", table, what);
    u64 at = module_symbol(m, mod, name);
    return at && memory_read(m, at, out, sizeof(*out));
}

/* Returns 0; -EAGAIN: the dynamic linker has not relocated it yet; -ENOTSUP. `plural`: the table's name; `entry`: that
 * of its rows; `columns`: NULL-terminated. */
static int open_table(struct memory *m, const struct module *mod, const char *plural, const char *entry,
                      const char *const *columns, struct table *out)
{
    struct table t = {0};
    if (variable(m, mod, plural, "", &t.at) && !t.at)
        return -EAGAIN;
    if (!variable(m, mod, plural, "", &t.at) || !variable(m, mod, entry, "ArrayStride", &t.stride) ||
        t.stride < sizeof(u64) || t.stride > MAX_STRIDE)
        return -ENOTSUP;
    for (unsigned i = 0; columns[i]; i++)
        if (!variable(m, mod, entry, columns[i], &t.columns[i]) || t.columns[i] > t.stride - sizeof(u64))
            return -ENOTSUP;
    *out = t;
    return 0;
}

/* The next row with the name in its first column. False: there are no more. */
static bool next_row(struct memory *m, const struct table *t, unsigned i, struct row *row, char name[MAX_NAME])
{
    if (i >= MAX_ROWS || !memory_near(m, t->at + i * t->stride, row->bytes, t->stride) || !column(t, row, 0))
        return false;
    if (!memory_text(m, column(t, row, 0), name, MAX_NAME))
        name[0] = 0; /* longer than any that are looked up */
    return true;
}

static void take_field(struct memory *m, const struct table *t, const struct row *row, const char *type,
                       struct hotspot_field *fields)
{
    char name[MAX_NAME] = "", of[MAX_NAME] = "";
    bool loaded = false;
    for (unsigned i = 0; i < FIELDS; i++) {
        if (strcmp(FIELD_NAMES[i].type, type) != 0)
            continue;
        if (!loaded && !memory_text(m, column(t, row, 1), name, sizeof(name)))
            return;
        loaded = true;
        if (strcmp(FIELD_NAMES[i].name, name) != 0)
            continue;
        struct hotspot_field f = {.found = true, .is_static = (u32)column(t, row, 2) != 0};
        f.value = column(t, row, f.is_static ? 4 : 3);
        if (column(t, row, 5) && memory_text(m, column(t, row, 5), of, sizeof(of)))
            f.is_short = !strcmp(of, "int16_t") || !strcmp(of, "uint16_t") || !strcmp(of, "u2");
        fields[i] = f;
        return;
    }
}

static int read_fields(struct memory *m, const struct module *mod, struct hotspot_structs *out)
{
    static const char *const columns[] = {"TypeNameOffset",
                                          "FieldNameOffset",
                                          "IsStaticOffset",
                                          "OffsetOffset",
                                          "AddressOffset",
                                          "TypeStringOffset",
                                          NULL};
    struct table t;
    struct row row;
    char type[MAX_NAME];
    int rc = open_table(m, mod, "Structs", "StructEntry", columns, &t);
    unsigned rows = 0;
    for (; !rc && next_row(m, &t, rows, &row, type); rows++)
        take_field(m, &t, &row, type, out->fields);
    return rc ? rc : rows ? 0 : -EAGAIN;
}

static int read_values(struct memory *m, const struct module *mod, const char *plural, const char *entry,
                       const char *const *columns, const char *const *names, unsigned n, u64 *out)
{
    struct table t;
    struct row row;
    char name[MAX_NAME];
    int rc = open_table(m, mod, plural, entry, columns, &t);
    for (unsigned i = 0; !rc && next_row(m, &t, i, &row, name); i++)
        for (unsigned k = 0; k < n; k++)
            if (!strcmp(names[k], name))
                out[k] = column(&t, &row, 1);
    return rc;
}

int hotspot_structs_read(struct memory *m, const struct module *mod, struct hotspot_structs *out)
{
    static const char *const type_columns[] = {"TypeNameOffset", "SizeOffset", NULL};
    static const char *const constant_columns[] = {"NameOffset", "ValueOffset", NULL};
    struct hotspot_structs s = {0};
    int rc = read_fields(m, mod, &s);
    if (!rc)
        rc = read_values(m, mod, "Types", "TypeEntry", type_columns, TYPE_NAMES, TYPES, s.sizes);
    if (!rc)
        rc = read_values(m, mod, "IntConstants", "IntConstantEntry", constant_columns, CONSTANT_NAMES, CONSTANTS,
                         s.constants);
    for (unsigned i = 0; !rc && i < CONSTANTS; i++)
        s.constants[i] = (u32)s.constants[i]; /* 4 bytes, and others behind them */
    if (!rc)
        *out = s;
    return rc;
}
