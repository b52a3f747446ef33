/* Which opcodes exist, and with what: so that data between functions is not taken for code.
 *
 * A digit is an opcode, the leftmost of a row that with low half 0; its bits are the mandatory prefixes that it exists
 * with (enum insn_prefix: 1 none, 2: 66, 4: F3, 8: F2), once with an operand in memory and once with registers only.
 * Opcodes for which prefixes mean nothing special exist with all.
 *
 * Source: the opcode maps of the Intel SDM (volume 2, appendix A) and of the AMD APM (volume 3, appendix A), of Intel's
 * instruction set extensions reference what came after AVX-512 (AVX-VNNI-INT8 and 16, AVX-NE-CONVERT, CMPCCXADD,
 * SHA512, SM3, SM4, RAO-INT, AMX-FP16 and COMPLEX, USER-MSR). Reserved values of vvvv, L, W, z and b are not looked
 * for: what they make invalid would have changed vector registers only. APX and AVX10.2 are not known.
 */
#include "synth/insn_internal.h"

struct row {
    u64 memory, registers;
};

static const struct row legacy_0f[16] = {
    [0x0] = {0xffff0fffff0f0ff0, 0xffff0fffff0f0ff0}, [0x1] = {0xfff33373ffffffff, 0xffd03350ffffffff},
    [0x2] = {0xffff000033ffff33, 0xffff000033f0ff33}, [0x3] = {0xffffff0100000000, 0xffffff0100000000},
    [0x4] = {0xffffffffffffffff, 0xffffffffffffffff}, [0x5] = {0x0f553333fff7ffff, 0x3f553333fff7ffff},
    [0x6] = {0x3333333333332237, 0x3333333333332237}, [0x7] = {0xf00033311100aa77, 0xf3333331bb00aa77},
    [0x8] = {0xffffffffffffffff, 0xffffffffffffffff}, [0x9] = {0xffffffffffffffff, 0xffffffffffffffff},
    [0xa] = {0xffffff00ffffff7f, 0xffffff47ffffffff}, [0xb] = {0xffffffff4fffffff, 0xff0f00ff4fffffff},
    [0xc] = {0xfff1303fffffffff, 0xfff03337ffffffff}, [0xd] = {0xa333332033333333, 0xa33333e333333333},
    [0xe] = {0x333333e333333333, 0x333333e033333333}, [0xf] = {0x833333303333333f, 0x033333333333333f},
};

static const struct row legacy_0f38[16] = {
    [0x0] = {0x3333333333330000, 0x3333333333330000}, [0x1] = {0x2000220200003330, 0x2000220200003330},
    [0x2] = {0x2222220022220000, 0x2222220022020000}, [0x3] = {0x2222220222222222, 0x2222220222222222},
    [0x4] = {0x2200000000000000, 0x2200000000000000}, [0x8] = {0x2220000000000000, 0x0000000000000000},
    [0xc] = {0x0000000011111102, 0x0000000011111102}, [0xd] = {0x0000000040026666, 0x0000000000026222},
    [0xf] = {0xbb000270e100f000, 0x88000060c0440000},
};

static const struct row legacy_0f3a[16] = {
    [0x0] = {0x0000000022222223, 0x0000000022222223}, [0x1] = {0x0000222200000000, 0x0000222200000000},
    [0x2] = {0x2220000000000000, 0x2220000000000000}, [0x4] = {0x2220200000000000, 0x2220200000000000},
    [0x6] = {0x2222000000000000, 0x2222000000000000}, [0xc] = {0x0000000000001022, 0x0000000000001022},
    [0xd] = {0x0000000000000002, 0x0000000000000002}, [0xf] = {0x0000000000000000, 0x4000000000000000},
};

static const struct row vex_0f[16] = {
    [0x1] = {0xfff3337300000000, 0xffd0335000000000}, [0x2] = {0x0000000033c3cc33, 0x0000000033c0cc33},
    [0x4] = {0x0000000000000000, 0x0330333300330000}, [0x5] = {0x0f553333fff7ffff, 0x3f553333fff7ffff},
    [0x6] = {0x2222222222222226, 0x2222222222222226}, [0x7] = {0xe00022210000aa66, 0xe22222210000aa66},
    [0x9] = {0x3300000000000000, 0x30bb000033000000}, [0xa] = {0x0000000000000010, 0x0000000000000000},
    [0xc] = {0x00f0203000000000, 0x00f0223000000000}, [0xd] = {0xa222222022222222, 0xa222222222222222},
    [0xe] = {0x222222e222222222, 0x222222e022222222}, [0xf] = {0x8222222022222220, 0x0222222222222220},
};

