/* Rules from states: which of them hold, which one is preferred, and how long one lasts. */
#include "synth/rules.h"
#include "base/test.h"

#define CFA(off)      VALUE(VALUE_STACK, 0, off)
#define OTHER(off)    VALUE(VALUE_STACK, 7, off)
#define ENTERED(reg)  VALUE(VALUE_ENTRY, reg, 0)
#define NOT_ORPHAN    (&(const struct frame){0})
#define PAIR(at, sum) ((s32)((u32)(u16)(at) | (u32)(sum) << 16))

static struct state entry(void)
{
    struct state s;
    state_entry(&s);
    return s;
}

/* "rsp+16 rbp+32 | cfa-16 | 3": the CFAs, where rbp is, and where rbx is (-1: lost). */
static const char *say(const struct rules *r)
{
    static const char *const cfa[XP_CFA_COUNT] = {
        [XP_CFA_RSP] = "rsp",         [XP_CFA_RBP] = "rbp",          [XP_CFA_RBX] = "rbx",
        [XP_CFA_DEREF_RBP] = "*rbp",  [XP_CFA_DEREF_RSP] = "*rsp",   [XP_CFA_REG] = "reg",
        [XP_CFA_RSP_DEREF] = "rsp+*", [XP_CFA_UNPROVEN] = "unproven"};
    static const char *const rbp[4] = {
        [XP_RBP_SAME] = "same", [XP_RBP_CFA] = "cfa", [XP_RBP_RSP] = "rsp", [XP_RBP_LOST] = "lost"};
    static char text[256];
    size_t n = 0;
    for (unsigned i = 0; i < r->ncfa; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%+d ", cfa[r->cfa[i] & 0xff], (s32)(u32)(r->cfa[i] >> 8));
    for (unsigned i = 0; i < r->nrbp; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%+d ", i ? "" : "| ", rbp[r->rbp[i] & 3],
                              (s16)(r->rbp[i] >> 8));
    for (unsigned i = 0; i < r->nrbx; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %d", i ? "" : "|",
                              r->rbx[i] == XP_SYNTH_RBX_LOST ? -1 : r->rbx[i]);
    return text;
}

static const char *says(const struct state *s, const struct frame *f)
{
    struct rules r;
    rules_at(s, f, &r);
    return say(&r);
}

TEST(rules_by_a_register)
{
    struct state s = entry();
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+8 | same+0 | 0");
    s.reg[INSN_RSP] = CFA(-32);
    s.reg[INSN_RBP] = CFA(-16);
    state_store(&s, CFA(-16), ENTERED(INSN_RBP));
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+32 rbp+16 | cfa-16 | 0");
    s.reg[INSN_RBX] = CFA(-24);
    state_store(&s, CFA(-24), ENTERED(INSN_RBX));
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+32 rbp+16 rbx+24 | cfa-16 | 3");
    s.reg[INSN_RSP] = VALUE_UNKNOWN;
    CHECK_STR(says(&s, NOT_ORPHAN), "rbp+16 rbx+24 | cfa-16 | 3");
    s.reg[INSN_RBP] = s.reg[INSN_RBX] = VALUE_UNKNOWN;
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
    s.reg[INSN_RDX] = CFA(-40); /* in a leaf any register will do; in DWARF's numbers rdx is 1, rsi 4, r10 10 */
    struct rules r;
    rules_at(&s, NOT_ORPHAN, &r);
    CHECK(r.ncfa == 1 && r.cfa[0] == ((u64)XP_CFA_REG | (u64)(u32)XP_REG_RULE(1, 40) << 8));
    s.reg[INSN_RDX] = VALUE_UNKNOWN;
    s.reg[INSN_RSI] = CFA(8);
    s.reg[10] = CFA(0);
    rules_at(&s, NOT_ORPHAN, &r);
    CHECK(r.ncfa == 1 && r.cfa[0] == ((u64)XP_CFA_REG | (u64)(u32)XP_REG_RULE(4, -8) << 8));
}

/* Its return address is gone: what is there is no function's frame. */
TEST(rules_above_the_return_address)
{
    struct state s = entry();
    CHECK(!rules_no_way_back(&s, NOT_ORPHAN));
    s.reg[INSN_RSP] = CFA(0);
    s.reg[INSN_RBP] = CFA(-16);
    CHECK(rules_no_way_back(&s, NOT_ORPHAN));
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
    s.reg[INSN_RSP] = CFA(-7);
    CHECK(rules_no_way_back(&s, NOT_ORPHAN));
    s.reg[INSN_RSP] = OTHER(0);
    CHECK(!rules_no_way_back(&s, NOT_ORPHAN));
}

TEST(rules_by_a_slot)
{
    struct state s = entry();
    s.reg[INSN_RSP] = OTHER(-16);
    s.reg[INSN_RBP] = OTHER(32);
    state_store(&s, OTHER(80), CFA(-24));
    char text[64];
    snprintf(text, sizeof(text), "*rsp%+d *rbp%+d | lost+0 | 0", PAIR(96, 24), PAIR(48, 24));
    CHECK_STR(says(&s, NOT_ORPHAN), text);
    state_store(&s, OTHER(0x9000), CFA(-24)); /* too far for a rule */
    CHECK_STR(says(&s, NOT_ORPHAN), text);
    state_smash(&s, OTHER(80), 8);
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
    state_store(&s, OTHER(-144), CFA(-24)); /* the last bytes that signal handlers leave alone */
    snprintf(text, sizeof(text), "*rsp%+d *rbp%+d | lost+0 | 0", PAIR(-128, 24), PAIR(-176, 24));
    CHECK_STR(says(&s, NOT_ORPHAN), text);
    state_smash(&s, OTHER(-144), 8);
    state_store(&s, OTHER(-152), CFA(-24));
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
    state_smash(&s, OTHER(-152), 8);
    s.reg[INSN_RSP] = OTHER(0);
    state_store(&s, OTHER(0), CFA(-0x9000)); /* too large a frame for such a rule */
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
}

/* A frame whose size was computed, and is kept in it. */
TEST(rules_by_a_size)
{
    struct state s = entry();
    char text[64];
    s.reg[INSN_RSP] = OTHER(-8);
    state_store(&s, OTHER(8), VALUE(VALUE_SIZE, 7, 24));
    snprintf(text, sizeof(text), "rsp+*%+d | same+0 | 0", PAIR(16, 32));
    CHECK_STR(says(&s, NOT_ORPHAN), text);
    state_store(&s, OTHER(8), VALUE(VALUE_SIZE, 9, 24)); /* another frame's */
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
    s.reg[INSN_RSP] = VALUE_UNKNOWN;
    state_store(&s, OTHER(8), VALUE(VALUE_SIZE, 7, 24));
    CHECK_STR(says(&s, NOT_ORPHAN), "unproven+0 | same+0 | 0");
}

TEST(rules_of_saved_registers)
{
    struct state s = entry();
    s.reg[INSN_RSP] = CFA(-64);
    state_store(&s, CFA(-16), ENTERED(INSN_RBP));
    state_store(&s, CFA(-32), ENTERED(INSN_RBX));
    state_store(&s, CFA(-40), ENTERED(INSN_RBP));
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+64 | same+0 cfa-16 cfa-40 | 0 4"); /* still there, too */
    s.reg[INSN_RBP] = s.reg[INSN_RBX] = VALUE_UNKNOWN;
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+64 | cfa-16 cfa-40 | 4");
    s.reg[INSN_RSP] = CFA(112); /* the first one is not safe any more, nor is the rest */
    s.reg[INSN_RAX] = CFA(0);
    state_smash(&s, CFA(-16), 8);
    state_smash(&s, CFA(-32), 8);
    s.reg[INSN_RSP] = CFA(-8);
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+8 | cfa-40 | -1");
    state_smash(&s, CFA(-40), 8);
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+8 | lost+0 | -1");
    s.reg[INSN_RSP] = CFA(-0x10000);
    state_store(&s, CFA(-0x8008), ENTERED(INSN_RBP)); /* 16 bits are all that a rule has */
    state_store(&s, CFA(-8 * XP_SYNTH_RBX_LOST), ENTERED(INSN_RBX));
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+65536 | lost+0 | -1");
    state_store(&s, CFA(-8 * XP_SYNTH_RBX_LOST + 8), ENTERED(INSN_RBX));
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+65536 | lost+0 | 126");
    state_smash(&s, CFA(-8 * XP_SYNTH_RBX_LOST + 8), 8);
    state_store(&s, CFA(-20), ENTERED(INSN_RBX)); /* not a multiple of 8 */
    state_store(&s, CFA(8), ENTERED(INSN_RBX));
    CHECK_STR(says(&s, NOT_ORPHAN), "rsp+65536 | lost+0 | -1");
}

TEST(rules_of_registers_below_an_unknown_frame)
{
    struct state s = entry();
    s.reg[INSN_RBP] = CFA(-16);
    s.reg[INSN_RSP] = OTHER(-32);
    s.reg[INSN_RBX] = VALUE_UNKNOWN;
    state_store(&s, OTHER(-24), ENTERED(INSN_RBP));
    state_store(&s, OTHER(-16), ENTERED(INSN_RBX)); /* of rbx a rule cannot say that */
    CHECK_STR(says(&s, NOT_ORPHAN), "rbp+16 | rsp+8 | -1");
    s.reg[INSN_RSP] = VALUE(VALUE_STACK, 9, 0);
    CHECK_STR(says(&s, NOT_ORPHAN), "rbp+16 | lost+0 | -1");
}

TEST(rules_of_an_orphan)
{
    struct state s = entry();
    struct frame f = {.orphan = true, .shift = 24};
    CHECK_STR(says(&s, &f), "rsp+32 | lost+0 | -1"); /* no way out says where they are */
    f.rbp = f.rbx = (struct answer){ANSWER_SAME, 0};
    CHECK_STR(says(&s, &f), "rsp+32 | same+0 | 0");
    f.rbp = (struct answer){ANSWER_SLOT, 8};
    f.rbx = (struct answer){ANSWER_SLOT, 0};
    CHECK_STR(says(&s, &f), "rsp+32 | cfa-16 | 3");
    s.reg[INSN_RBP] = VALUE(VALUE_SLOT, 0, 8); /* and is back in its register */
    CHECK_STR(says(&s, &f), "rsp+32 | same+0 cfa-16 | 3");
    f.rbp = f.rbx = (struct answer){ANSWER_LOST, 0};
    CHECK_STR(says(&s, &f), "rsp+32 | lost+0 | -1");
}

TEST(rules_last_while_one_holds)
{
    struct state s = entry();
    struct rules all, now, before;
    s.reg[INSN_RSP] = CFA(-32);
    s.reg[INSN_RBP] = CFA(-16);
    state_store(&s, CFA(-16), ENTERED(INSN_RBP));
    rules_at(&s, NOT_ORPHAN, &all);
    s.reg[INSN_RSP] = CFA(-40);
    rules_at(&s, NOT_ORPHAN, &now);
    CHECK(rules_narrow(&all, &now));
    CHECK_STR(say(&all), "rbp+16 | cfa-16 | 0");
    s.reg[INSN_RBP] = CFA(-24);
    rules_at(&s, NOT_ORPHAN, &now);
    before = all;
    CHECK(!rules_narrow(&all, &now));
    CHECK(all.ncfa == before.ncfa && all.cfa[0] == before.cfa[0] && all.nrbp == before.nrbp && all.nrbx == before.nrbx);
    s.reg[INSN_RBP] = CFA(-16);
    s.reg[INSN_RBX] = VALUE_UNKNOWN; /* neither the same rbx */
    rules_at(&s, NOT_ORPHAN, &now);
    CHECK(!rules_narrow(&all, &now));
    s.reg[INSN_RBX] = ENTERED(INSN_RBX);
    state_smash(&s, CFA(-16), 8); /* nor the same rbp */
    rules_at(&s, NOT_ORPHAN, &now);
    CHECK(!rules_narrow(&all, &now));
}

TEST(rules_the_first_is_picked)
{
    struct state s = entry();
    struct frame orphan = {.orphan = true, .rbp = {ANSWER_SAME, 0}, .rbx = {ANSWER_SAME, 0}};
    struct rules r;
    s.reg[INSN_RSP] = CFA(-32);
    s.reg[INSN_RBP] = CFA(-16);
    state_store(&s, CFA(-16), ENTERED(INSN_RBP));
    rules_at(&s, NOT_ORPHAN, &r);
    struct xp_rule got = rules_pick(&r, NOT_ORPHAN);
    CHECK(got.kind == (XP_RULE_KIND(XP_CFA_RSP, XP_RBP_CFA) | XP_RULE_SYNTH) && got.cfa_off == 32);
    CHECK(got.rbp_off == -16 && got.rbx == XP_RBX_SAME);
    CHECK_EQ(rules_pick(&r, &orphan).rbx, XP_RBX_INFERRED);
    rules_only(XP_CFA_END, &r);
    CHECK_EQ(rules_pick(&r, NOT_ORPHAN).kind, XP_CFA_END | XP_RULE_SYNTH);
    rules_only(XP_CFA_UNPROVEN, &r);
    got = rules_pick(&r, &orphan);
    CHECK(got.kind == (XP_CFA_UNPROVEN | XP_RULE_SYNTH) && !got.rbx && !got.cfa_off);
}
