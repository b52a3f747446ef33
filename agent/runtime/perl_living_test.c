/* Reads a Perl that runs, of the version that is installed, and compares with what it says itself. */
#include "base/test.h"
#include "runtime/living_test.h"
#include "runtime/perl_internal.h"

#define PERL     "/usr/bin/perl"
#define MAX_WALK 64 /* stacks */

/* It waits below frames of all kinds; printed are those. */
static const char SCRIPT[] =
    "use utf8; binmode STDOUT, ':utf8'; $| = 1;\n"
    "sub stop {\n"
    "    my ($at, $said, $place) = (0, '', '-e|' . (__LINE__ + 7));\n"
    "    while (my @c = caller $at++) {\n"
    "        next if $c[3] eq '(eval)' && !defined $c[6];\n"
    "        $said .= \"$c[3]|$place;\";\n"
    "        $place = \"$c[1]|$c[2]\";\n"
    "    }\n"
    "    print \"$said(main)|$place;\\n\\n\";\n"
    "    <STDIN>;\n"
    "}\n"
    "package A::B; sub new { bless [] } sub DESTROY { eval {\n"
    "    main::stop() } } sub stra\u00dfe { my $x = shift;\n"
    "    my $f = sub { $x->(@_) };\n"
    "    return $f->(2) }\n"
    "sub AUTOLOAD { &stra\u00dfe }\n"
    "package main;\n"
    "my sub lexical { my @x = sort { A::B->missing; 0 } 1, 2 }\n"
    "sub deep { my $n = shift; $n ? deep($n - 1) : lexical() }\n"
    "*A::B::missing = sub { A::B::stra\u00dfe(sub {\n"
    "    eval qq{\\n#line 70 \"page.tt\"\\nmy \\$x = A::B->new;\\n undef \\$x} }) };\n"
    "deep(3);\n";

/* ---- The walk, as the unwinder does it */

struct walk {
    struct living *c;
    struct perl p;
    u64 cop;
    u32 calls; /* of the loop, as far as frames tell them */
};

static void add_frame(struct walk *w, u64 cv)
{
    const struct xp_perl *x = &w->p.machine.perl;
    u64 body = living_word(w->c, cv + x->cv_body), words[XP_PERL_WORDS];
    for (u32 i = 0; i < XP_PERL_WORDS; i++)
        words[i] = living_word(w->c, body + x->body_words + 8 * i);
    u32 id = (u32)living_word(w->c, words[XP_PERL_WORDS - 1] + x->pad_id);
    living_add(w->c, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, cv),
               XP_MORE_WORD(XP_PERL_COOKIE(words, id), XP_PERL_AT((s64)(w->cop - cv) / 8)));
}

static void walk_contexts(struct walk *w, u64 info)
{
    const struct xp_perl *x = &w->p.machine.perl;
    for (s32 i = (s32)living_word(w->c, info + x->info_index); i >= 0; i--) {
        u64 at = living_word(w->c, info + x->info_contexts) + (u64)i * x->context_bytes;
        u32 type = living_word(w->c, at) & 15, sub = x->subs >> type & 1;
        u64 cv = living_word(w->c, at + (sub ? x->context_sub : x->context_eval));
        w->calls += type == XP_PERL_NULL || (sub && !living_word(w->c, at + x->context_sub_return));
        if ((!sub && !(x->evals >> type & 1)) || !cv)
            continue;
        add_frame(w, cv);
        w->cop = living_word(w->c, at + x->context_cop);
    }
}

static void walk_all(void *arg)
{
    struct walk *w = arg;
    const struct xp_perl *x = &w->p.machine.perl;
    u64 interpreter = w->p.layout.main - (u64)x->main;
    u64 info = living_word(w->c, interpreter + (u64)x->stackinfo);
    w->calls = 0;
    w->cop = living_word(w->c, interpreter + (u64)x->cop);
    for (u32 i = 0; i < MAX_WALK && info; i++, info = living_word(w->c, info + x->info_prev))
        walk_contexts(w, info);
    add_frame(w, living_word(w->c, w->p.layout.main));
}

TEST(frames_of_a_living_perl_have_their_names_and_lines)
{
    struct living c;
    struct walk w = {.c = &c};
    const char *const argv[] = {PERL, "-e", SCRIPT, NULL};
    if (access(PERL, X_OK))
        SKIP("no perl is installed");
    bool began = living_begin(&c, argv), found = began && living_attach(&c, &runtime_perl, &w.p, sizeof(w.p));
    found = found && living_agree(&c, c.said, walk_all, &w);
    living_end(&c);
    CHECK(began);
    CHECK(found);
    CHECK_STR(c.got, c.said);
    CHECK_EQ(w.calls, 2); /* a block of sort, and DESTROY */
}
