/* The metadata of a module (ECMA-335, II.24, II.25), in an image that is mapped as its file is, or as its sections say.
 */
#include "runtime/dotnet_internal.h"
#include "runtime/sound.h"
#include <string.h>

#define METADATA    0x424a5342u
#define MAX_STREAMS 16
#define MAX_IMAGE   ((u64)1 << 31)
#define MAX_ROWS    (1u << 24) /* numbers of rows have 24 bits in tokens */
#define MAX_NAME    1024
#define MAX_NESTED  16

static u32 number(struct memory *m, u64 at, unsigned bytes, bool *ok)
{
    return (u32)memory_u(m, at, bytes, ok);
}

/* ---- Where it is ------------------------------------------------------------------------------------------------ */

/* The address of the metadata, if the CLI header is at `cli`. 0: it is not. */
static u64 metadata_at(struct memory *m, const struct dotnet_pe *i, u32 cli, bool is_file)
{
    bool ok = cli;
    u32 bytes = number(m, i->base + cli, 4, &ok), rva = number(m, i->base + cli + 8, 4, &ok);
    u32 at = !ok || bytes != DOTNET_CLI_BYTES ? 0 : is_file ? dotnet_pe_place(i, rva) : rva;
    ok = at;
    return number(m, i->base + at, 4, &ok) == METADATA && ok ? i->base + at : 0;
}

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

static bool read_tables(struct memory *m, u64 at, struct dotnet_image *out)
{
    bool ok = true;
    out->tables.wide = (u8)number(m, at + 6, 1, &ok);
    u64 there = memory_u(m, at + 8, 8, &ok), next = at + 24;
    for (u32 i = 0; i < 64 && ok; i++) {
        u32 n = there >> i & 1 ? number(m, next, 4, &ok) : 0;
        next += 4 * (there >> i & 1);
        if (n > MAX_ROWS)
            return false;
        out->tables.rows[i] = n;
    }
    if (out->tables.wide & 0x40) /* extra data */
        next += 4;
    for (u32 i = 0; i < DOTNET_TABLES; i++) {
        u32 none, bytes = dotnet_column(&out->tables, i, DOTNET_COLUMNS, &none);
        out->table[i] = next;
        next += (u64)out->tables.rows[i] * bytes;
    }
    return ok && next - at < MAX_IMAGE;
}

static bool read_stream(struct memory *m, u64 root, u64 header, struct dotnet_image *out, u32 *next)
{
    char name[32] = {0};
    bool ok = memory_text(m, header + 8, name, sizeof(name));
    u64 at = root + number(m, header, 4, &ok);
    u32 bytes = number(m, header + 4, 4, &ok);
    *next = 8 + ((u32)strlen(name) / 4 + 1) * 4;
    if (ok && !strcmp(name, "#Strings")) {
        out->strings = at;
        out->strings_bytes = bytes;
    }
    return ok && ((strcmp(name, "#~") != 0 && strcmp(name, "#-") != 0) || read_tables(m, at, out));
}

static bool read_streams(struct memory *m, u64 root, struct dotnet_image *out)
{
    bool ok = true;
    u32 version = number(m, root + 12, 4, &ok), next = 0;
    u64 at = root + 16 + (version & 0xffff);
    u32 n = number(m, at + 2, 2, &ok);
    at += 4;
    for (u32 i = 0; i < n && i < MAX_STREAMS && ok; i++, at += next)
        ok = read_stream(m, root, at, out, &next);
    return ok && out->strings && out->table[DOTNET_METHOD];
}

