#include "runtime/beam.h"
#include "runtime/beam_crafted.h"
#include "runtime/crafted_test.h"
#include <errno.h>

static u64 word_at(u64 pc)
{
    return XP_SCRIPT_WORD(XP_LANGUAGE_BEAM, pc);
}

static const char *frame_at(const struct crafted *c, const struct buf *attached, u64 word)
{
    return frames_in(c, attached, word, XP_MORE_WORD(0, 0), true);
}

static struct beam beam_of(const struct buf *attached)
{
    struct beam b = {0};
    crafted_said(attached, &runtime_beam, &b, sizeof(b));
    return b;
}

TEST(erlang_says_where_stacks_begin)
{
    for (unsigned i = 0; i < CRAFTED_BUILDS; i++) {
        CRAFT(i);
        struct xp_machine m;
        CHECK(runtime_machine(a.data, a.len, &m) && m.kind == XP_MACHINE_SCRIPT);
        const struct xp_beam *b = &m.script.beam;
        bool far = i & CRAFTED_FAR;
        CHECK(m.script.language == XP_LANGUAGE_BEAM && m.script.found == XP_ROOT_THREAD);
        CHECK_EQ(m.script.tls, i & CRAFTED_MUSL ? 0x80 : 0x318 + 64);
        CHECK_EQ(m.script.slot, i & CRAFTED_MUSL ? 25 : 0);
        CHECK_EQ(b->exit, CRAFTED_SHOP + 0x230);
        CHECK(b->main == c->main && b->main_bytes == 0x80 && b->frame == CRAFTED_FRAME);
        CHECK_EQ(b->caller, CRAFTED_CALLER);
        CHECK(b->registers == (far ? 0x80 : 0x40) && b->scheduler_registers == (far ? 8 : 0));
        CHECK_EQ(b->scheduler_process, i & CRAFTED_IDLE ? 0xa8 : CRAFTED_CURRENT);
        CHECK_STR(crafted_about(c), "machine\tErlang/OTP 27 with JIT\ncode\t3 modules, 0 KiB\nschedulers\tfound\n");
    }
}

TEST(erlang_is_told_apart)
{
    static const char *const needed[] = {"beam_normal_exit", "erts_aligned_scheduler_data", "__jit_debug_descriptor"};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
        crafted_make(c, 0);
        crafted_rename(c, needed[i]);
        CHECK_EQ(attach_alone(c), -ENODATA);
    }
    for (u32 i = 0; i < 4; i++) { /* what is not there at the start */
        crafted_make(c, 0);
        const u32 early[] = {c->exit, c->schedulers, c->descriptor + 16, c->first};
        crafted_put(c, early[i], 0, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN);
    }
    static const u8 at[] = {0, 4, 7, 11, 14, 18}; /* of code */
    for (size_t i = 0; i < sizeof(at); i++) {
        crafted_make(c, 0);
        c->bytes[c->main + at[i]] = 0xff;
        CHECK_EQ(attach_alone(c), i == 1 ? 0 : i == 5 ? 0 : -ENOTSUP);
    }
    crafted_make(c, 0);
    c->bytes[c->main + 5] = 0xff; /* much too large */
    c->bytes[c->main + 6] = 0xff;
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_make(c, 0);
    char *name = memmem(c->bytes, sizeof(c->bytes), "global::process_main", 20);
    *name = 'G';
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

/* Stacks are whole without them, but for those of C that is called with another stack. */
TEST(erlang_threads_need_not_be_found)
{
    CRAFT(0);
    crafted_put(c, CRAFTED_THREAD, 0, 8);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(attach(c, &b), 0);
    CHECK(beam_of(&b).machine.found == XP_ROOT_AT && !beam_of(&b).machine.tls);
    crafted_put(c, 0xc000 + CRAFTED_FRAME + 24, 0, 8);
    AUTO_BUF struct buf d = {0};
    CHECK_EQ(attach(c, &d), 0);
    CHECK_EQ(beam_of(&d).machine.beam.caller, 0);
}

