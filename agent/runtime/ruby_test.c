#include "runtime/ruby_ask_test.h"
#include <errno.h>

#define EACH_VERSION for (unsigned v = 0; v < CRAFTED_VERSIONS; v++)

TEST(ruby_is_found_in_all_versions)
{
    EACH_VERSION
    for (unsigned libc = 0; libc < (CRAFTED[v].by_key ? 1 : CRAFTED_LIBCS); libc++) {
        CRAFT(v, libc);
        struct ruby r = ruby_of(&a);
        struct xp_machine machine;
        CHECK(runtime_machine(a.data, a.len, &machine));
        CHECK_EQ(machine.kind, XP_MACHINE_SCRIPT);
        CHECK_EQ(machine.script.tls, r.machine.tls);
        CHECK_STR(r.version, CRAFTED[v].text);
        CHECK_EQ(r.machine.tls, CRAFTED[v].by_key ? 0x318 + 16 * 5 : -16);
        CHECK_EQ(r.machine.slot, CRAFTED[v].by_key ? CRAFTED[v].thread_ec + 1u : 0u);
        CHECK_EQ(r.machine.ruby.frame_bytes, CRAFTED[v].frame);
        CHECK_EQ(r.layout.symbols, c->symbols);
        CHECK_EQ(r.layout.classpath, CRAFTED[v].old_classes ? 8 : 0x90);
        CHECK_EQ(r.layout.attached, CRAFTED[v].old_classes ? 8 : 0x78);
    }
}

TEST(ruby_that_still_starts_is_looked_at_later)
{
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        crafted_put(c, CRAFTED_VARS + 0x60, 0, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN); /* there is no virtual machine */
        crafted_make(c, v, CRAFTED_GLIBC);
        for (unsigned i = 0; i < CRAFTED_THREADS; i++)
            crafted_put(c, c->thread[i].ec + 16, c->thread[i].stack + 2048, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN); /* there are no frames */
    }
}

TEST(ruby_must_be_what_its_version_is)
{
    EACH_VERSION
    {
        CRAFT(v, CRAFTED_GLIBC);
        crafted_put(c, crafted_body(c, c->method) + 80, c->object, 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP); /* a name that is no string */
        crafted_make(c, v, CRAFTED_GLIBC);
        crafted_put(c, c->thread[1].stack + 2048 - c->v->frame + 16, c->path, 8);
        CHECK_EQ(attach_alone(c), 0); /* the other thread is sound */
        crafted_put(c, c->thread[0].ec + 16, c->thread[0].stack + 2048 - c->v->frame - 8, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN); /* frames of another size */
        crafted_make(c, v, CRAFTED_GLIBC);
        for (unsigned i = 0; i < CRAFTED_THREADS; i++)
            crafted_put(c, c->thread[i].tls, 0, 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP); /* no TLS base */
    }
}

TEST(versions_of_ruby_that_are_not_known_are_refused)
{
    static const char *const bad[] = {"2.6.5", "3.9.0", "4.0.0", "x", "3", "3.1.0 y", "3.1.0000000000000000"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CRAFT(CRAFTED_3_1, CRAFTED_GLIBC);
        strcpy((char *)c->bytes + CRAFTED_MODULE + 0xf00, bad[i]);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
}

TEST(rings_of_threads_may_never_end)
{
    CRAFT(CRAFTED_3_3, CRAFTED_GLIBC);
    crafted_put(c, c->head, c->head, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->thread[1].at, c->thread[1].at, 8);
    CHECK_EQ(attach_alone(c), 0);
}

TEST(ruby_says_what_it_is)
{
    CRAFT(CRAFTED_3_3, CRAFTED_GLIBC);
    CHECK_STR(crafted_about(c),
              "machine\tRuby 3.3.8\nthreads\t2 of the main ractor\n"
              "context\tin a variable of threads\nnames\tall\n");
}

/* ---- Hostile input */

#define REFUSES(change) CHECK_REFUSED(ruby_check, sound, change)

TEST(ruby_checks_what_it_is_told)
{
    CRAFT(CRAFTED_3_3, CRAFTED_GLIBC);
    struct ruby sound = ruby_of(&a);
    CHECK_EQ(ruby_check(&sound, sizeof(sound)), 0);
    CHECK_EQ(ruby_check(&sound, sizeof(sound) - 1), -EBADMSG);
    REFUSES(machine.root = 8);
    REFUSES(machine.tls = (1 << 20) + 1);
    REFUSES(machine.tls = -(1 << 20) - 1);
    REFUSES(machine.slot = 4097);
    REFUSES(machine.language = XP_LANGUAGE_PHP);
    REFUSES(machine.found = XP_ROOT_AT);
    REFUSES(machine.pad = 1);
    REFUSES(machine.ruby.stack = 8193);
    REFUSES(machine.ruby.frame = 8193);
    REFUSES(machine.ruby.frame_pc = 49);
    REFUSES(machine.ruby.frame_iseq = 49);
    REFUSES(machine.ruby.frame_ep = 49);
    REFUSES(machine.ruby.frame_bytes = 47);
    REFUSES(machine.ruby.frame_bytes = 129);
    REFUSES(machine.ruby.iseq_body = 8193);
    REFUSES(machine.ruby.body_words = 8193);
    REFUSES(machine.ruby.entry_words = 8193);
    REFUSES(machine.ruby.pad[0] = 1);
    REFUSES(layout.symbols = 1ull << 56);
    REFUSES(layout.info = 8193);
    REFUSES(layout.info_bytes = 8193);
    REFUSES(layout.parent = 8193);
    REFUSES(layout.classpath = 8193);
    REFUSES(layout.attached = 8193);
    REFUSES(layout.class_ext = 8193);
    REFUSES(layout.string_length = 65);
    REFUSES(layout.array_bits = 17);
    REFUSES(layout.pad[1] = 1);
    REFUSES(version[0] = '\n');
    memset(sound.version, 'x', sizeof(sound.version));
    CHECK_EQ(ruby_check(&sound, sizeof(sound)), -EBADMSG);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_VERSIONS, CRAFTED_GLIBC);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->entry), XP_MORE_WORD(crafted_cookie(c, c->rescue), 12));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->block), XP_MORE_WORD(crafted_cookie(bad, c->block), 16));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->native_entry), XP_MORE_WORD(0, XP_RUBY_NATIVE));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, any), any);
}

TEST(crafted_rubies_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
