/* Strings, each once. A string of a section keeps its address, so most repeats cost one look-up. */
#include "base/hash.h"
#include "dwarf/build.h"
#include <stdio.h>

#define MAX_PATH_TEXT 8192
#define MAX_FILES     (1u << 24) /* the bits that a node has */

static u32 append(struct dwarf_builder *b, const char *s, size_t n)
{
    u32 at = (u32)b->strings.n;
    if (n > b->text_budget) { /* long names that overlap in .debug_str */
        b->cuts |= DWARF_CUT_NAMES;
        return 0;
    }
    if (VEC_RESERVE(&b->strings, b->strings.n + n + 1)) {
        b->cuts |= DWARF_CUT_BYTES;
        return 0;
    }
    b->text_budget -= n;
    memcpy(b->strings.v + at, s, n);
    b->strings.v[at + n] = 0;
    b->strings.n += n + 1;
    return at;
}

static u32 intern_text(struct dwarf_builder *b, const char *s)
{
    size_t n = strnlen(s, DWARF_MAX_NAME);
    if (!n)
        return 0;
    dwarf_spend(b->d, n / 16);
    u64 *at = map_put(&b->by_text, hash_bytes(s, n, 0));
    if (at && *at && !strncmp(b->strings.v + *at - 1, s, n) && !b->strings.v[*at - 1 + n])
        return (u32)*at - 1;
    u32 new = append(b, s, n);
    if (at && new)
        *at = new + 1ull;
    return new;
}

u32 dwarf_intern(struct dwarf_builder *b, const char *s)
{
    if (b->from != b->d || !dwarf_is_lasting(b->d, s)) /* a .dwo is closed when its unit is done */
        return intern_text(b, s);
    u64 *at = map_put(&b->by_address, (uintptr_t)s);
    if (at && *at)
        return (u32)*at - 1;
    u32 new = intern_text(b, s);
    if (at)
        *at = new + 1ull;
    return new;
}

u32 dwarf_intern_die(struct dwarf_builder *b, struct dwarf_file *d, u64 off)
{
    char buf[DWARF_MAX_NAME];
    u64 *at = map_get(&b->by_die, off << 1 | (d != b->d));
    if (at)
        return (u32)*at;
    const char *s = dwarf_die_name(d, off, buf, sizeof(buf));
    u32 new = !s ? 0 : s == buf ? intern_text(b, s) : dwarf_intern(b, s);
    at = map_put(&b->by_die, off << 1 | (d != b->d));
    if (at)
        *at = new;
    return new;
}

static u32 new_file(struct dwarf_builder *b, u32 path)
{
    u64 *at = path ? map_put(&b->by_path, path) : NULL;
    if (!at)
        return 0;
    if (!*at) {
        u32 *place = b->files.n < MAX_FILES ? VEC_PUSH(&b->files) : NULL;
        if (!place)
            return 0;
        *place = path;
        *at = b->files.n;
    }
    return (u32)*at - 1;
}

u32 dwarf_intern_file(struct dwarf_builder *b, u64 no)
{
    char buf[MAX_PATH_TEXT];
    if (no >= b->lines.files.n)
        return 0;
    if (b->unit_files.n <= no) {
        if (VEC_RESERVE(&b->unit_files, b->lines.files.n))
            return 0;
        memset(b->unit_files.v + b->unit_files.n, 0, (b->lines.files.n - b->unit_files.n) * sizeof(u32));
        b->unit_files.n = b->lines.files.n;
    }
    if (!b->unit_files.v[no]) {
        const char *path = dwarf_lines_path(&b->lines, b->u, no, buf, sizeof(buf));
        b->unit_files.v[no] = 1 + (path ? new_file(b, intern_text(b, path)) : 0);
    }
    return b->unit_files.v[no] - 1;
}
