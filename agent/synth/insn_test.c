#include "synth/insn_rows_test.h"

TEST(insn_stack)
{
    static const struct row rows[] = {
        {"55", "push.8 rbp store"},
        {"41 54", "push.8 r12 store"},
        {"54", "push.8 rsp store"},
        {"6a f0", "push.8 -16 store"},
        {"68 00 00 00 80", "push.8 -2147483648 store"},
        {"ff 74 24 08", "push.8 [rsp+8] store"},
        {"9c", "push.8 store"},
        {"0f a0", "push.8 store"},
        {"66 50", "- = rsp store"},
        {"66 48 50", "push.8 rax store"},
        {"5b", "pop.8 rbx = rbx"},
        {"5c", "pop.8 rsp = rsp"},
        {"41 5f", "pop.8 r15 = r15"},
        {"8f 04 24", "pop.8 [rsp+0] store"},
        {"8f c0", "pop.8 rax = rax"},
        {"8f e0", "invalid"},
        {"9d", "pop.8"},
        {"66 9d", "- = rsp"},
        {"0f a9", "pop.8"},
        {"66 5d", "- = rsp rbp"},
        {"c9", "leave.8 = rbp"},
        {"66 c9", "- = rsp rbp"},
        {"c8 10 00 01", "- = rsp rbp store wide"},
    };
    CHECK_ROWS(rows);
}

TEST(insn_control)
{
    static const struct row rows[] = {
        {"c3", "ret.8"},
        {"f3 c3", "ret.8"},
        {"c2 00 80", "ret.8 32768"},
        {"cb", "trap"},
        {"e8 fb ff ff ff", "call.8 -5 store"},
        {"66 48 e8 00 01 00 00", "call.8 256 store"},
        {"66 e8 00 01 00 00", "call.8 256 store"}, /* Intel: no 2-byte displacement in 64-bit mode */
        {"ff d0", "call.8 rax store"},
        {"41 ff 54 c5 08", "call.8 [r13+rax*8+8] store"},
        {"ff 15 10 00 00 00", "call.8 [rip+16] store"},
        {"eb 02", "jmp.8 2"},
        {"e9 00 00 00 80", "jmp.8 -2147483648"},
        {"ff e2", "jmp.8 rdx"},
        {"3e ff e2", "jmp.8 rdx"},
        {"ff 24 c5 00 00 00 10", "jmp.8 [+rax*8+268435456]"},
        {"74 80", "jcc.8 -128"},
        {"0f 85 00 00 01 00", "jcc.8 65536"},
        {"e2 fe", "jcc.8 -2 = rcx"},
        {"e3 10", "jcc.8 16"},
        {"c7 f8 10 00 00 00", "jcc.8 16 = rax"}, /* xbegin */
        {"cc", "trap"},
        {"0f 0b", "trap"},
        {"0f ff c0", "trap"},
        {"f4", "trap"},
        {"48 cf", "trap"},
        {"ff 28", "trap"},                                                                         /* far jmp */
        {"ff 18", "- = rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 store wide"}, /* and far call */
        {"ff d8", "invalid"},
        {"ff e8", "invalid"},
        {"ff f8", "invalid"},
        {"fe d0", "invalid"},
        {"cd 80", "- = rax"},
        {"0f 05", "- = rax rcx r11"},
    };
    CHECK_ROWS(rows);
}

