#include "runtime/dotnet.h"
#include "runtime/dotnet_crafted.h"
#include "runtime/crafted_test.h"
#include <errno.h>

static const char *const NAMES[CRAFTED_METHODS] = {"10 App.Program.Main :0", "10 App.Program.Inner.Run :0",
                                                   "10 App.Program.Get :0", "10 free :0", "10 IL_STUB_PInvoke :0"};

static u64 word_at(u64 pc)
{
    return XP_SCRIPT_WORD(XP_LANGUAGE_DOTNET, pc);
}

static const char *frame_at(const struct crafted *c, const struct buf *attached, u64 word)
{
    return frames_in(c, attached, word, XP_MORE_WORD(0, 0), true);
}

static struct dotnet dotnet_of(const struct buf *attached)
{
    struct dotnet d = {0};
    crafted_said(attached, &runtime_dotnet, &d, sizeof(d));
    return d;
}

TEST(dotnet_says_where_it_has_what)
{
    for (unsigned i = 0; i < CRAFTED_BUILDS; i++) {
        CRAFT(i);
        struct dotnet d = dotnet_of(&a);
        const struct dotnet_layout *l = &d.layout;
        CHECK(d.machine.language == XP_LANGUAGE_DOTNET && !d.machine.root);
        CHECK(l->code_method == 24 && l->code_parts == 32 && l->code_part == 36);
        CHECK(l->method_index == 2 && l->method_flags == 6 && l->method_unit == 8 && l->method_name == 16);
        CHECK(l->chunk_bytes == 24 && l->chunk_token == 18 && l->token_bits == 12);
        CHECK(l->table_token == 8 && l->table_class == 32 && l->table_module == 24 && l->class_table == 16);
        CHECK_EQ(l->module_base, 40);
        CHECK_STR(crafted_about(c), "machine\t.NET 9 or later\nlines\tnot known\n");
    }
}

TEST(dotnet_is_told_apart)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    crafted_make(c, 0);
    crafted_rename(c, "DotNetRuntimeContractDescriptor");
    CHECK_EQ(attach_alone(c), -ENODATA);
    static const u32 bad[][3] = {{0, 7, 1}, {12, 0, 4}, {12, 0x7fffffff, 4}, {12, 9, 4}, {16, 0xffffff, 4}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        crafted_make(c, 0);
        crafted_put(c, c->descriptor + bad[i][0], bad[i][1], bad[i][2]);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    static const char *const needed[] = {"\"Base\"", "\"ChunkIndex\"", "\"MethodTable\":{", "DescAlignment",
                                         "BitCount"};
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
        crafted_make(c, 0);
        char *at = memmem(c->bytes, sizeof(c->bytes), needed[i], strlen(needed[i]));
        CHECK(at);
        at[2] = '-';
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
}

TEST(dotnet_methods_have_the_names_of_their_types)
{
    for (unsigned i = 0; i < CRAFTED_BUILDS; i++) {
        CRAFT(i);
        for (u32 k = 0; k < CRAFTED_METHODS; k++) {
            CHECK_STR(frame_at(c, &a, word_at(c->code[k] + 1)), NAMES[k]);
            CHECK_STR(frame_at(c, &a, word_at(c->code[k] + CRAFTED_CODE)), NAMES[k]); /* behind a call at the end */
            CHECK_STR(frame_at(c, &a, word_at(c->code[k]) | XP_WORD_EXACT), NAMES[k]);
            CHECK_STR(frame_at(c, &a, word_at(c->code[k] + CRAFTED_CODE / 2 + 3)), NAMES[k]);
        }
    }
}

TEST(dotnet_code_of_no_method_is_told)
{
    CRAFT(0);
    static const char none[] = "6 [dotnet] :0";
    CHECK_STR(frame_at(c, &a, word_at(c->code[0])), none);                                /* in front of it */
    CHECK_STR(frame_at(c, &a, word_at(c->code[0] + CRAFTED_CODE) | XP_WORD_EXACT), none); /* behind it */
    CHECK_STR(frame_at(c, &a, word_at(5)), none);
    CHECK_STR(frames_in(c, &a, word_at(c->code[0] + 1), word_at(0), true), none);
    CHECK_STR(frame_at(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, c->code[0] + 1)), none);
    crafted_put(c, c->desc[0] - 24, c->table[1] + 8, 8); /* no table */
    CHECK_STR(frame_at(c, &a, word_at(c->code[0] + 1)), none);
    crafted_put(c, c->header[1] + 32, 0, 4); /* no parts */
    CHECK_STR(frame_at(c, &a, word_at(c->code[1] + 1)), none);
    crafted_put(c, c->header[2] + 36, 0x308, 4); /* another start */
    CHECK_STR(frame_at(c, &a, word_at(c->code[2] + 1)), none);
}

TEST(dotnet_methods_without_sound_metadata_have_no_name)
{
    static const char none[] = "6 [dotnet] :0";
    CRAFT(CRAFTED_LOADED);
    crafted_put(c, c->desc[0], 0x5000, 2); /* number 0 */
    CHECK_STR(frame_at(c, &a, word_at(c->code[0] + 1)), none);
    crafted_put(c, c->desc[0], 0x5005, 2); /* behind the last one */
    CHECK_STR(frame_at(c, &a, word_at(c->code[0] + 1)), none);
    crafted_put(c, c->table[1] + 8, 9 << 8, 4); /* a type behind the last one */
    CHECK_STR(frame_at(c, &a, word_at(c->code[1] + 1)), none);
    crafted_put(c, c->root, 0, 4);
    CHECK_STR(frame_at(c, &a, word_at(c->code[2] + 1)), none);
    crafted_make(c, 0);
    crafted_put(c, c->root - 0x80, 71, 4); /* another CLI header */
    CHECK_STR(frame_at(c, &a, word_at(c->code[2] + 1)), none);
    crafted_make(c, 0);
    crafted_put(c, CRAFTED_IMAGE + 0x40 + 24 + 0xe0 + 16, 0, 4); /* a section without bytes */
    CHECK_STR(frame_at(c, &a, word_at(c->code[2] + 1)), none);
}

TEST(dotnet_replies_are_checked)
{
    CRAFT(0);
    struct dotnet d = dotnet_of(&a);
    CHECK_EQ(dotnet_check(&d, sizeof(d)), 0);
    CHECK_EQ(dotnet_check(&d, sizeof(d) - 1), -EBADMSG);
    CHECK_REFUSED(dotnet_check, d, machine.language = XP_LANGUAGE_PERL);
    CHECK_REFUSED(dotnet_check, d, machine.root = 1);
    CHECK_REFUSED(dotnet_check, d, layout.code_part = 8193);
    CHECK_REFUSED(dotnet_check, d, layout.module_base = 8193);
    CHECK_REFUSED(dotnet_check, d, layout.method_unit = 0);
    CHECK_REFUSED(dotnet_check, d, layout.token_bits = 24);
    CHECK_REFUSED(dotnet_check, d, layout.pad[1] = 1);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_BUILDS);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    (void)bad;
    for (u32 i = 0; i < CRAFTED_METHODS; i++)
        crafted_ask(out, word_at(c->code[i] + 1 + 16 * i), XP_MORE_WORD(0, 0));
    crafted_ask(out, word_at(any % CRAFTED_SIZE), XP_MORE_WORD(0, 0));
    crafted_ask(out, word_at(any), XP_MORE_WORD(0, 0));
}

TEST(crafted_dotnets_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
