/* Packages of split units: each unit is found by its id, with what belongs to it; a damaged index finds none. */
#include "base/test.h"
#include "dwarf/craft_test.h"
#include "dwarf/crafted.h"
#include "dwarf/file.h"
#include "dwarf/split.h"
#include <dwarf.h>

static const u16 nothing[] = {0};

#define PACKED 5
#define SLOTS  8

/* Ids that all want the same slot, with one step or another to the next. */
static u64 packed_id(u32 i)
{
    return 0x0000000300000002ull + ((u64)(i % 2) << 33) + ((u64)i << 40);
}

/* A split unit of version 5 without anything in it; the last one takes eight bytes more. */
static void put_packed(struct buf *b, u32 i)
{
    craft_put(b, 17 + (i == PACKED - 1 ? 8 : 0), 4);
    craft_put(b, 5, 2);
    craft_put(b, DW_UT_split_compile, 1);
    craft_put(b, 8, 1);
    craft_put(b, 0, 4);
    craft_put(b, packed_id(i), 8);
    craft_uleb(b, i + 1); /* its only entry: its own table has it, the others have not */
    if (i == PACKED - 1)
        craft_put(b, 0, 8);
}

/* The index as DWARF 5, 7.3.5.3 wants it: ids, rows of slots, names of columns, offsets of each unit. */
static void put_index(struct buf *b, const u32 *info_at, const u32 *abbrev_at)
{
    u64 ids[SLOTS] = {0};
    u32 rows[SLOTS] = {0};
    for (u32 i = 0; i < PACKED; i++) {
        u32 h = (u32)packed_id(i) & (SLOTS - 1), step = ((u32)(packed_id(i) >> 32) & (SLOTS - 1)) | 1;
        while (rows[h])
            h = (h + step) & (SLOTS - 1);
        ids[h] = packed_id(i);
        rows[h] = i + 1;
    }
    craft_put(b, 5, 4);
    craft_put(b, 2, 4);
    craft_put(b, PACKED, 4);
    craft_put(b, SLOTS, 4);
    buf_add(b, ids, sizeof(ids));
    buf_add(b, rows, sizeof(rows));
    craft_put(b, 1, 4); /* INFO */
    craft_put(b, 3, 4); /* ABBREV */
    for (u32 i = 0; i < PACKED; i++) {
        craft_put(b, info_at[i], 4);
        craft_put(b, abbrev_at[i], 4);
    }
}

struct package {
    struct buf info, abbrevs, index, file;
    struct elf_file elf;
    struct craft skeletons;
    struct buf linked_file;
    struct elf_file linked;
    struct dwarf_file d;
    struct dwarf_parts parts;
    struct dwarf_split split;
    u32 info_at[PACKED], abbrev_at[PACKED];
};

static void package_free(struct package *p)
{
    dwarf_split_close(&p->split);
    dwarf_file_close(&p->d);
    elf_close(&p->linked);
    craft_free(&p->skeletons);
    buf_free(&p->linked_file);
    elf_close(&p->elf);
    buf_free(&p->info);
    buf_free(&p->abbrevs);
    buf_free(&p->index);
    buf_free(&p->file);
}
#define AUTO_PACKAGE CLEANUP(package_free) struct package

/* Number i of the index's header is what it should be and `more`; `flags` are those of its section. */
static int package_new(struct package *p, unsigned i, u32 more, u64 flags)
{
    u32 number;
    for (u32 k = 0; k < PACKED; k++) {
        p->info_at[k] = (u32)p->info.len;
        p->abbrev_at[k] = (u32)p->abbrevs.len;
        put_packed(&p->info, k);
        craft_abbrev(&p->abbrevs, k + 1, DW_TAG_compile_unit, false, nothing);
        craft_put(&p->abbrevs, 0, 1);
    }
    put_index(&p->index, p->info_at, p->abbrev_at);
    memcpy(&number, p->index.data + 4 * i, 4);
    number += more;
    memcpy(p->index.data + 4 * i, &number, 4);
    const struct crafted_section s[] = {{".debug_info.dwo", p->info.data, p->info.len, 0},
                                        {".debug_abbrev.dwo", p->abbrevs.data, p->abbrevs.len, 0},
                                        {".debug_cu_index", p->index.data, p->index.len, flags}};
    crafted_elf(&p->file, s, 3);
    craft_abbrev(&p->skeletons.abbrev, 1, DW_TAG_compile_unit, false, nothing);
    craft_put(&p->skeletons.abbrev, 0, 1);
    size_t unit = craft_unit(&p->skeletons.info, 0);
    craft_uleb(&p->skeletons.info, 1);
    craft_end_unit(&p->skeletons.info, unit);
    int rc = craft_file(&p->skeletons, "", &p->linked_file);
    rc = rc ? rc : elf_open_memory(&p->linked, p->linked_file.data, p->linked_file.len);
    rc = rc ? rc : elf_open_memory(&p->elf, p->file.data, p->file.len);
    p->parts.dwp = &p->elf;
    p->split = (struct dwarf_split){.parts = &p->parts, .linked = &p->d};
    return rc ? rc : dwarf_file_open(&p->d, &p->linked, NULL, DWARF_ANY_SIZE);
}

static const struct dwarf_unit *unit_in(struct package *p, u64 id)
{
    struct dwarf_unit skeleton = {.dwo_id = id, .dwo_name = "x"};
    struct dwarf_file *file = NULL;
    return dwarf_split_unit(&p->split, &skeleton, &file);
}

TEST(dwarf_units_of_a_package)
{
    AUTO_PACKAGE p = {0};
    CHECK_EQ(package_new(&p, 0, 0, 0), 0);
    for (u32 turn = 0; turn < 2 * PACKED; turn++) { /* a unit may be asked for once more */
        u32 i = turn * 3 % PACKED;
        const struct dwarf_unit *u = unit_in(&p, packed_id(i));
        CHECK(u && u->off == p.info_at[i] && u->abbrev_off == p.abbrev_at[i] && u->dwo_id == packed_id(i));
    }
    CHECK(!unit_in(&p, packed_id(PACKED)));
}

/* Numbers that no index has: its version, columns, units, slots. */
TEST(dwarf_packages_that_are_damaged)
{
    static const struct {
        unsigned number;
        u32 more;
        u64 flags;
    } cases[] = {{0, 1, 0}, {0, (u32)-2, 0},     {1, 15, 0},       {2, SLOTS, 0},
                 {3, 1, 0}, {3, (u32)-SLOTS, 0}, {3, 1u << 20, 0}, {0, 0, SHF_COMPRESSED}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_PACKAGE p = {0};
        CHECK_EQ(package_new(&p, cases[i].number, cases[i].more, cases[i].flags), 0);
        for (u32 k = 0; k < PACKED; k++)
            CHECK(!unit_in(&p, packed_id(k)));
    }
}