TEST(insn_moves)
{
    static const struct row rows[] = {
        {"48 89 e5", "mov.8 rbp, rsp = rbp"},
        {"48 8b ec", "mov.8 rbp, rsp = rbp"},
        {"89 c0", "mov.4 rax, rax = rax"},
        {"66 89 d8", "mov.2 rax, rbx = rax"},
        {"88 e3", "mov.1 rbx, rax = rbx"},    /* bl = ah */
        {"40 88 e3", "mov.1 rbx, rsp = rbx"}, /* bl = spl */
        {"b4 01", "mov.1 rax, 1 = rax"},      /* ah */
        {"41 b4 ff", "mov.1 r12, -1 = r12"},  /* r12b */
        {"b8 00 00 00 80", "mov.4 rax, 2147483648 = rax"},
        {"66 b8 00 80", "mov.2 rax, -32768 = rax"},
        {"49 b8 88 77 66 55 44 33 22 11", "mov.8 r8, 1234605616436508552 = r8"},
        {"48 c7 c0 00 00 00 80", "mov.8 rax, -2147483648 = rax"},
        {"c7 00 ff ff ff ff", "mov.4 [rax+0], 4294967295 store"},
        {"c6 45 f8 ff", "mov.1 [rbp-8], -1 store"},
        {"48 89 5c 24 f8", "mov.8 [rsp-8], rbx store"},
        {"4c 8b 64 24 10", "mov.8 r12, [rsp+16] = r12"},
        {"64 48 8b 04 25 28 00 00 00", "mov.8 rax, fs:[+40] = rax"},
        {"64 2e 8b 00", "mov.4 rax, fs:[rax+0] = rax"}, /* cs does not undo fs */
        {"2e 8b 00", "mov.4 rax, [rax+0] = rax"},
        {"67 8b 45 00", "mov.4 rax, [rbp+0] = rax addr4"},
        {"48 63 04 8a", "movsxd.8 rax, [rdx+rcx*4+0] = rax"},
        {"63 c1", "- = rax"},
        {"48 8d 05 10 00 00 00", "lea.8 rax, [rip+16] = rax"},
        {"67 48 8d 05 10 00 00 00", "lea.8 rax, [rip+16] = rax addr4"},
        {"65 4a 8d 64 24 f0", "lea.8 rsp, [rsp+r12*1-16] = rsp"}, /* an address has no segment */
        {"48 8d 64 24 f0", "lea.8 rsp, [rsp-16] = rsp"},
        {"8d c0", "invalid"},
        {"c6 c8 01", "invalid"}, /* of this group there is mov, and xabort and xbegin */
        {"c6 78 01 01", "invalid"},
        {"c6 f9 10", "invalid"},
        {"c7 c8 01 00 00 00", "invalid"},
        {"48 a1 00 00 00 00 00 00 00 01", "- = rax"},
        {"67 a3 00 00 00 01", "- store addr4"},
        {"8c d8", "- = rax"},
        {"8e c8", "invalid"},
        {"8e f0", "invalid"},
        {"0f 20 c0", "- = rax"},
        {"0f 20 40", "- = rax"}, /* always a register */
        {"0f 20 c8", "invalid"}, /* cr1 */
    };
    CHECK_ROWS(rows);
}

TEST(insn_arithmetic)
{
    static const struct row rows[] = {
        {"48 83 ec 10", "sub.8 rsp, 16 = rsp"},
        {"48 81 c4 00 01 00 00", "add.8 rsp, 256 = rsp"},
        {"48 83 e4 c0", "and.8 rsp, -64 = rsp"},
        {"83 e4 f0", "and.4 rsp, -16 = rsp"},
        {"48 29 c4", "sub.8 rsp, rax = rsp"},
        {"48 2b 25 08 00 00 00", "sub.8 rsp, [rip+8] = rsp"},
        {"48 05 00 00 00 80", "add.8 rax, -2147483648 = rax"},
        {"66 05 00 80", "add.2 rax, -32768 = rax"},
        {"04 ff", "add.1 rax, -1 = rax"},
        {"48 01 04 24", "add.8 [rsp+0], rax store"},
        {"f0 48 01 04 24", "add.8 [rsp+0], rax store"},
        {"f0 48 01 c4", "invalid"},
        {"f0 48 03 04 24", "invalid"},
        {"48 39 c4", "-"},
        {"48 83 fc 10", "-"},
        {"48 3b 04 24", "-"},
        {"48 ff cc", "dec.8 rsp = rsp"},
        {"48 ff 44 24 08", "inc.8 [rsp+8] store"},
        {"fe c4", "inc.1 rax = rax"}, /* ah */
        {"48 94", "xchg.8 rsp, rax = rax rsp"},
        {"48 87 24 c5 00 00 00 00", "xchg.8 [+rax*8+0], rsp = rsp store"},
        {"31 c0", "- = rax"},
        {"45 31 c0", "- = r8"},
        {"09 c8", "- = rax"},
        {"48 85 c0", "-"},
        {"f6 c4 01", "-"},
        {"f7 c0 01 00 00 00", "-"},
        {"66 f7 c0 01 00", "-"},
        {"f7 d8", "- = rax"},
        {"f6 d4", "- = rax"}, /* not ah */
        {"48 f7 e1", "- = rax rdx"},
        {"f6 f1", "- = rax"},
        {"48 0f af c1", "- = rax"},
        {"48 6b c9 10", "- = rcx"},
        {"48 c1 e4 04", "- = rsp"},
        {"d3 24 24", "- store"},
        {"48 99", "- = rdx"},
        {"48 98", "- = rax"},
        {"9f", "- = rax"},
        {"9e", "-"},
        {"d7", "- = rax"},
    };
    CHECK_ROWS(rows);
}

