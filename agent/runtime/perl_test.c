#include "runtime/perl_ask_test.h"
#include <errno.h>

TEST(perl_says_where_its_frames_are)
{
    static const char *const versions[] = {"5.28.1", "5.32.1", "5.36.1", "5.40.1"};
    static const u8 found[] = {XP_ROOT_THREAD, XP_ROOT_POINTER, XP_ROOT_AT};
    for (unsigned i = 0; i < CRAFTED_VERSIONS * CRAFTED_BUILDS; i++) {
        CRAFT(i / CRAFTED_BUILDS, i % CRAFTED_BUILDS, CRAFTED_GLIBC);
        struct perl p = perl_of(&a);
        const struct xp_perl *x = &p.machine.perl;
        bool plain = c->build == CRAFTED_PLAIN;
        CHECK_STR(p.version, versions[i / CRAFTED_BUILDS]);
        CHECK(p.machine.language == XP_LANGUAGE_PERL && p.machine.found == found[c->build]);
        CHECK_EQ(p.machine.root, plain ? c->interpreter : c->build == CRAFTED_MULTIPLICITY ? c->current : 0);
        CHECK_EQ(x->stackinfo, plain ? 0 : c->v->stackinfo);
        CHECK_EQ(crafted_get(c, c->interpreter + (u64)x->cop), c->cop);
        CHECK_EQ(crafted_get(c, c->interpreter + (u64)x->main), c->cv[CRAFTED_MAIN]);
        CHECK(x->context_bytes == c->v->context && x->context_sub == c->v->sub && x->context_eval == c->v->eval);
        CHECK(x->context_cop == 16 && x->context_sub_return == 48 && x->subs == 0x600 && x->evals == 0x800);
        CHECK(x->info_contexts == 8 && x->info_prev == 16 && x->info_index == 32);
        CHECK(!x->cv_body && x->body_words == 32 && x->cop_words == 24 && x->pad_id == 16);
        CHECK(p.layout.nextstate == CRAFTED_NEXTSTATE && p.layout.dbstate == CRAFTED_DBSTATE);
        CHECK(p.layout.build == c->build && p.layout.aux_inside == c->v->aux_inside);
    }
}

TEST(perl_says_where_its_threads_have_their_interpreter)
{
    static const struct {
        s64 tls;
        u32 slot;
    } places[CRAFTED_LIBCS] = {{0x318 + 16 * 3, 0}, {0x518, 1 + 16 * 3 + 8}, {0x80, 1 + 8 * 2}};
    for (unsigned i = 0; i < CRAFTED_LIBCS; i++) {
        CRAFT(CRAFTED_5_36, CRAFTED_THREADS, i);
        CHECK_EQ(perl_of(&a).machine.tls, places[i].tls);
        CHECK_EQ(perl_of(&a).machine.slot, places[i].slot);
        crafted_put(c, c->key, 1, 4); /* another key */
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_put(c, c->key, 1u << 20, 4);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_make(c, CRAFTED_5_36, CRAFTED_THREADS, i);
        crafted_put(c, c->tls, c->tls + 8, 8); /* not the TLS base of a thread */
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
}

TEST(processes_without_a_perl_that_runs_are_told_apart)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    for (unsigned build = 0; build < CRAFTED_BUILDS; build++) {
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_rename(c, "PL_revision");
        CHECK_EQ(attach_alone(c), -ENODATA);
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_put(c, build == CRAFTED_PLAIN ? c->interpreter : c->current, 0, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN);
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_put(c, build == CRAFTED_PLAIN ? c->current : c->interpreter + c->v->main, 0, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN);
    }
    crafted_make(c, CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC); /* while the program is compiled */
    crafted_put(c, c->interpreter + c->v->main + 8, 0, 8);
    crafted_put(c, c->interpreter + c->v->main + 16, 0, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->body[CRAFTED_MAIN] + 92, 0, 4); /* a sub, not a program */
    CHECK_EQ(attach_alone(c), -EAGAIN);
}

