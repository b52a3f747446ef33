#include "runtime/perl_ask_test.h"
#include <errno.h>

TEST(frames_of_perl_have_names_files_and_lines)
{
    static const char *const names[CRAFTED_SUBS] = {[CRAFTED_SUB] = "Foo::Bar::caf\u00e9",
                                                    [CRAFTED_ANON] = "Foo::Bar::__ANON__",
                                                    [CRAFTED_NAMED] = "Foo::Bar::caf\u00e9",
                                                    [CRAFTED_LEXICAL] = "lexical",
                                                    [CRAFTED_ALIAS] = "Foo::Bar::plain",
                                                    [CRAFTED_FORMAT] = "format Foo::Bar::STDOUT",
                                                    [CRAFTED_EVAL] = "(eval)",
                                                    [CRAFTED_REQUIRE] = "(require)",
                                                    [CRAFTED_MAIN] = "(main)"};
    for (unsigned i = 0; i < CRAFTED_VERSIONS * CRAFTED_BUILDS; i++) {
        CRAFT(i / CRAFTED_BUILDS, i % CRAFTED_BUILDS, CRAFTED_GLIBC);
        for (u32 k = 0; k < CRAFTED_SUBS; k++) {
            char want[128];
            snprintf(want, sizeof(want), "1 %s lib/Foo.pm:%u", names[k], 100 + k);
            CHECK_STR(frame_of(c, &a, k, at_cop(c, k, c->statement[k])), want);
            snprintf(want, sizeof(want), "1 %s page.tt:42", names[k]);
            CHECK_STR(frame_of(c, &a, k, at_cop(c, k, c->cop)), want);
        }
    }
}

/* The file is that of the first statement, which evals have none of. */
TEST(frames_of_perl_without_a_statement)
{
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    u32 gone = at_cop(c, CRAFTED_ANON, c->cop);
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, XP_PERL_LINE(7)), "1 Foo::Bar::__ANON__ lib/Foo.pm:7");
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, XP_PERL_LINE(0xffffffff)), "1 Foo::Bar::__ANON__ lib/Foo.pm:0");
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, 0), "1 Foo::Bar::__ANON__ lib/Foo.pm:0");
    CHECK_STR(frame_of(c, &a, CRAFTED_EVAL, XP_PERL_LINE(7)), "1 (eval) :7");
    crafted_put(c, c->cop + 32, 5, 4);
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, gone), "1 Foo::Bar::__ANON__ lib/Foo.pm:0");
    crafted_put(c, c->cop + 32, 0, 4); /* it was optimised away */
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, gone), "1 Foo::Bar::__ANON__ lib/Foo.pm:0");
    crafted_put(c, c->cop + 24, CRAFTED_NEXTSTATE, 8);
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, gone), "1 Foo::Bar::__ANON__ page.tt:42");
    crafted_put(c, c->cop + 48, 8, 8); /* a name that cannot be read */
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, gone), "1 Foo::Bar::__ANON__ :42");
    crafted_put(c, crafted_get(c, c->body[CRAFTED_ANON] + 40), crafted_get(c, c->body[CRAFTED_ANON] + 40), 8);
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, 0), "1 Foo::Bar::__ANON__ :0"); /* ops without end */
}

TEST(subs_of_perl_that_are_others_by_now_are_gone)
{
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    u64 word = XP_SCRIPT_WORD(XP_LANGUAGE_PERL, c->cv[CRAFTED_SUB]);
    u32 cookie = crafted_cookie(c, CRAFTED_SUB);
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 0), true), "1 Foo::Bar::caf\u00e9 lib/Foo.pm:0");
    crafted_put(c, crafted_get(c, c->body[CRAFTED_SUB] + 72) + 16, CRAFTED_ID + 50, 4);
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(cookie, 0), true), "7 [perl: gone] :0");
    cookie = crafted_cookie(c, CRAFTED_SUB);
    crafted_put(c, c->body[CRAFTED_SUB] + 48, 4711, 8); /* compiled meanwhile */
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(cookie, 0), true), "1 Foo::Bar::caf\u00e9 lib/Foo.pm:0");
    crafted_put(c, c->cv[CRAFTED_SUB] + 12, 255, 4);
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(cookie, 0), true), "7 [perl: gone] :0");
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 0), true), "7 [perl: gone] :0");
}