static const struct row vex_0f38[16] = {
    [0x0] = {0x2222222222222222, 0x2222222222222222}, [0x1] = {0x0002002222202220, 0x0002002222002220},
    [0x2] = {0x2222220022222222, 0x2222220022020000}, [0x3] = {0x2222222222222222, 0x2222222222222222},
    [0x4] = {0x22000222030e0000, 0x2200022209000000}, [0x5] = {0xff22000022200000, 0xff2200002200c0f0},
    [0x6] = {0x0000000000000000, 0x0000000000003000}, [0x7] = {0x0040000022000000, 0x0040000022000000},
    [0x8] = {0x0000000000002020, 0x0000000000000000}, [0x9] = {0x2222002222222222, 0x0000002222222222},
    [0xa] = {0x0000002222222222, 0x0000002222222222}, [0xb] = {0xf600002222222222, 0x0000002222222222},
    [0xc] = {0x0000000000000002, 0x0000000000088802}, [0xd] = {0x0077000000f22222, 0x0077000000f22222},
    [0xe] = {0x2222222222222222, 0x0000000000000000}, [0xf] = {0x00110d8f00000000, 0x00110d8f00000000},
};

static const struct row vex_0f3a[16] = {
    [0x0] = {0x2220222022222222, 0x2220222022222222}, [0x1] = {0x0000222222000200, 0x0000222222000200},
    [0x2] = {0x2220000000000000, 0x2220000000000000}, [0x3] = {0x0000000022000000, 0x2222000022000000},
    [0x4] = {0x2220202022222000, 0x2220202022222000}, [0x5] = {0x0000000000002222, 0x0000000000002222},
    [0x6] = {0x2222000022222222, 0x2222000022222222}, [0x7] = {0x0000000022222222, 0x0000000022222222},
    [0xc] = {0x0000000000000022, 0x0000000000000022}, [0xd] = {0x0000000000000022, 0x0000000000000022},
    [0xf] = {0x8000000000000000, 0x8000000000000000},
};

static const struct row evex_0f[16] = {
    [0x1] = {0xfff3337300000000, 0xffd0335000000000}, [0x2] = {0x0000000033c3cc33, 0x0000000033c0cc33},
    [0x5] = {0x0f003333fff7ffff, 0x0f003333fff7ffff}, [0x6] = {0x222222222222222e, 0x222222222222222e},
    [0x7] = {0xe2222220ffee006e, 0xe2222220ffee006e}, [0xc] = {0x00f0203000000000, 0x00f0223000000000},
    [0xd] = {0x0222222022222222, 0x0222222022222222}, [0xe] = {0x222222e222222222, 0x222222e022222222},
    [0xf] = {0x0222222022222220, 0x0222222022222220},
};

static const struct row evex_0f38[16] = {
    [0x0] = {0x2000200000022200, 0x2000200000022200}, [0x1] = {0x6666662022222222, 0x6666662022002222},
    [0x2] = {0x6666666622222200, 0x6666666666422200}, [0x3] = {0x6666662222222222, 0x6666662266622222},
    [0x4] = {0x2022222200002222, 0x2022222200002222}, [0x5] = {0x22ea220022220000, 0x2262220022000000},
    [0x6] = {0x0022222080000000, 0x0022222080000000}, [0x7] = {0x22e2022222000222, 0x22e2022222222222},
    [0x8] = {0x0002000022220202, 0x0002000022220202}, [0x9] = {0x2222002222aa2222, 0x0000002222222222},
    [0xa] = {0x2222002222aa2222, 0x0000002222222222}, [0xb] = {0x0000222222222222, 0x0000222222222222},
    [0xc] = {0x0000202220222202, 0x0000200020222202}, [0xd] = {0x0000000000002222, 0x0000000000002222},
};

static const struct row evex_0f3a[16] = {
    [0x0] = {0x2202220032320002, 0x2202220032320002}, [0x1] = {0x0000222222220222, 0x0000222222220222},
    [0x2] = {0x2222023300000000, 0x2222023300000000}, [0x3] = {0x0000000022220022, 0x0000000022220022},
    [0x4] = {0x0022200000000000, 0x0022200000000000}, [0x5] = {0x2200223300000000, 0x2200223300000000},
    [0x6] = {0x0000003300000000, 0x0000003300000000}, [0x7] = {0x2222000000000000, 0x2222000000000000},
    [0xc] = {0x0050000000000022, 0x0050000000000022},
};

