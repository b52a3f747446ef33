/* Rows that are put into an index are found again at every address, whatever they differ in from the row in front. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/test.h"
#include "dwarf/build.h"
#include <errno.h>

#define NODES 300 /* one for each function, none of them inlined */
#define BASE  0x400000ull

struct made {
    struct dwarf_builder b;
    struct dwarf_limits limits;
    void *image;
    size_t len;
    struct dwarf_index x;
};

static void made_free(struct made *m)
{
    vec_free(&m->b.rows);
    vec_free(&m->b.blocks);
    vec_free(&m->b.chunks);
    vec_free(&m->b.nodes);
    vec_free(&m->b.files);
    vec_free(&m->b.strings);
    free(m->image);
}
#define AUTO_MADE CLEANUP(made_free) struct made

/* Node i has the name "nI", file i the path "fI"; 0 are the unknown ones. */
static void made_begin(struct made *m)
{
    char text[8] = "";
    m->limits = (struct dwarf_limits)DWARF_LIMITS_DEFAULT;
    m->b.limits = &m->limits;
    *VEC_PUSH(&m->b.strings) = 0;
    for (u32 i = 0; i < 2 * NODES; i++) {
        u32 at = i == 0 || i == NODES ? 0 : (u32)m->b.strings.n;
        snprintf(text, sizeof(text), "%c%u", i < NODES ? 'n' : 'f', i % NODES);
        for (size_t k = 0; at && k <= strlen(text); k++)
            *VEC_PUSH(&m->b.strings) = text[k];
        if (i < NODES)
            *VEC_PUSH(&m->b.nodes) = (struct dwarf_node){.name = at};
        else
            *VEC_PUSH(&m->b.files) = at;
    }
}

static int made_end(struct made *m)
{
    int rc = dwarf_finish(&m->b, 0x1234, &m->image, &m->len);
    rc = rc ? rc : dwarf_index_check(m->image, m->len);
    return rc ? rc : dwarf_index_open(&m->x, m->image, m->len);
}

/* "NODE FILE LINE" of an address, "-" for none. */
static const char *at(const struct made *m, u64 address, char out[64])
{
    static struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    struct dwarf_text name, file;
    if (!dwarf_index_find(&m->x, address, f))
        return "-";
    dwarf_index_text(&m->x, f[0].name, &name);
    dwarf_index_text(&m->x, f[0].file, &file);
    snprintf(out, 64, "%.20s %.20s %u", name.s, file.s, f[0].line);
    return out;
}

/* A chunk of one function and one line. */
static void chunk(struct made *m, u64 lo, u64 hi, u32 node)
{
    dwarf_begin_chunk(&m->b, lo);
    CHECK_EQ(dwarf_put_row(&m->b, lo, node, 1, node + 1), 0);
    CHECK_EQ(dwarf_end_chunk(&m->b, hi), 0);
}

static const struct dwarf_out_row *row_at(const struct dwarf_out_row *rows, size_t n, u64 address)
{
    size_t i = 0;
    while (i + 1 < n && rows[i + 1].address <= address)
        i++;
    return &rows[i];
}