TEST(perl_is_checked)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    for (unsigned build = 0; build < CRAFTED_BUILDS; build++) {
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_put(c, c->info, c->stack + 8, 8); /* another stack */
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_put(c, c->info + 32, 8, 4); /* more contexts than there is room for */
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_put(c, c->stack + 12, 12, 4); /* not an array */
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_make(c, CRAFTED_5_36, build, CRAFTED_GLIBC);
        crafted_put(c, c->info + 32, ~0u, 4); /* no frames */
        CHECK_EQ(attach_alone(c), 0);
    }
    crafted_make(c, CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    crafted_context(c, 2, 9, c->v->sub, c->stash); /* not a sub */
    if (c->build == CRAFTED_THREADS)
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_context(c, 1, 9, c->v->sub, c->cv[CRAFTED_FORMAT]); /* one is enough */
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->names + 8 * CRAFTED_DBSTATE, 0, 8);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(versions_of_perl_that_are_not_known_are_refused)
{
    static const u8 bad[][2] = {{5, 27}, {5, 43}, {6, 36}};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
        c->bytes[c->version[0]] = bad[i][0];
        c->bytes[c->version[1]] = bad[i][1];
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
}

TEST(perl_says_what_it_is)
{
    static const char *const lines[CRAFTED_BUILDS] = {
        "machine\tPerl 5.36.1\ninterpreter\tone for each thread (ithreads)\nthreads\t1 with an interpreter\n",
        "machine\tPerl 5.36.1\ninterpreter\tone at a time (multiplicity)\n",
        "machine\tPerl 5.36.1\ninterpreter\tone (no ithreads)\n"};
    for (unsigned build = 0; build < CRAFTED_BUILDS; build++) {
        CRAFT(CRAFTED_5_36, build, CRAFTED_GLIBC);
        CHECK_STR(crafted_about(c), lines[build]);
    }
}

/* ---- Hostile input */

#define REFUSES(change) CHECK_REFUSED(perl_check, sound, change)

TEST(perl_checks_what_it_is_told)
{
    CRAFT(CRAFTED_5_36, CRAFTED_THREADS, CRAFTED_GLIBC);
    struct perl sound = perl_of(&a);
    CHECK_EQ(perl_check(&sound, sizeof(sound)), 0);
    CHECK_EQ(perl_check(&sound, sizeof(sound) - 1), -EBADMSG);
    REFUSES(machine.tls = 8193);
    REFUSES(machine.tls = -1);
    REFUSES(machine.slot = (1u << 16) + 1);
    REFUSES(machine.root = 1ull << 56);
    REFUSES(machine.language = XP_LANGUAGE_PHP);
    REFUSES(machine.found = XP_ROOT_AT);
    REFUSES(machine.pad = 1);
    REFUSES(machine.perl.stackinfo = -8);
    REFUSES(machine.perl.cop = 8193);
    REFUSES(machine.perl.main = 8193);
    REFUSES(machine.perl.info_contexts = 8193);
    REFUSES(machine.perl.info_prev = 8193);
    REFUSES(machine.perl.info_index = 8193);
    REFUSES(machine.perl.context_bytes = 0);
    REFUSES(machine.perl.context_bytes = 100);
    REFUSES(machine.perl.context_bytes = 264);
    REFUSES(machine.perl.context_cop = 97);
    REFUSES(machine.perl.context_sub_return = 97);
    REFUSES(machine.perl.context_sub = 97);
    REFUSES(machine.perl.context_eval = 97);
    REFUSES(machine.perl.body_words = 8193);
    REFUSES(machine.perl.cop_words = 8193);
    REFUSES(machine.perl.pad_id = 8193);
    REFUSES(layout.main = 1ull << 56);
    REFUSES(layout.nextstate = 512);
    REFUSES(layout.dbstate = 512);
    REFUSES(layout.build = 3);
    REFUSES(layout.aux_inside = 2);
    REFUSES(layout.pad[0] = 1);
    REFUSES(version[0] = '\n');
    memset(sound.version, 'x', sizeof(sound.version));
    CHECK_EQ(perl_check(&sound, sizeof(sound)), -EBADMSG);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_VERSIONS, i / CRAFTED_VERSIONS % CRAFTED_BUILDS, i % CRAFTED_LIBCS);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    (void)bad;
    for (u32 k = 0; k < CRAFTED_SUBS; k++)
        crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, c->cv[k]),
                    XP_MORE_WORD(k & 1 ? 0 : crafted_cookie(c, k), at_cop(c, k, c->statement[k])));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, any), XP_MORE_WORD(0, any));
}

TEST(crafted_perls_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