static const struct row evex_5[16] = {
    [0x1] = {0x4400000000000300, 0x4400000000000300}, [0x2] = {0x0000000000404411, 0x0000000000404411},
    [0x5] = {0x0500000055f75555, 0x0500000055f75555}, [0x6] = {0x0000000000000020, 0x0000000000000020},
    [0x7] = {0x0000000077a63f20, 0x0000000077a63f20},
};

static const struct row evex_6[16] = {
    [0x1] = {0x0003000000000000, 0x0003000000000000}, [0x2] = {0x0000000000002200, 0x0000000000002200},
    [0x4] = {0x0022000000002222, 0x0022000000002222}, [0x5] = {0x000000cc00000000, 0x000000cc00000000},
    [0x9] = {0x0000002222222222, 0x0000002222222222}, [0xa] = {0x0000002222222222, 0x0000002222222222},
    [0xb] = {0x0000002222222222, 0x0000002222222222}, [0xd] = {0x000000cc00000000, 0x000000cc00000000},
};

static const struct row xop_8[16] = {
    [0x8] = {0x0000011100000011, 0x0000011100000011}, [0x9] = {0x0000011100000011, 0x0000011100000011},
    [0xa] = {0x0011001000000000, 0x0011001000000000}, [0xb] = {0x0000001000000000, 0x0000001000000000},
    [0xc] = {0x1111000000001111, 0x1111000000001111}, [0xe] = {0x0000000000001111, 0x0000000000001111},
};

static const struct row xop_9[16] = {
    [0x0] = {0x0110000000000000, 0x0110000000000000}, [0x1] = {0x0000000000000000, 0x0010000000000000},
    [0x8] = {0x1111000000000000, 0x1111000000000000}, [0x9] = {0x1111111111110000, 0x1111111111110000},
    [0xc] = {0x0111001100010000, 0x0111001100010000}, [0xd] = {0x0111001100010000, 0x0111001100010000},
    [0xe] = {0x0111000000000000, 0x0111000000000000},
};

static const struct row xop_10[16] = {
    [0x1] = {0x1010000000000000, 0x1010000000000000},
};

/* 3DNow!: the opcode is the immediate. A bit each, the lowest of a row that with low half 0. */
static const u16 amd_3dnow[16] = {
    [0x0] = 0x3000, [0x1] = 0x3000, [0x8] = 0x4400, [0x9] = 0x44d1, [0xa] = 0x44d1, [0xb] = 0x88d1,
};

static const struct row *legacy_rows(u8 map)
{
    switch (map) {
    case INSN_MAP_0F:
        return legacy_0f;
    case INSN_MAP_0F38:
        return legacy_0f38;
    case INSN_MAP_0F3A:
        return legacy_0f3a;
    }
    return NULL;
}

static const struct row *rows_of(const struct insn_code *c)
{
    static const struct row *const vex[4] = {NULL, vex_0f, vex_0f38, vex_0f3a};
    static const struct row *const evex[8] = {NULL, evex_0f, evex_0f38, evex_0f3a, NULL, evex_5, evex_6, NULL};
    static const struct row *const xop[3] = {xop_8, xop_9, xop_10};
    switch (c->encoding) {
    case INSN_VEX:
        return c->map < 4 ? vex[c->map] : NULL;
    case INSN_EVEX:
        return evex[c->map & 7];
    case INSN_XOP:
        return c->map >= 8 && c->map <= 10 ? xop[c->map - 8] : NULL;
    }
    return legacy_rows(c->map);
}

/* Opcodes where ModRM.reg, or the whole ModRM byte, chooses among instructions and empty places. By mandatory prefix: a
 * bit for each value of reg with an operand in memory, and for each of the 64 values of reg and rm without. */
struct group {
    u8 memory[4];
    u64 registers[4];
};

static const struct group group_7 = {
    {0xdf, 0xdf, 0xff, 0xdf},
    {0xffffc1fffff38f7f, 0x33ff00ffff00f000, 0xf7fff5ffff000440, 0xf3ff03ffff000440},
};
static const struct group group_9 = {{0xfa, 0x42, 0x42, 0x02}, {~0ull << 48, ~0ull << 48, ~0ull << 48, 0}};
static const struct group group_12 = {{0}, {0x00ff00ff00ff0000, 0x00ff00ff00ff0000}}; /* 13, too */
static const struct group group_14 = {{0}, {0x00ff000000ff0000, 0xffff0000ffff0000}};
static const struct group group_15 = {
    {0xff, 0xc0, 0x50, 0},
    {~0ull << 40, 0x00ff000000000000, ~0ull >> 8, 0x00ff000000000000},
};
static const struct group group_sse4a = {{0xff}, {~0ull, 0xff, 0, ~0ull}};  /* and vmread */
static const struct group group_hash = {{0}, {0, 0, 0x0000000000010101}};   /* VIA's A6 */
static const struct group group_cipher = {{0}, {1, 1, 0x0000010101010101}}; /* A7 */