/* Differences around each border of the encoding: addresses at 63, signed numbers at -64 and 63, two bytes and more. */
TEST(line_rows_are_found_whatever_they_differ_in)
{
    static const u32 steps[] = {1, 62, 63, 64, 190, 191, 20000}, values[] = {1, 64, 65, 128, 129, 1, 200, 264, 1, 66};
    static const u32 lines[] = {5, 68, 4, 69, 4, 0, 100000, 64, 0, 63, 4294967295u, 0, 8192, 1};
    static struct dwarf_out_row rows[300];
    AUTO_MADE m = {.len = 0};
    u64 address = BASE;
    made_begin(&m);
    for (size_t i = 0; i < 300; i++) {
        rows[i] = (struct dwarf_out_row){address, values[i % 10], values[(i + i / 7) % 10], lines[i % 14]};
        address += steps[i % 7];
    }
    dwarf_begin_chunk(&m.b, BASE);
    for (size_t i = 0; i < 300; i++)
        CHECK_EQ(dwarf_put_row(&m.b, rows[i].address, rows[i].node, rows[i].file, rows[i].line), 0);
    CHECK_EQ(dwarf_end_chunk(&m.b, address + 7), 0);
    CHECK_EQ(made_end(&m), 0);
    CHECK_EQ(m.x.h->nblocks, (300 + DWARF_INDEX_BLOCK_ROWS - 1) / DWARF_INDEX_BLOCK_ROWS);
    CHECK_EQ(m.x.h->debug_bytes, 0x1234);
    CHECK_EQ(m.x.h->base, BASE);
    for (u64 a = BASE; a < address + 7; a++) {
        const struct dwarf_out_row *r = row_at(rows, 300, a);
        char got[64], expected[64];
        snprintf(expected, sizeof(expected), "n%u f%u %u", r->node, r->file, r->line);
        CHECK_STR(at(&m, a, got), expected);
    }
    char none[64];
    CHECK_STR(at(&m, address + 7, none), "-");
    CHECK_STR(at(&m, BASE - 1, none), "-");
}

TEST(line_rows_that_say_the_same_are_one)
{
    AUTO_MADE m = {.len = 0};
    char text[64];
    made_begin(&m);
    dwarf_begin_chunk(&m.b, BASE);
    for (u64 a = BASE; a < BASE + 1000; a++)
        CHECK_EQ(dwarf_put_row(&m.b, a, 1, 2, 3), 0);
    CHECK_EQ(m.b.npending, 1);
    CHECK_EQ(dwarf_put_row(&m.b, BASE + 1000, 1, 2, 4), 0);
    CHECK_EQ(dwarf_put_row(&m.b, BASE + 1001, 1, 3, 4), 0);
    CHECK_EQ(dwarf_put_row(&m.b, BASE + 1002, 2, 3, 4), 0);
    CHECK_EQ(m.b.npending, 4);
    CHECK_EQ(dwarf_end_chunk(&m.b, BASE + 1003), 0);
    CHECK_EQ(made_end(&m), 0);
    CHECK_STR(at(&m, BASE + 999, text), "n1 f2 3");
    CHECK_STR(at(&m, BASE + 1002, text), "n2 f3 4");
}

/* Units come in any order; between them there may be nothing. */
TEST(line_rows_of_chunks_are_sorted)
{
    static const struct {
        u64 at;
        const char *expected;
    } found[] = {{0, "n2 f1 3"},      {0xff, "n2 f1 3"},   {0x100, "-"},        {0x1fff, "-"},
                 {0x2000, "n3 f1 4"}, {0x20ff, "n3 f1 4"}, {0x2100, "n1 f1 2"}, {0x2200, "-"}};
    AUTO_MADE m = {.len = 0};
    char text[64];
    made_begin(&m);
    chunk(&m, BASE + 0x2100, BASE + 0x2200, 1);
    chunk(&m, BASE, BASE + 0x100, 2);
    chunk(&m, BASE + 0x2000, BASE + 0x2100, 3); /* they touch, and both stay */
    CHECK_EQ(made_end(&m), 0);
    CHECK_EQ(m.x.h->nblocks, 3);
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
        CHECK_STR(at(&m, BASE + found[i].at, text), found[i].expected);
}

/* The same address twice: folded functions, and code that the linker dropped. */
TEST(line_rows_of_chunks_that_overlap_are_those_of_the_first)
{
    AUTO_MADE m = {.len = 0};
    char text[64];
    made_begin(&m);
    chunk(&m, BASE, BASE + 0x100, 1);
    chunk(&m, BASE, BASE + 0x200, 2);       /* the first unit's stays */
    chunk(&m, BASE + 0x80, BASE + 0x90, 3); /* inside */
    chunk(&m, BASE + 0x80, BASE + 0x180, 4);
    chunk(&m, BASE + 0x100, BASE + 0x180, 5);
    CHECK_EQ(made_end(&m), 0);
    CHECK_STR(at(&m, BASE, text), "n1 f1 2");
    CHECK_STR(at(&m, BASE + 0x85, text), "n1 f1 2");
    CHECK_STR(at(&m, BASE + 0x100, text), "n5 f1 6");
    CHECK_STR(at(&m, BASE + 0x180, text), "-");
}

