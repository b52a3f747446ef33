/* Lists of address ranges, as .debug_ranges (DWARF 2 to 4) and .debug_rnglists (5) write them: each kind of entry, what
 * linkers leave of code that they drop, and lists that are damaged. */
#include "base/buf.h"
#include "base/test.h"
#include "dwarf/file.h"
#include <dwarf.h>
#include <errno.h>

static const u8 addresses[] = {0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0};

static int note(void *arg, u64 lo, u64 hi)
{
    buf_printf(arg, "%llx-%llx ", (unsigned long long)lo, (unsigned long long)hi);
    return 0;
}

/* The ranges of a list at offset 2 of its section, for a unit at 0x4000. */
static int ranges(unsigned version, const u8 *bytes, size_t len, struct buf *out)
{
    u8 section[128] = {0xee, 0xee};
    struct dwarf_file d = {0};
    struct dwarf_unit u = {.low_pc = 0x4000, .version = (u16)version, .address_size = 8, .offset_size = 4};
    struct dwarf_die die = {.has_ranges = true, .ranges = 2};
    memcpy(section + 2, bytes, len);
    d.sec[version < 5 ? SEC_RANGES : SEC_RNGLISTS] = (struct elf_bytes){.data = section, .len = 2 + len};
    d.sec[SEC_ADDR] = (struct elf_bytes){.data = addresses, .len = sizeof(addresses)};
    int rc = dwarf_die_ranges(&d, &u, &die, note, out);
    buf_char(out, 0);
    return rc;
}

#define EIGHT(lo, hi) lo, hi, 0, 0, 0, 0, 0, 0
#define ONES          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define ONES_BUT_ONE  0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define PAIR(lo, hi)  EIGHT(lo, 0), EIGHT(hi, 0)
#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))

struct range_row {
    size_t len;
    u8 bytes[80];
    int rc;
    const char *ranges;
};

static bool agree(unsigned version, const struct range_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf out = {0};
        int rc = ranges(version, rows[i].bytes, rows[i].len, &out);
        if (rc == rows[i].rc && !strcmp(out.data, rows[i].ranges))
            continue;
        test_fail(__FILE__, __LINE__, "version %u, row %zu: %d \"%s\"", version, i, rc, out.data);
        return false;
    }
    return true;
}

TEST(dwarf_ranges_of_version_4)
{
    static const struct range_row rows[] = {
        {32, {PAIR(0x10, 0x20), PAIR(0, 0)}, 0, "4010-4020 "}, /* relative to the unit */
        {48, {PAIR(0, 0x20), PAIR(0x30, 0x31), PAIR(0, 0)}, 0, "4000-4020 4030-4031 "},
        {32, {PAIR(0x10, 0x10), PAIR(0, 0)}, 0, ""},                                 /* empty */
        {32, {PAIR(0x20, 0x10), PAIR(0, 0)}, 0, ""},                                 /* the wrong way round */
        {48, {ONES, EIGHT(0, 0x50), PAIR(1, 2), PAIR(0, 0)}, 0, "5001-5002 "},       /* a new base */
        {48, {ONES_BUT_ONE, ONES_BUT_ONE, PAIR(1, 2), PAIR(0, 0)}, 0, "4001-4002 "}, /* lld dropped this code */
        {16, {PAIR(1, 2)}, -EBADMSG, "4001-4002 "},                                  /* no end */
        {24, {PAIR(1, 2), EIGHT(3, 0)}, -EBADMSG, "4001-4002 "},
        {0, {0}, -EBADMSG, ""},
    };
    CHECK(agree(4, rows, COUNT(rows)));
}

TEST(dwarf_ranges_of_version_5)
{
    static const struct range_row rows[] = {
        {4, {DW_RLE_offset_pair, 0x10, 0x20, DW_RLE_end_of_list}, 0, "4010-4020 "},
        {4, {DW_RLE_startx_endx, 0, 1, DW_RLE_end_of_list}, 0, "1000-2000 "},
        {4, {DW_RLE_startx_length, 1, 8, DW_RLE_end_of_list}, 0, "2000-2008 "},
        {6, {DW_RLE_base_addressx, 1, DW_RLE_offset_pair, 1, 2, DW_RLE_end_of_list}, 0, "2001-2002 "},
        {13, {DW_RLE_base_address, EIGHT(0, 0x50), DW_RLE_offset_pair, 1, 2, DW_RLE_end_of_list}, 0, "5001-5002 "},
        {18, {DW_RLE_start_end, EIGHT(0, 0x60), EIGHT(4, 0x60), DW_RLE_end_of_list}, 0, "6000-6004 "},
        {11, {DW_RLE_start_length, EIGHT(0, 0x60), 6, DW_RLE_end_of_list}, 0, "6000-6006 "},
        /* What is dropped or points nowhere is left out, and the list goes on. */
        {15, {DW_RLE_start_length, ONES, 6, DW_RLE_startx_length, 0, 1, DW_RLE_end_of_list}, 0, "1000-1001 "},
        {15, {DW_RLE_base_address, ONES, DW_RLE_offset_pair, 1, 2, DW_RLE_startx_length, 0, 1}, -EBADMSG, "1000-1001 "},
        {7, {DW_RLE_startx_endx, 0, 9, DW_RLE_startx_length, 0, 1, DW_RLE_end_of_list}, 0, "1000-1001 "},
        {7, {DW_RLE_startx_endx, 9, 1, DW_RLE_startx_length, 0, 1, DW_RLE_end_of_list}, 0, "1000-1001 "},
        {7, {DW_RLE_startx_length, 9, 1, DW_RLE_startx_length, 0, 1, DW_RLE_end_of_list}, 0, "1000-1001 "},
        {4, {DW_RLE_offset_pair, 0x20, 0x10, DW_RLE_end_of_list}, 0, ""},
        {4, {DW_RLE_offset_pair, 0x10, 0x10, DW_RLE_end_of_list}, 0, ""},
        /* No end, cut, or a kind that nobody knows. */
        {3, {DW_RLE_offset_pair, 1, 2}, -EBADMSG, "4001-4002 "},
        {2, {DW_RLE_offset_pair, 1}, -EBADMSG, ""},
        {4, {DW_RLE_offset_pair, 1, 2, 0x77}, -EBADMSG, "4001-4002 "},
    };
    CHECK(agree(5, rows, COUNT(rows)));
}