TEST(insn_implicit)
{
    static const struct row rows[] = {
        {"0f a2", "- = rax rcx rdx rbx"},
        {"0f 31", "- = rax rdx"},
        {"0f 01 f9", "- = rax rcx rdx"},
        {"0f 01 d0", "- = rax rdx"},
        {"0f c1 d8", "- = rax rbx"},
        {"0f b1 0c 24", "- = rax store"},
        {"48 0f b1 cd", "- = rax rbp"},
        {"f0 48 0f c7 0c 24", "- = rax rdx store wide"},
        {"0f c7 0c 24", "- = rax rdx store"},
        {"48 0f c7 f5", "- = rbp"}, /* rdrand */
        {"f3 0f c7 f8", "- = rax"}, /* rdpid */
        {"0f 95 c4", "- = rax"},    /* setne ah */
        {"40 0f 95 c4", "- = rsp"},
        {"0f 95 45 00", "- store"},
        {"48 0f 44 ec", "- = rbp"},
        {"48 0f cd", "- = rbp"},
        {"f3 48 0f b8 c1", "- = rax"},
        {"0f b8 c1", "invalid"},
        {"48 0f ba f5 03", "- = rbp"},
        {"48 0f ba e5 03", "-"},
        {"0f b3 04 24", "- store wide"},
        {"f2 48 0f 38 f1 c1", "- = rax"},
        {"0f 38 f1 04 24", "- store"},
        {"f3 0f ae c5", "- = rbp"},    /* rdfsbase */
        {"f3 48 0f 1e cd", "- = rbp"}, /* rdssp */
        {"f3 0f 1e fa", "nop"},
        {"48 ab", "- = rdi store"},
        {"f3 48 ab", "- = rcx rdi store wide"},
        {"a4", "- = rsi rdi store"},
        {"ac", "- = rax rsi"},
        {"f2 ae", "- = rcx rdi"},
        {"a6", "- = rsi rdi"},
        {"6c", "- = rdi store"},
        {"df e0", "- = rax"},
        {"db 3c 24", "- store wide"},
        {"dd 1c 24", "- store"},
        {"d9 e2", "invalid"},
        {"0f ae 04 24", "- store wide"},
        {"0f ae e8", "nop"},
    };
    CHECK_ROWS(rows);
}

TEST(insn_vectors)
{
    static const struct row rows[] = {
        {"66 48 0f 7e c5", "- = rbp"}, /* movq rbp, xmm0 */
        {"f3 0f 7e c5", "-"},
        {"66 48 0f 6e c5", "-"},
        {"0f 50 e8", "- = rbp"},
        {"c5 f8 50 e8", "- = rbp"},
        {"66 0f d7 e8", "- = rbp"},
        {"66 0f c5 e8 01", "- = rbp"},
        {"66 48 0f 3a 16 c5 01", "- = rbp"},
        {"66 0f 3a 14 04 24 01", "- store"},
        {"66 0f 3a 63 c1 00", "- = rcx"},
        {"66 0f 3a 62 c1 00", "-"},
        {"f2 48 0f 2c e8", "- = rbp"},
        {"0f 2c e8", "-"}, /* to mm5 */
        {"0f 29 04 24", "- store wide"},
        {"f2 0f 11 04 24", "- store"},
        {"0f 7f 04 24", "- store"},
        {"c5 fc 29 04 24", "- store wide"},
        {"c5 fc 28 04 24", "-"},
        {"c4 e2 d3 f6 c1", "- = rax rbp"}, /* mulx */
        {"c4 e2 d0 f3 c9", "- = rbp"},     /* blsr */
        {"c4 e2 d0 f2 e9", "- = rbp"},     /* andn */
        {"c4 e3 fb f0 e9 05", "- = rbp"},  /* rorx */
        {"c4 e2 f9 f7 e9", "- = rbp"},     /* shlx */
        {"c5 fb 93 e9", "- = rbp"},        /* kmovd */
        {"c5 fb 92 e9", "-"},
        {"c5 f8 77", "-"},
        {"c4 e2 7d 92 04 0c", "-"},
        {"c4 e2 7d 92 01", "invalid"}, /* no index */
        {"62 f1 fe 48 6f 04 24", "-"},
        {"62 f1 7c 48 11 44 24 01", "- store wide"},
        {"62 f2 7e 48 32 04 24", "- store"}, /* vpmovqb: 8 bytes */
        {"62 f2 fd 48 a0 04 0c", "- store wide"},
        {"62 f2 fd 48 a0 00", "invalid"}, /* no index */
        {"62 f1 ff 08 2d e8", "- = rbp"},
        {"62 f5 7d 08 7e c5", "- = rbp"}, /* vmovw */
        {"66 c5 f8 77", "invalid"},
        {"48 c5 f8 77", "invalid"},
        {"c5 78 77", "-"},
        {"c4 e5 f8 77", "invalid"},
        {"8f e9 78 12 cd", "- = rbp"},             /* slwpcb */
        {"8f ea f8 10 e9 01 02 03 04", "- = rbp"}, /* bextr */
        {"0f 0f c1 9e", "-"},                      /* pfadd */
        {"0f 0f c1 9f", "invalid"},
        {"0f f7 c1", "- store"},
        {"0f 38 00 c1", "-"},
        {"f3 0f 38 00 c1", "invalid"},
    };
    CHECK_ROWS(rows);
}