/* Subs keep the CV of what they are from. */
TEST(files_and_evals_of_perl_that_have_run_are_gone)
{
    static const u32 subs[] = {CRAFTED_EVAL, CRAFTED_REQUIRE};
    for (unsigned i = 0; i < 2; i++) {
        CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
        crafted_put(c, c->body[subs[i]] + 96, 0, 4);
        CHECK_STR(frame_of(c, &a, subs[i], at_cop(c, subs[i], c->cop)), "7 [perl: gone] :0");
        CHECK_STR(frame_of(c, &a, subs[i], XP_PERL_LINE(3)), i ? "1 (require) :3" : "1 (eval) :3");
        crafted_put(c, c->body[subs[i]] + 92, 0x900, 4); /* it is compiled, and a block of BEGIN runs */
        CHECK_STR(frame_of(c, &a, subs[i], at_cop(c, subs[i], c->cop)),
                  i ? "1 (require) page.tt:42" : "1 (eval) page.tt:42");
    }
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    crafted_put(c, c->body[CRAFTED_MAIN] + 96, 0, 4);
    CHECK_STR(frame_of(c, &a, CRAFTED_MAIN, at_cop(c, CRAFTED_MAIN, c->cop)), "1 (main) page.tt:42");
}

TEST(subs_of_perl_may_have_no_name)
{
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    u64 word = XP_SCRIPT_WORD(XP_LANGUAGE_PERL, c->cv[CRAFTED_SUB]);
    u64 gv = crafted_get(c, c->body[CRAFTED_SUB] + 56), hek = crafted_get(c, crafted_get(c, gv) + 32);
    crafted_put(c, hek + 4, 1u << 31, 4);
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 0), true), "1 [perl] :0");
    crafted_put(c, hek + 4, 0, 4);
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 0), true), "1 [perl] :0");
    crafted_put(c, gv + 12, 12, 4); /* not a glob */
    CHECK_STR(frames_in(c, &a, word, XP_MORE_WORD(0, 0), true), "1 [perl] :0");
    CHECK_STR(frames_in(c, &a, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->cv[CRAFTED_SUB]), XP_MORE_WORD(0, 0), true),
              "1 [perl] :0");
    crafted_put(c, c->stash + 12, 12, 4); /* a package that was deleted */
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, 0), "1 __ANON__::__ANON__ lib/Foo.pm:0");
}

TEST(packages_of_perl_may_have_had_several_names)
{
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    u64 aux = crafted_get(c, c->stash) + 32, names = crafted_alloc(c, 16);
    crafted_put(c, names + 8, crafted_get(c, aux), 8);
    crafted_put(c, aux, names, 8);
    crafted_put(c, aux + 28, 2, 4);
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, 0), "1 Foo::Bar::__ANON__ lib/Foo.pm:0");
    crafted_put(c, names, crafted_hek(c, "Other", 0), 8);
    CHECK_STR(frame_of(c, &a, CRAFTED_ANON, 0), "1 Other::__ANON__ lib/Foo.pm:0");
}

TEST(long_names_of_perl_are_shortened)
{
    char name[2000];
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    crafted_put(c, crafted_get(c, crafted_get(c, c->body[CRAFTED_SUB] + 56)) + 32, crafted_hek(c, name, 0), 8);
    const char *frame = frame_of(c, &a, CRAFTED_SUB, 0);
    CHECK_EQ(strlen(frame), strlen("1 Foo::Bar::") + 1024 + strlen("... lib/Foo.pm:0"));
}
