/* Strings of V8, as names of functions. */
#include "runtime/v8_ask_test.h"

#define NONE "(anonymous)" /* the string is empty, or cannot be read */

/* The name of a function whose name is this string. */
static const char *name_with(struct crafted *c, const struct buf *attached, u32 string)
{
    static char name[16384];
    crafted_put(c, c->builtin + c->v->shared_name, crafted_pointer(string), 8);
    snprintf(name, sizeof(name), "%s", frame_of(c, attached, c->builtin, 0));
    if (strncmp(name, "5 ", 2) != 0 || strlen(name) < 5 || strcmp(name + strlen(name) - 3, " :0") != 0)
        return name;
    name[strlen(name) - 3] = 0;
    return name + 2;
}

static u32 thin(struct crafted *c, u32 string)
{
    return crafted_other(c, CRAFTED_THIN | CRAFTED_ONE, crafted_length(c, string), crafted_pointer(string), 0);
}

static u32 sliced(struct crafted *c, u32 string, s32 from, u32 n)
{
    return crafted_other(c, CRAFTED_SLICED | CRAFTED_ONE, n, crafted_pointer(string), crafted_number(from));
}

static u32 external(struct crafted *c, u32 type, const void *s, u32 n)
{
    u32 bytes = type & CRAFTED_ONE ? 1 : 2, at = crafted_alloc(c, n * bytes);
    memcpy(c->bytes + at, s, (size_t)n * bytes);
    return crafted_other(c, CRAFTED_EXTERNAL | type, n, 0, at);
}

TEST(strings_of_v8_become_utf8)
{
    static const char latin[] = {'d', (char)0xe9, 'f', (char)0xff};
    static const u16 wide[] = {0x6f22, 'x', 0x7f0, 0xd83d, 0xde00, '!'};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        CHECK_STR(name_with(c, &a, crafted_text(c, "plain")), "plain");
        CHECK_STR(name_with(c, &a, crafted_one(c, latin, 4)), "d\u00e9f\u00ff");
        CHECK_STR(name_with(c, &a, crafted_two(c, wide, 6)), "\u6f22x\u07f0\U0001f600!");
        CHECK_STR(name_with(c, &a, crafted_text(c, "")), NONE);
    }
}

TEST(halves_of_characters_alone_are_replaced)
{
    static const u16 lone[] = {0xd83d, 'a', 0xde00, 'b', 0xd83d, 0xd83d, 0xde00, 0xdc00, 'c'};
    CRAFT(CRAFTED_22);
    CHECK_STR(name_with(c, &a, crafted_two(c, lone, 9)), "\ufffda\ufffdb\ufffd\U0001f600\ufffdc");
    CHECK_STR(name_with(c, &a, crafted_two(c, lone, 1)), "\ufffd");
}

TEST(strings_may_have_their_text_elsewhere)
{
    static const u16 wide[] = {0x6f22, 0x5b57};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        u32 one = crafted_text(c, "left"), two = crafted_two(c, wide, 2);
        CHECK_STR(name_with(c, &a, thin(c, two)), "\u6f22\u5b57");
        CHECK_STR(name_with(c, &a, external(c, CRAFTED_ONE, "outside", 7)), "outside");
        CHECK_STR(name_with(c, &a, external(c, CRAFTED_TWO, wide, 2)), "\u6f22\u5b57");
        CHECK_STR(name_with(c, &a, crafted_cons(c, one, two)), "left\u6f22\u5b57");
        CHECK_STR(name_with(c, &a, crafted_cons(c, one, crafted_text(c, ""))), "left");
        CHECK_STR(name_with(c, &a, crafted_cons(c, crafted_text(c, ""), one)), "left");
        CHECK_STR(name_with(c, &a, sliced(c, one, 1, 2)), "ef");
        CHECK_STR(name_with(c, &a, sliced(c, one, 0, 4)), "left");
        u32 part = crafted_cons(c, crafted_cons(c, one, thin(c, two)), external(c, CRAFTED_ONE, "outside", 7));
        CHECK_STR(name_with(c, &a, part), "left\u6f22\u5b57outside");
        CHECK_STR(name_with(c, &a, sliced(c, part, 2, 6)), "ft\u6f22\u5b57ou"); /* over three of them */
        CHECK_STR(name_with(c, &a, sliced(c, part, 5, 1)), "\u5b57");
        CHECK_STR(name_with(c, &a, sliced(c, part, 8, 3)), "tsi"); /* in the last one */
        CHECK_STR(name_with(c, &a, sliced(c, sliced(c, part, 2, 6), 3, 2)), "\u5b57o");
    }
}

/* A pair of halves of a character may be in two parts. */
TEST(characters_may_begin_in_one_part_and_end_in_the_next)
{
    static const u16 high[] = {'<', 0xd83d}, low[] = {0xde00, '>'};
    CRAFT(CRAFTED_26);
    CHECK_STR(name_with(c, &a, crafted_cons(c, crafted_two(c, high, 2), crafted_two(c, low, 2))), "<\U0001f600>");
}