TEST(erlang_functions_have_names_and_lines)
{
    CRAFT(0);
    static const struct {
        u64 word;
        const char *frame;
    } want[] = {
        {CRAFTED_SHOP + 0x31, "10 shop:sell/2 shop.erl:7"},
        {CRAFTED_SHOP + 0x3c, "10 shop:sell/2 shop.erl:7"}, /* behind the call */
        {(CRAFTED_SHOP + 0x3c) | XP_WORD_EXACT, "10 shop:sell/2 shop.erl:8"},
        {CRAFTED_SHOP + 0x50, "10 shop:sell/2 shop.erl:9"},
        {(CRAFTED_SHOP + 0x50) | XP_WORD_EXACT, "10 shop:'-sell/2-fun-0-'/1 :0"},
        {CRAFTED_SHOP + 0x60, "10 shop:'-sell/2-fun-0-'/1 shop.erl:11"},
        {CRAFTED_SHOP + 0x24, "10 shop:sell/2 :0"},
        {CRAFTED_CART + 5, "10 Elixir.Cart:add!/1 lib/cart.ex:3"},
        {CRAFTED_SHOP + 0x210, "6 global::apply_shared :0"},
        {CRAFTED_SHOP + 0x80, "6 [erlang] :0"},  /* between functions */
        {CRAFTED_SHOP + 0x350, "6 [erlang] :0"}, /* behind all modules */
        {CRAFTED_SHOP - 1, "6 [erlang] :0"},
    };
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
        CHECK_STR(
            frame_at(c, &a,
                     XP_SCRIPT_WORD(XP_LANGUAGE_BEAM, XP_WORD_ADDR(want[i].word)) | (want[i].word & XP_WORD_EXACT)),
            want[i].frame);
    CHECK_STR(frames_in(c, &a, word_at(CRAFTED_SHOP + 0x31), word_at(0), true), "6 [erlang] :0");
    CHECK_STR(frame_at(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, CRAFTED_SHOP + 0x31)), "6 [erlang] :0");
}

/* Lengths that lead behind the text: nothing of what comes then is believed. */
TEST(erlang_modules_may_be_bad)
{
    static const struct {
        u32 at, bytes;
        u64 v;
    } bad[] = {{24, 2, 0xffff},         {24, 2, 0}, {16, 4, 0}, {0, 4, 2}, {32 + 5 + 8, 4, 0x7fffffff},
               {32 + 5 + 12, 2, 0x7fff}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CRAFT(0);
        crafted_put(c, c->table + bad[i].at, bad[i].v, bad[i].bytes);
        CHECK_STR(frame_at(c, &a, word_at(CRAFTED_SHOP + 0x31)), "6 [erlang] :0");
        CHECK_STR(frame_at(c, &a, word_at(CRAFTED_CART + 5)), "10 Elixir.Cart:add!/1 lib/cart.ex:3");
    }
    CRAFT(0);
    crafted_put(c, c->last, c->last, 8); /* the list has no end */
    CHECK_STR(frame_at(c, &a, word_at(CRAFTED_CART + 5)), "10 Elixir.Cart:add!/1 lib/cart.ex:3");
}

TEST(erlang_replies_are_checked)
{
    CRAFT(0);
    struct beam b = beam_of(&a);
    CHECK_EQ(beam_check(&b, sizeof(b)), 0);
    CHECK_EQ(beam_check(&b, sizeof(b) - 1), -EBADMSG);
    CHECK_REFUSED(beam_check, b, machine.language = XP_LANGUAGE_PERL);
    CHECK_REFUSED(beam_check, b, machine.root = 1);
    CHECK_REFUSED(beam_check, b, machine.tls = -8);
    CHECK_REFUSED(beam_check, b, machine.tls = 8193);
    CHECK_REFUSED(beam_check, b, machine.slot = 8193);
    CHECK_REFUSED(beam_check, b, machine.found = XP_ROOT_AT);
    CHECK_REFUSED(beam_check, b, machine.found = XP_ROOT_POINTER);
    CHECK_REFUSED(beam_check, b, machine.pad = 1);
    CHECK_REFUSED(beam_check, b, machine.beam.exit = 1ull << 56);
    CHECK_REFUSED(beam_check, b, machine.beam.main = 1ull << 56);
    CHECK_REFUSED(beam_check, b, machine.beam.caller = 1ull << 56);
    CHECK_REFUSED(beam_check, b, machine.beam.main_bytes = 2 << 20);
    CHECK_REFUSED(beam_check, b, machine.beam.frame = 2 << 20);
    CHECK_REFUSED(beam_check, b, machine.beam.registers = 8193);
    CHECK_REFUSED(beam_check, b, machine.beam.scheduler_process = 8193);
    CHECK_REFUSED(beam_check, b, machine.beam.pad = 1);
    CHECK_REFUSED(beam_check, b, descriptor = 1ull << 56);
    CHECK_REFUSED(beam_check, b, release[1] = '\n');
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_BUILDS);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    (void)c;
    (void)bad;
    for (u32 i = 0; i < 8; i++)
        crafted_ask(out, word_at(CRAFTED_SHOP + 0x20 * i + 1), XP_MORE_WORD(0, 0));
    crafted_ask(out, word_at(any % CRAFTED_SIZE), XP_MORE_WORD(0, 0));
    crafted_ask(out, word_at(any), XP_MORE_WORD(0, 0));
}

TEST(crafted_erlangs_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
