/* Rows of code that is none, or made to be costly: crafted bytes instead of a fixture. */
#include "synth/synth.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "synth/crafted.h"
#include <errno.h>
#include <fcntl.h>

static int read_code(const u8 *code, size_t n, const struct synth_limits *limits, struct synth *out)
{
    AUTO_FREE u8 *file = malloc(CRAFTED_BASE + n);
    AUTO_ELF struct elf_file e = {0};
    if (!file)
        return -ENOMEM;
    crafted_file(file, code, n);
    int err = elf_open_memory(&e, file, CRAFTED_BASE + n);
    if (!err)
        err = synth_read(&e, NULL, 0, limits, out);
    return err ? err : crafted_is_sound(out) ? 0 : -EBADMSG;
}

static int read_all(const u8 *code, size_t n, struct synth *out)
{
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    limits.max_cpu_ms = 60000; /* sanitizers, loaded machines */
    return read_code(code, n, &limits, out);
}

/* lea rax, [rbp - 16]; cmp rax, r15; ret: how GHC's functions look whether there is stack for them. */
TEST(synth_knows_ghc)
{
    static const u8 unit[] = {0x48, 0x8d, 0x45, 0xf0, 0x4c, 0x39, 0xf8, 0xc3};
    static u8 code[64 * sizeof(unit)];
    AUTO_SYNTH struct synth s = {0}, once = {0};
    for (size_t i = 0; i < sizeof(code); i++)
        code[i] = unit[i % sizeof(unit)];
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    CHECK_EQ(s.dropped, SYNTH_DROP_GHC);
    CHECK_EQ(read_all(code, sizeof(unit), &once), 0);
    CHECK_EQ(once.dropped, SYNTH_DROP_NOT);
}

TEST(synth_every_limit_drops_all_rows)
{
    static u8 code[1 << 16];
    memset(code, 0x50, sizeof(code)); /* push rax */
    code[sizeof(code) - 1] = 0xc3;
    static const struct synth_limits limits[] = {
        {.max_code = 1 << 10, .max_insns = 1 << 20, .max_cpu_ms = 60000, .max_visits = 64},
        {.max_code = 1 << 20, .max_insns = 1 << 10, .max_cpu_ms = 60000, .max_visits = 64},
        {.max_code = 1 << 20, .max_insns = 1 << 20, .max_cpu_ms = 0, .max_visits = 64},
    };
    static const enum synth_drop why[] = {SYNTH_DROP_BYTES, SYNTH_DROP_INSNS, SYNTH_DROP_TIME};
    for (unsigned i = 0; i < 3; i++) {
        AUTO_SYNTH struct synth s = {0};
        CHECK_EQ(read_code(code, sizeof(code), &limits[i], &s), 0);
        CHECK_EQ(s.dropped, why[i]);
        CHECK(!s.rows.n && !s.ranges.n);
    }
    CHECK_STR(synth_drop_name(SYNTH_DROP_TIME), "time");
}

/* Each byte of these is an instruction's first or could be: jumps back and forth over one byte, prefixes, pops. */
TEST(synth_survives_code_that_overlaps)
{
    static const u8 units[][6] = {
        {2, 0xeb, 0xff},
        {2, 0x74, 0xfd},
        {3, 0x66, 0xeb, 0xfe},
        {1, 0x58},
        {5, 0xe8, 0xff, 0xff, 0xff, 0xff},
        {4, 0x48, 0x83, 0xe4, 0xf0},
        {2, 0x70, 0x01},
    };
    static u8 code[1 << 18];
    for (unsigned u = 0; u < sizeof(units) / sizeof(*units); u++) {
        AUTO_SYNTH struct synth s = {0};
        for (size_t i = 0; i < sizeof(code); i++)
            code[i] = units[u][1 + i % units[u][0]];
        CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    }
}

/* sub rsp, rax; add rsp, 2^28 - 1; add rsp, rax: each round adds up to what the one before did. */
TEST(synth_survives_frames_that_grow)
{
    static const u8 unit[] = {0x48, 0x29, 0xc4, 0x48, 0x81, 0xc4, 0xff, 0xff, 0xff, 0x0f, 0x48, 0x01, 0xc4};
    static u8 code[20 * sizeof(unit) + 1];
    AUTO_SYNTH struct synth s = {0};
    for (size_t i = 0; i < sizeof(code) - 1; i++)
        code[i] = unit[i % sizeof(unit)];
    code[sizeof(code) - 1] = 0xc3;
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    CHECK_EQ(s.n.claimed_bytes, 0);
}

/* A million functions, each called by the one before, and none returns. */
TEST(synth_survives_a_million_entries)
{
    static const u8 call[] = {0xe8, 5, 0, 0, 0};
    AUTO_SYNTH struct synth s = {0};
    AUTO_FREE u8 *code = malloc(5u << 20);
    for (size_t i = 0; code && i < 1u << 20; i++)
        memcpy(code + 5 * i, call, sizeof(call));
    CHECK(code);
    CHECK_EQ(read_all(code, 5u << 20, &s), 0);
    CHECK(s.dropped);
}