TEST(what_is_no_string_has_no_text)
{
    CRAFT(CRAFTED_18);
    u32 one = crafted_text(c, "text"), object = crafted_object(c, CRAFTED_NO_STRING | CRAFTED_ONE, 32);
    memcpy(c->bytes + object + 8, c->bytes + one + 8, 16);
    CHECK_STR(name_with(c, &a, object), NONE);
    CHECK_STR(name_with(c, &a, thin(c, object)), NONE);
    for (u32 form = 4; form < 8; form++) { /* forms that there are not */
        u32 odd = crafted_other(c, form | CRAFTED_ONE, 4, crafted_pointer(one), 0);
        CHECK_STR(name_with(c, &a, crafted_cons(c, one, odd)), form == CRAFTED_THIN ? "texttext" : NONE);
    }
    CHECK_STR(name_with(c, &a, CRAFTED_SIZE), NONE);
    CHECK_STR(name_with(c, &a, CRAFTED_SIZE - 4), NONE);
    u32 wide = crafted_two(c, (const u16[]){'w', 'x'}, 2);
    crafted_put(c, wide, crafted_pointer(CRAFTED_SIZE - 8), 8); /* the type is beyond the memory */
    CHECK_STR(name_with(c, &a, wide), NONE);
    crafted_put(c, wide, crafted_number(1), 8);
    CHECK_STR(name_with(c, &a, wide), NONE);
    u32 uncached = external(c, CRAFTED_ONE | CRAFTED_UNCACHED, "text", 4);
    CHECK_STR(name_with(c, &a, uncached), NONE);
}

TEST(strings_may_refer_to_nothing)
{
    CRAFT(CRAFTED_18);
    u32 one = crafted_text(c, "text");
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_THIN, 4, crafted_number(1), 0)), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_CONS, 8, crafted_number(1), crafted_pointer(one))), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_CONS, 8, crafted_pointer(one), 0)), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_CONS, 8, UINT64_MAX - 2, crafted_pointer(one))), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_SLICED, 2, crafted_number(1), crafted_number(0))), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_EXTERNAL | CRAFTED_ONE, 4, 0, 0)), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_EXTERNAL | CRAFTED_ONE, 4, 0, CRAFTED_SIZE - 2)), NONE);
    CHECK_STR(name_with(c, &a, crafted_other(c, CRAFTED_EXTERNAL | CRAFTED_ONE, 4, 0, UINT64_MAX)), NONE);
}

TEST(parts_of_strings_stay_inside)
{
    CRAFT(CRAFTED_22);
    u32 one = crafted_text(c, "inside"), behind = crafted_text(c, "behind");
    CHECK(behind > one);
    CHECK_STR(name_with(c, &a, sliced(c, one, 4, 2)), "de");
    CHECK_STR(name_with(c, &a, sliced(c, one, 4, 3)), NONE);
    CHECK_STR(name_with(c, &a, sliced(c, one, 7, 1)), NONE);
    CHECK_STR(name_with(c, &a, sliced(c, one, -1, 1)), NONE);
    CHECK_STR(name_with(c, &a, sliced(c, one, INT32_MIN, 1)), NONE);
    u32 longer = thin(c, one);
    crafted_put(c, longer + CRAFTED_LENGTH, 7, 4);
    CHECK_STR(name_with(c, &a, longer), NONE);
    u32 pair = crafted_cons(c, one, behind);
    crafted_put(c, pair + CRAFTED_LENGTH, 13, 4);
    CHECK_STR(name_with(c, &a, pair), NONE);
}

TEST(strings_without_end_are_bounded)
{
    CRAFT(CRAFTED_22);
    u32 self = crafted_cons(c, c->script, c->script), one = crafted_text(c, "x"), deep = one, wide = one;
    crafted_put(c, self + CRAFTED_FIRST, crafted_pointer(self), 8);
    crafted_put(c, self + CRAFTED_SECOND, crafted_pointer(self), 8);
    crafted_put(c, self + CRAFTED_LENGTH, 4000, 4);
    CHECK_STR(name_with(c, &a, self), NONE);
    u32 loop = thin(c, one);
    crafted_put(c, loop + CRAFTED_FIRST, crafted_pointer(loop), 8);
    CHECK_STR(name_with(c, &a, loop), NONE);
    loop = sliced(c, one, 0, 1);
    crafted_put(c, loop + CRAFTED_FIRST, crafted_pointer(loop), 8);
    CHECK_STR(name_with(c, &a, loop), NONE);
    for (u32 i = 1; i < 64; i++)
        deep = thin(c, deep);
    CHECK_STR(name_with(c, &a, deep), "x");
    CHECK_STR(name_with(c, &a, thin(c, deep)), NONE);
    for (u32 i = 0; i < 12; i++) /* 4096 parts */
        wide = crafted_cons(c, wide, wide);
    CHECK_STR(name_with(c, &a, wide), NONE);
}

TEST(long_strings_are_shortened)
{
    _Alignas(u16) char many[5000];
    memset(many, 'm', sizeof(many));
    CRAFT(CRAFTED_18);
    CHECK_EQ(strlen(name_with(c, &a, crafted_one(c, many, 1500))), 1500);
    CHECK_EQ(strlen(name_with(c, &a, crafted_two(c, (const u16 *)(const void *)many, 1500))), 3 * 1500);
    CHECK_EQ(strlen(name_with(c, &a, crafted_one(c, many, 4096))), 4096);
    const char *cut = name_with(c, &a, crafted_one(c, many, 4097));
    CHECK(strlen(cut) == 4096 + 3 && !strcmp(cut + 4094, "mm..."));
    u32 huge = crafted_one(c, many, 4097);
    crafted_put(c, huge + CRAFTED_LENGTH, UINT32_MAX, 4);
    CHECK_EQ(strlen(name_with(c, &a, huge)), 4096 + 3);
    CHECK_EQ(strlen(name_with(c, &a, sliced(c, huge, INT32_MAX, 1))), strlen(NONE));
    u32 end = CRAFTED_SIZE - 128; /* it goes on beyond the memory */
    memcpy(c->bytes + end, c->bytes + huge, 128);
    CHECK_STR(name_with(c, &a, end), NONE);
}