bool dotnet_image_open(struct memory *m, u64 base, struct dotnet_image *out)
{
    struct dotnet_pe i;
    *out = (struct dotnet_image){0};
    if (!dotnet_pe_open(m, base, &i))
        return false;
    u64 root = metadata_at(m, &i, i.cli, false);
    root = root ? root : metadata_at(m, &i, dotnet_pe_place(&i, i.cli), true);
    return root && read_streams(m, root, out);
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

u32 dotnet_cell(struct memory *m, const struct dotnet_image *i, u32 table, u32 row, u32 column, bool *ok)
{
    u32 bytes, none, size = dotnet_column(&i->tables, table, DOTNET_COLUMNS, &none);
    u32 at = dotnet_column(&i->tables, table, column, &bytes);
    *ok = *ok && row && row <= i->tables.rows[table];
    return *ok ? number(m, i->table[table] + (u64)(row - 1) * size + at, bytes, ok) : 0;
}

static bool text_of(struct memory *m, const struct dotnet_image *i, u32 at, char to[MAX_NAME])
{
    return at < i->strings_bytes && memory_text(m, i->strings + at, to, MAX_NAME);
}

/* The type that a type is nested in; 0: none. Rows are sorted by the first column. */
static u32 encloser(struct memory *m, const struct dotnet_image *i, u32 type)
{
    u32 lo = 1, hi = i->tables.rows[DOTNET_NESTED] + 1;
    bool ok = true;
    while (lo < hi && ok) {
        u32 mid = (lo + hi) / 2, nested = dotnet_cell(m, i, DOTNET_NESTED, mid, 0, &ok);
        if (nested == type)
            return dotnet_cell(m, i, DOTNET_NESTED, mid, 1, &ok);
        if (nested < type)
            lo = mid + 1;
        else
            hi = mid;
    }
    return 0;
}

bool dotnet_type_name(struct memory *m, const struct dotnet_image *i, u32 type, struct buf *out)
{
    u32 chain[MAX_NESTED], n = 0;
    char text[MAX_NAME];
    bool ok = true;
    for (u32 t = type; t && n < MAX_NESTED; t = encloser(m, i, t))
        chain[n++] = t;
    u32 space = dotnet_cell(m, i, DOTNET_TYPE, n ? chain[n - 1] : 0, 2, &ok);
    if (!ok)
        return false;
    if (space && text_of(m, i, space, text) && *text)
        buf_printf(out, "%s.", text);
    while (n--) {
        u32 name = dotnet_cell(m, i, DOTNET_TYPE, chain[n], 1, &ok);
        if (!ok || !text_of(m, i, name, text))
            return false;
        buf_printf(out, "%s%s", text, n ? "." : "");
    }
    return true;
}

/* The compiler makes a type "<Name>d__N" of an asynchronous method or an iterator: `type` ends where that began. False:
 * it is none. */
static bool name_of_machine(struct buf *type)
{
    char *from = type->len ? memrchr(type->data, '<', type->len) : NULL;
    char *to = from ? memchr(from, '>', type->len - (size_t)(from - type->data)) : NULL;
    size_t left = to ? type->len - (size_t)(to - type->data) : 0;
    if (left < 5 || memcmp(to, ">d__", 4) != 0 || to == from + 1)
        return false;
    memmove(from, from + 1, (size_t)(to - from - 1));
    type->len = (size_t)(to - 1 - type->data);
    return true;
}

bool dotnet_method_name(struct memory *m, const struct dotnet_image *i, u32 type, u32 method, struct buf *out)
{
    char text[MAX_NAME];
    bool ok = true;
    u32 name = dotnet_cell(m, i, DOTNET_METHOD, method, 3, &ok);
    if (!ok || !text_of(m, i, name, text))
        return false;
    if (type != 1 && !dotnet_type_name(m, i, type, out)) /* 1: <Module>, of what is in no type */
        return false;
    if (!strcmp(text, "MoveNext") && name_of_machine(out))
        return true;
    buf_printf(out, "%s%s", type != 1 ? "." : "", text);
    return true;
}

u32 dotnet_method_type(struct memory *m, const struct dotnet_image *i, u32 method)
{
    u32 lo = 1, hi = i->tables.rows[DOTNET_TYPE] + 1;
    bool ok = true;
    while (lo < hi && ok) { /* methods of a type begin at the place that its last column says */
        u32 mid = lo + (hi - lo) / 2;
        if (dotnet_cell(m, i, DOTNET_TYPE, mid, 5, &ok) <= method)
            lo = mid + 1;
        else
            hi = mid;
    }
    return ok ? lo - 1 : 0;
}