/* lea rdx, [rip + table]; movsxd rax, [rdx + rdi * 4]; add rax, rdx; jmp rax, again and again over one table. */
TEST(synth_survives_tables_over_the_whole_file)
{
    static const u8 unit[] = {0x48, 0x8d, 0x15, 0, 0, 0, 0, 0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0};
    static u8 code[1 << 18];
    AUTO_SYNTH struct synth s = {0};
    u32 half = sizeof(code) / 2;
    for (u32 i = 0; i < half / sizeof(unit); i++) {
        s32 disp = (s32)(half - i * sizeof(unit) - 7);
        memcpy(code + i * sizeof(unit), unit, sizeof(unit));
        memcpy(code + i * sizeof(unit) + 3, &disp, sizeof(disp));
    }
    for (u32 i = 0; i < half / 4; i++) {
        s32 to = (s32)((i * 16) % half) - (s32)half;
        memcpy(code + half + i * 4, &to, sizeof(to));
    }
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
}

TEST(synth_survives_text_that_is_data)
{
    static u8 code[1 << 20];
    AUTO_SYNTH struct synth s = {0};
    u64 x = 88172645463325252ull;
    for (size_t i = 0; i < sizeof(code); i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        code[i] = (u8)x;
    }
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    CHECK(s.dropped == SYNTH_DROP_UNLIKELY || s.n.claimed_bytes < s.n.code_bytes / 2);
}

/* jle into the second gap: what flows on there is a row of that gap, not the tail of one of the first. */
TEST(synth_rows_end_where_their_gap_does)
{
    static const u8 code[] = {0x7e, 0x01, 0xc3, 0x01, 0xc6, 0xc3};
    static const struct synth_span covered = {CRAFTED_BASE + 2, CRAFTED_BASE + 3};
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    u8 file[CRAFTED_BASE + sizeof(code)];
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    crafted_file(file, code, sizeof(code));
    CHECK_EQ(elf_open_memory(&e, file, sizeof(file)), 0);
    CHECK_EQ(synth_read(&e, &covered, 1, &limits, &s), 0);
    CHECK_EQ(s.ranges.n, 2);
    CHECK(crafted_is_sound(&s));
    CHECK_EQ(s.n.claimed_bytes, 5);
}

/* xor ebp, ebp; lea rdi, [rip + main]; call init; hlt; init: jmp [rax]; main: sub rsp, 8; jmp main_loop. */
TEST(synth_finds_main)
{
    static const u8 code[] = {0x31, 0xed, 0x48, 0x8d, 0x3d, 0x08, 0,    0,    0, 0xe8, 1,    0,
                              0,    0,    0xf4, 0xff, 0x20, 0x48, 0x83, 0xec, 8, 0xeb, 0xfe, 0xcc};
    static u8 other[sizeof(code)];
    AUTO_SYNTH struct synth s = {0}, library = {0};
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    CHECK_EQ(s.n.claimed_bytes, 6);
    memcpy(other, code, sizeof(code));
    other[0] = 0x33; /* not how programs begin */
    CHECK_EQ(read_all(other, sizeof(other), &library), 0);
    CHECK_EQ(library.n.claimed_bytes, 0);
}

/* pop rax; pop rcx; push rcx; push rax; ret: while its own return address is popped, no frame is a function's. */
TEST(synth_no_frame_lies_above_its_return_address)
{
    static const u8 code[] = {0x58, 0x59, 0x51, 0x50, 0xc3};
    AUTO_SYNTH struct synth s = {0};
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    CHECK_EQ(s.dropped, SYNTH_DROP_NOT);
    CHECK_EQ(s.n.code_bytes, 5);
    CHECK_EQ(s.n.claimed_bytes, 2); /* the first, and ret */
}

/* Four functions that are called, long, and never seen to return: most of what was assumed of this code is not so. */
TEST(synth_drops_code_that_is_not_like_code)
{
    static u8 code[16 + 4 * 64];
    AUTO_SYNTH struct synth s = {0};
    memset(code, 0xf8, sizeof(code)); /* clc */
    for (u32 i = 0; i < 4; i++) {
        u32 disp = 32 + i * 64 - (i * 5 + 5);
        code[i * 5] = 0xe8;
        memcpy(code + i * 5 + 1, &disp, sizeof(disp));
        code[32 + i * 64 + 45] = 0x50; /* push rax; jmp [rax] */
        code[32 + i * 64 + 46] = 0xff;
        code[32 + i * 64 + 47] = 0x20;
    }
    code[20] = 0xc3;
    CHECK_EQ(read_all(code, sizeof(code), &s), 0);
    CHECK_EQ(s.n.proven, 1);
    CHECK_EQ(s.dropped, SYNTH_DROP_UNLIKELY);
    CHECK(!s.rows.n);
}