static int stop(void *arg, u64 lo, u64 hi)
{
    ++*(int *)arg;
    return -EPERM;
}

/* Of many entries at one place no more are read than the bound says, and none after somebody had enough. */
TEST(dwarf_ranges_are_bounded)
{
    static u8 section[(DWARF_MAX_RANGES + 2) * 16];
    struct dwarf_file d = {.sec = {[SEC_RANGES] = {.data = section, .len = sizeof(section)}}};
    struct dwarf_unit u = {.version = 4, .address_size = 8, .offset_size = 4};
    struct dwarf_die die = {.has_ranges = true};
    AUTO_BUF struct buf out = {0};
    int calls = 0;
    for (size_t i = 0; i < DWARF_MAX_RANGES + 1; i++)
        section[i * 16 + 8] = 1;
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, note, &out), -ENOSPC);
    CHECK_EQ(out.len, DWARF_MAX_RANGES * strlen("0-1 "));
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, stop, &calls), -EPERM);
    CHECK_EQ(calls, 1);
}

TEST(dwarf_ranges_without_a_list)
{
    static const struct {
        struct dwarf_die die;
        const char *ranges;
    } cases[] = {
        {{.has_low = true, .low = 0x10, .high = 0x20}, "10-30 "}, /* high is a length */
        {{.has_low = true, .low = 0x10, .high = 0x20, .high_is_address = true}, "10-20 "},
        {{.has_low = true, .low = 0x30, .high = 0x20, .high_is_address = true}, ""},
        {{.has_low = true, .low = 0x10}, ""},
        {{.high = 0x20}, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct dwarf_file d = {0};
        struct dwarf_unit u = {.version = 5, .address_size = 8, .offset_size = 4};
        AUTO_BUF struct buf out = {0};
        CHECK_EQ(dwarf_die_ranges(&d, &u, &cases[i].die, note, &out), 0);
        buf_char(&out, 0);
        CHECK_STR(out.data, cases[i].ranges);
    }
}

/* DW_FORM_rnglistx: a number in the table of offsets, which count from the table. */
TEST(dwarf_ranges_by_index)
{
    static const u8 section[] = {0,
                                 0,
                                 0,
                                 0,
                                 8,
                                 0,
                                 0,
                                 0,
                                 12,
                                 0,
                                 0,
                                 0,
                                 DW_RLE_offset_pair,
                                 1,
                                 2,
                                 DW_RLE_end_of_list,
                                 DW_RLE_offset_pair,
                                 3,
                                 4,
                                 DW_RLE_end_of_list};
    struct dwarf_file linked = {0}, d = {.sec = {[SEC_RNGLISTS] = {.data = section, .len = sizeof(section)}}};
    struct dwarf_unit u = {.low_pc = 0x4000, .ranges_base = 4, .version = 5, .address_size = 8, .offset_size = 4};
    struct dwarf_die die = {.has_ranges = true, .ranges_indexed = true};
    AUTO_BUF struct buf out = {0};
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, note, &out), 0);
    die.ranges = 1;
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, note, &out), 0);
    buf_char(&out, 0);
    CHECK_STR(out.data, "4001-4002 4003-4004 ");
    die.ranges = 1u << 20;
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, note, &out), -EBADMSG);
    die.ranges = UINT64_MAX;
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, note, &out), -EBADMSG);

    /* A split unit has no base: its table is behind the section's header, of 12 bytes. */
    static const u8 split[] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, DW_RLE_offset_pair, 5, 6, DW_RLE_end_of_list};
    AUTO_BUF struct buf other = {0};
    d.skeleton = &linked;
    d.sec[SEC_RNGLISTS] = (struct elf_bytes){.data = split, .len = sizeof(split)};
    die.ranges = 0;
    CHECK_EQ(dwarf_die_ranges(&d, &u, &die, note, &other), 0);
    buf_char(&other, 0);
    CHECK_STR(other.data, "4005-4006 ");
}
