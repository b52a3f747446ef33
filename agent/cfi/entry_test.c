/* The values of pointers, and what is read of CIEs, without a file around them. */
#include "cfi/entry.h"
#include "base/test.h"

static const u8 zeros[64];

TEST(cfi_pointers_by_encoding)
{
    static const struct {
        u8 encoding, used, bytes[12];
        u64 value;
    } cases[] = {
        {DW_EH_PE_absptr, 8, {1, 0, 0, 0, 0, 0, 0, 0x80}, 0x8000000000000001},
        {DW_EH_PE_udata8, 8, {1, 0, 0, 0, 0, 0, 0, 0x80}, 0x8000000000000001},
        {DW_EH_PE_sdata8, 8, {1, 0, 0, 0, 0, 0, 0, 0x80}, 0x8000000000000001},
        {DW_EH_PE_udata4, 4, {0xf0, 0xff, 0xff, 0xff}, 0xfffffff0},
        {DW_EH_PE_sdata4, 4, {0xf0, 0xff, 0xff, 0xff}, (u64)-16},
        {DW_EH_PE_sdata4, 4, {0xf0, 0xff, 0xff, 0x7f}, 0x7ffffff0},
        {DW_EH_PE_udata2, 2, {0xf0, 0xff}, 0xfff0},
        {DW_EH_PE_sdata2, 2, {0xf0, 0xff}, (u64)-16},
        {DW_EH_PE_sdata2, 2, {0xf0, 0x7f}, 0x7ff0},
        {DW_EH_PE_uleb128, 2, {0xf0, 0x7f}, 0x3ff0},
        {DW_EH_PE_sleb128, 2, {0xf0, 0x7f}, (u64)-16},
        {DW_EH_PE_pcrel | DW_EH_PE_sdata4, 4, {0xf0, 0xff, 0xff, 0xff}, 0x5000 - 16}, /* from where it is */
        {DW_EH_PE_pcrel | DW_EH_PE_udata2, 2, {0xf0, 0xff}, 0x5000 + 0xfff0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cfi_section s = {.data = cases[i].bytes, .len = 12, .vaddr = 0x5000};
        const u8 *p = cases[i].bytes, *end = p + cases[i].used;
        u64 v = 0, none = 77;
        CHECK(cfi_pointer(&s, cases[i].encoding, &p, end, &v));
        CHECK_EQ(v, cases[i].value);
        CHECK(p == end);
        p = cases[i].bytes;
        CHECK(!cfi_pointer(&s, cases[i].encoding, &p, end - 1, &none)); /* cut */
        CHECK_EQ(none, 77);
    }
}

TEST(cfi_pointers_that_nobody_can_read)
{
    static const u8 odd[] = {DW_EH_PE_datarel | DW_EH_PE_sdata4,
                             DW_EH_PE_textrel | DW_EH_PE_udata4,
                             DW_EH_PE_funcrel | DW_EH_PE_udata4,
                             DW_EH_PE_indirect | DW_EH_PE_absptr,
                             DW_EH_PE_omit,
                             0x05,
                             0x07,
                             0x0d};
    struct cfi_section s = {.data = zeros, .len = sizeof(zeros)};
    for (size_t i = 0; i < sizeof(odd); i++) {
        const u8 *p = zeros;
        u64 v = 77;
        CHECK(!cfi_pointer(&s, odd[i], &p, zeros + sizeof(zeros), &v));
        CHECK_EQ(v, 77);
    }
}

/* The value is at the next address that 8 divides; what is in between has to be there, too. */
TEST(cfi_pointers_that_are_aligned)
{
    static const u8 bytes[] = {0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
    struct cfi_section s = {.data = bytes, .len = sizeof(bytes), .vaddr = 0x1002};
    const u8 *p = bytes;
    u64 v = 0;
    CHECK(cfi_pointer(&s, DW_EH_PE_aligned, &p, bytes + 14, &v));
    CHECK(v == 5 && p == bytes + 14);
    p = bytes;
    CHECK(!cfi_pointer(&s, DW_EH_PE_aligned, &p, bytes + 13, &v));
    p = bytes;
    CHECK(!cfi_pointer(&s, DW_EH_PE_aligned, &p, bytes + 5, &v));
    p = bytes + 6;
    CHECK(cfi_pointer(&s, DW_EH_PE_aligned, &p, bytes + 14, &v) && v == 5); /* nothing in between */
}

struct cie_row {
    u8 len, bytes[28]; /* behind length and id: version, augmentation, factors, return address, instructions */
    bool usable, signal, sized;
    u8 encoding;
};

static const struct cie_row cies[] = {
    {7, {1, 0, 1, 0x78, 16, 0, 0}, true, false, false, 0},
    {7, {3, 0, 1, 0x78, 16, 0, 0}, true, false, false, 0},
    {8, {3, 0, 1, 0x78, 0x90, 0, 0, 0}, true, false, false, 0}, /* since version 3 it is a LEB128 */
    {8, {1, 0, 1, 0x78, 0x90, 0, 0, 0}, false, false, false, 0},
    {5, {3, 0, 1, 0x78, 0x90}, false, false, false, 0},
    {9, {4, 0, 8, 0, 1, 0x78, 16, 0, 0}, true, false, false, 0},
    {9, {4, 0, 4, 0, 1, 0x78, 16, 0, 0}, false, false, false, 0}, /* addresses of 4 bytes */
    {9, {4, 0, 8, 2, 1, 0x78, 16, 0, 0}, false, false, false, 0}, /* with segments */
    {7, {2, 0, 1, 0x78, 16, 0, 0}, false, false, false, 0},
    {7, {1, 0, 1, 0x78, 15, 0, 0}, false, false, false, 0}, /* another return address */
    {10, {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0}, true, false, true, 0x1b},
    {11, {1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b, 0}, true, true, true, 0x1b},
    {13, {1, 'z', 'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x03, 0, 0}, true, false, true, 0x03}, /* L is passed over */
    {17, {1, 'z', 'P', 'R', 0, 1, 0x78, 16, 6, 0x9b, 1, 2, 3, 4, 0x1b, 0, 0}, true, false, true, 0x1b},
    {12, {1, 'z', 'P', 'R', 0, 1, 0x78, 16, 2, 0xff, 0x1b, 0}, true, false, true, 0x1b}, /* no personality */
    {12, {1, 'z', 'P', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b, 0}, false, false, false, 0},  /* it is cut */
    {10, {1, 'z', 'R', 0, 1, 0x78, 16, 0, 0, 0}, false, false, false, 0},                /* R has no byte left */
    {10, {1, 'z', 'L', 0, 1, 0x78, 16, 0, 0, 0}, false, false, false, 0},
    {10, {1, 'z', 'P', 0, 1, 0x78, 16, 0, 0, 0}, false, false, false, 0},
    {11, {1, 'z', 'B', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0}, true, false, true, 0x1b},
    {12, {1, 'z', 'Q', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b, 0}, true, false, true, 0}, /* nobody knows Q */
    {10, {1, 'z', 'R', 0, 1, 0x78, 16, 99, 0x1b, 0}, false, false, false, 0},         /* longer than the CIE */
    {9, {1, 'Q', 0, 1, 0x78, 16, 0, 0, 0}, false, false, false, 0}, /* where the instructions begin is not known */
    {17, {1, 'e', 'h', 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0x78, 16, 0, 0}, true, false, false, 0}, /* gcc 2 */
    {9, {1, 'e', 'h', 0, 1, 2, 3, 4, 5}, false, false, false, 0},
    {10, {1, 0, 0x81, 0x80, 0x80, 1, 0x78, 16, 0, 0}, false, false, false, 0}, /* a factor that no machine has */
    {4, {1, 0, 1, 0x78}, false, false, false, 0},
    {3, {1, 'z', 'R'}, false, false, false, 0}, /* no end of the augmentation */
    {0, {0}, false, false, false, 0},
};

TEST(cfi_cies)
{
    for (size_t i = 0; i < sizeof(cies) / sizeof(*cies); i++) {
        u8 bytes[40] = {(u8)(4 + cies[i].len)};
        memcpy(bytes + 8, cies[i].bytes, cies[i].len);
        struct cfi c = {.nsections = 1};
        struct cfi_cie cie = {0};
        c.section[0] = (struct cfi_section){.data = bytes, .len = 8u + cies[i].len, .vaddr = 0x5000};
        cfi_parse_cie(&c, 0, &cie);
        if (cie.usable != cies[i].usable)
            test_fail(__FILE__, __LINE__, "CIE %zu is%s usable", i, cie.usable ? "" : " not");
        if (!cie.usable)
            continue;
        CHECK(cie.signal == cies[i].signal && cie.sized == cies[i].sized);
        CHECK_EQ(cie.encoding, cies[i].encoding);
        CHECK(cie.code_factor == 1 && cie.data_factor == -8);
        CHECK(cie.end == bytes + 8 + cies[i].len && cie.ins <= cie.end && cie.ins > bytes + 8);
    }
}