TEST(insn_nops)
{
    static const struct row rows[] = {
        {"90", "nop"},
        {"66 90", "nop"},
        {"f3 90", "nop"},
        {"41 90", "xchg.4 r8, rax = rax r8"},
        {"0f 1f 84 00 00 00 00 00", "nop"},
        {"66 2e 0f 1f 84 00 00 00 00 00", "nop"},
        {"66 66 2e 0f 1f 84 00 00 00 00 00", "nop"},
        {"0f 18 0c 24", "nop"},
        {"0f 0d 08", "nop"},
    };
    CHECK_ROWS(rows);
}

/* Prefixes: the last REX counts, and only in front of the opcode; opcodes that are none in 64-bit mode. */
TEST(insn_prefixes)
{
    static const struct row rows[] = {
        {"48 40 89 e5", "mov.4 rbp, rsp = rbp"},
        {"48 66 89 e5", "mov.2 rbp, rsp = rbp"},
        {"66 48 89 e5", "mov.8 rbp, rsp = rbp"},
        {"f2 f3 0f 10 c1", "-"},
        {"06", "invalid"},
        {"27", "invalid"},
        {"60", "invalid"},
        {"82 c0 01", "invalid"},
        {"9a", "invalid"},
        {"ce", "invalid"},
        {"d5 0a", "invalid"},
        {"ea", "invalid"},
        {"0f 04", "invalid"},
        {"0f 36", "invalid"},
    };
    CHECK_ROWS(rows);
}

/* Where a memory operand says more than `describe` does of OTHER. */
TEST(insn_memory)
{
    static const struct {
        const char *hex, *expected;
    } rows[] = {
        {"0f 29 44 24 10", "[rsp+16]"},
        {"62 f1 7c 48 29 44 24 02", "[rsp+128]"}, /* units of 64 bytes */
        {"62 f1 7c 28 29 44 24 fe", "[rsp-64]"},
        {"62 f1 7c 48 29 84 24 02 00 00 00", "[rsp+2]"},
        {"62 f2 7e 48 32 44 24 01", "[rsp+8]"},
        {"62 f1 fd 08 d6 45 ff", "[rbp-8]"},
        {"62 f1 7c 48 28 44 24 02", ""}, /* a load: not known */
        {"62 f1 7c 48 28 05 02 00 00 00", "[rip+2]"},
        {"f3 48 ab", ""},
        {"0f ab 04 24", ""},
        {"0f ba 2c 24 01", "[rsp+0]"},
        {"c4 e2 fd 92 04 0c", ""},
        {"43 8b 04 2c", "[r12+r13*1+0]"},
        {"42 8b 04 25 00 00 00 00", "[+r12*1+0]"},
        {"41 8b 45 00", "[r13+0]"},
        {"41 8b 05 01 00 00 00", "[rip+1]"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        u8 bytes[32];
        size_t n = from_hex(rows[i].hex, bytes);
        struct insn insn;
        struct text t = {.n = 0};
        CHECK_EQ(insn_decode(bytes, n, &insn), n);
        add_operand(&t, "", &insn.mem);
        CHECK_STR(t.s, rows[i].expected);
    }
}

TEST(insn_fifteen_bytes)
{
    u8 bytes[INSN_MAX_BYTES + 2];
    struct insn insn;
    memset(bytes, 0x66, sizeof(bytes));
    bytes[INSN_MAX_BYTES - 1] = 0x90;
    CHECK_EQ(insn_decode(bytes, sizeof(bytes), &insn), INSN_MAX_BYTES);
    bytes[INSN_MAX_BYTES - 1] = 0x66;
    bytes[INSN_MAX_BYTES] = 0x90;
    CHECK_EQ(insn_decode(bytes, sizeof(bytes), &insn), 0);
    CHECK_EQ(decode_copy(bytes, INSN_MAX_BYTES, &insn), 0);
}

/* Every two bytes with everything behind them: lengths are in range, and nothing is read past them. */
TEST(insn_all_beginnings)
{
    for (u32 two = 0; two < 0x10000; two += 7) {
        u8 bytes[INSN_MAX_BYTES] = {(u8)two, (u8)(two >> 8), 0x38, 0x44, 0x24, 0x25, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        struct insn whole, exact;
        size_t len = insn_decode(bytes, sizeof(bytes), &whole);
        CHECK(len <= sizeof(bytes));
        if (!len)
            continue;
        CHECK_EQ(decode_copy(bytes, len, &exact), len);
        CHECK_EQ(decode_copy(bytes, len - 1, &exact), 0);
        CHECK_EQ(whole.writes, exact.writes);
    }
}