TEST(line_rows_without_functions_give_way)
{
    AUTO_MADE m = {.len = 0};
    char text[64];
    made_begin(&m);
    chunk(&m, BASE, BASE + 0x80, 1);
    chunk(&m, BASE + 0x80, BASE + 0x200, 0);  /* lines only */
    chunk(&m, BASE + 0x100, BASE + 0x180, 2); /* takes its place */
    chunk(&m, BASE + 0x300, BASE + 0x400, 3);
    chunk(&m, BASE + 0x380, BASE + 0x480, 0); /* takes nobody's */
    chunk(&m, BASE + 0x500, BASE + 0x600, 0);
    chunk(&m, BASE + 0x580, BASE + 0x680, 0);
    CHECK_EQ(made_end(&m), 0);
    CHECK_STR(at(&m, BASE + 0x7f, text), "n1 f1 2");
    CHECK_STR(at(&m, BASE + 0x90, text), "-");
    CHECK_STR(at(&m, BASE + 0x110, text), "n2 f1 3");
    CHECK_STR(at(&m, BASE + 0x390, text), "n3 f1 4");
    CHECK_STR(at(&m, BASE + 0x410, text), "-");
    CHECK_STR(at(&m, BASE + 0x590, text), " f1 1");
    CHECK_STR(at(&m, BASE + 0x610, text), "-");
}

/* Places are kept in 32 bits. */
TEST(line_rows_too_far_from_the_first_are_left_out)
{
    AUTO_MADE m = {.len = 0};
    char text[64];
    made_begin(&m);
    chunk(&m, BASE, BASE + 16, 1);
    chunk(&m, BASE + UINT32_MAX - 16, BASE + UINT32_MAX, 2);
    chunk(&m, BASE + UINT32_MAX, BASE + UINT32_MAX + 1ull, 3);
    CHECK_EQ(made_end(&m), 0);
    CHECK_STR(at(&m, BASE + UINT32_MAX - 16, text), "n2 f1 3");
    CHECK_STR(at(&m, BASE + UINT32_MAX, text), "-");
    CHECK_EQ(m.x.h->nblocks, 2);
}

TEST(line_rows_stop_at_the_limit_of_bytes)
{
    AUTO_MADE m = {.len = 0};
    int rc = 0;
    u32 i = 0;
    made_begin(&m);
    size_t before = m.b.strings.n + 4 * m.b.files.n + sizeof(struct dwarf_node) * m.b.nodes.n;
    m.limits.max_bytes = before + 5000;
    for (; i < 10000 && !rc; i++) {
        dwarf_begin_chunk(&m.b, BASE + 16 * i);
        rc = dwarf_put_row(&m.b, BASE + 16 * i, 1, 1, i);
        rc = rc ? rc : dwarf_end_chunk(&m.b, BASE + 16 * i + 16);
    }
    CHECK_EQ(rc, -ENOSPC);
    CHECK_EQ(m.b.cuts, DWARF_CUT_BYTES);
    CHECK(m.b.rows.n + 8 * m.b.blocks.n > 5000);
    CHECK(m.b.rows.n + 8 * m.b.blocks.n < 5000 + 100);
    CHECK_EQ(made_end(&m), 0); /* what came before it is good */
    CHECK_EQ(m.x.h->cuts, DWARF_CUT_BYTES);
    CHECK_EQ(m.x.h->nblocks, i - 1);
}

TEST(line_rows_of_nothing_are_an_index_of_nothing)
{
    AUTO_MADE m = {.len = 0};
    char text[64];
    made_begin(&m);
    m.b.functions = 12;
    dwarf_begin_chunk(&m.b, BASE);
    CHECK_EQ(dwarf_end_chunk(&m.b, BASE), 0);
    CHECK_EQ(made_end(&m), 0);
    CHECK_EQ(m.x.h->nblocks, 0);
    CHECK_EQ(m.x.h->functions, 12);
    CHECK_EQ(m.x.h->rows_len, 0);
    CHECK_STR(at(&m, BASE, text), "-");
}