static const struct group *group_of(u8 opcode)
{
    switch (opcode) {
    case 0x01:
        return &group_7;
    case 0x71:
    case 0x72:
        return &group_12;
    case 0x73:
        return &group_14;
    case 0x78:
        return &group_sse4a;
    case 0xa6:
        return &group_hash;
    case 0xa7:
        return &group_cipher;
    case 0xae:
        return &group_15;
    case 0xc7:
        return &group_9;
    }
    return NULL;
}

/* Of x87, D8 to DF, the same; prefixes mean nothing. */
static const struct {
    u8 memory;
    u64 registers;
} x87[8] = {
    {0xff, 0xffffffffffffffff}, {0xfd, 0xffff7f33ff01ffff}, {0xff, 0x00000200ffffffff}, {0xaf, 0x00ffff1fffffffff},
    {0xff, 0xffffffffffffffff}, {0xdf, 0x0000ffffffffffff}, {0xff, 0xffffffff02ffffff}, {0xff, 0x00ffff01ffffffff},
};

static bool chosen(const struct insn_code *c, u8 memory, u64 registers)
{
    u8 reg = c->reg & 7;
    return insn_has_memory(c) ? memory >> reg & 1 : registers >> (8 * reg + (c->rm & 7)) & 1;
}

static bool legacy_exists(const struct insn_code *c)
{
    u8 o = c->opcode;
    if (c->map == INSN_MAP_3DNOW)
        return amd_3dnow[(u8)c->immediate >> 4] >> (c->immediate & 15) & 1;
    if (!c->map)
        return (o & 0xf8) != 0xd8 || chosen(c, x87[o & 7].memory, x87[o & 7].registers);
    if (c->map == INSN_MAP_0F38 && o == 0xd8) /* aesencwide and its kin */
        return (c->reg & 7) < 4;
    if (c->map == INSN_MAP_0F3A && o == 0xf0) /* hreset */
        return (c->reg & 7) == 0 && (c->rm & 7) == 0;
    if (c->map != INSN_MAP_0F)
        return true;
    if (o == 0x20 || o == 0x22) /* cr0, cr2, cr3, cr4, cr8 */
        return 0x11d >> c->reg & 1;
    if (o == 0x21 || o == 0x23) /* dr0 to dr7 */
        return c->reg < 8;
    const struct group *g = group_of(o);
    return !g || chosen(c, g->memory[c->prefix], g->registers[c->prefix]);
}

static bool in_rows(const struct insn_code *c)
{
    const struct row *rows = rows_of(c);
    u8 high = c->opcode >> 4, low = c->opcode & 15;
    if (!rows)
        return c->encoding == INSN_LEGACY && (!c->map || c->map == INSN_MAP_3DNOW);
    u64 row = insn_has_memory(c) ? rows[high].memory : rows[high].registers;
    return row >> (60 - 4 * low + c->prefix) & 1;
}

bool insn_exists(const struct insn_code *c)
{
    if (c->encoding == INSN_VEX && c->map == INSN_MAP_7) /* urdmsr, uwrmsr, with the register's number */
        return c->opcode == 0xf8 && c->prefix >= INSN_F3 && c->mod == 3;
    return in_rows(c) && (c->encoding != INSN_LEGACY || legacy_exists(c));
}

/* inc, dec, not, neg and arithmetic of the one-byte map; bts, btr, btc, xchg, xadd, cmpxchg. */
bool insn_lockable(const struct insn_code *c, const struct insn *insn)
{
    if (c->encoding != INSN_LEGACY || !insn_has_memory(c) || !insn->stores)
        return false;
    u8 o = c->opcode;
    if (!c->map)
        return o < 0x40 || (o >= 0x80 && o <= 0x87) || (o & 0xfe) == 0xf6 || ((o & 0xfe) == 0xfe && (c->reg & 7) < 2);
    if (c->map != INSN_MAP_0F)
        return false;
    return o == 0xab || o == 0xb3 || o == 0xba || o == 0xbb || (o & 0xfe) == 0xb0 || (o & 0xfe) == 0xc0 ||
           (o == 0xc7 && (c->reg & 7) == 1);
}
