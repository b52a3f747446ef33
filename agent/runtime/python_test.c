#include "runtime/python_ask_test.h"
#include <errno.h>

TEST(python_says_where_its_frames_are)
{
    static const u8 shapes[] = {XP_PYTHON_EACH, XP_PYTHON_EACH, XP_PYTHON_CFRAME, XP_PYTHON_ENTRY, XP_PYTHON_SHIM,
                                XP_PYTHON_SHIM, XP_PYTHON_SHIM, XP_PYTHON_SHIM,   XP_PYTHON_SHIM};
    static const char *const versions[] = {"3.8",       "3.9",    "3.10",     "3.11.2", "3.12.1",
                                           "3.13.0rc2", "3.14.3", "3.15.0a5", "3.15.0"};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC);
        struct python p = python_of(&a);
        const struct xp_python *x = &p.machine;
        CHECK_STR(p.version, versions[i]);
        CHECK_EQ(x->shape, shapes[i]);
        CHECK(x->tls == 0x318 + 16 * 3 && !x->slot);
        CHECK(x->shim == (x->shape == XP_PYTHON_SHIM ? 3 : 0) && x->names == (i < CRAFTED_3_11 ? 3 : 4));
        CHECK_EQ(x->tag_bits, i >= CRAFTED_3_14T ? 2 : 0);
        CHECK(x->state_thread == c->v->thread && x->state_frame == c->v->frame && x->state_cframe == c->v->cframe);
        CHECK(x->cframe_frame == c->v->cframe_frame && x->cframe_back == c->v->cframe_back);
        CHECK(x->frame_code == c->v->frame_code && x->frame_back == c->v->frame_back);
        CHECK(x->frame_position == c->v->frame_position && x->frame_owner == c->v->frame_owner);
        CHECK(x->code_names == c->v->code_names && x->code_start == c->v->code_start);
        CHECK(p.layout.free_threaded == (i == CRAFTED_3_14T) && p.layout.by_offsets == (i >= CRAFTED_3_13));
    }
}

TEST(python_says_where_its_threads_have_their_state)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC_BLOCK);
        CHECK_EQ(python_of(&a).machine.tls, 0x518);
        CHECK_EQ(python_of(&a).machine.slot, 1 + 16 * 3 + 8);
        a.len = 0;
        crafted_make(c, i, CRAFTED_MUSL);
        CHECK_EQ(attach(c, &a), 0);
        CHECK_EQ(python_of(&a).machine.tls, 0x80);
        CHECK_EQ(python_of(&a).machine.slot, 1);
    }
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC); /* keys of others: of one thread, and of both */
    crafted_put(c, c->thread[0].tls + 0x318, c->thread[0].state, 8);
    crafted_put(c, c->thread[0].tls + 0x318 + 16 * 9, c->thread[0].state, 8);
    crafted_put(c, c->thread[1].tls + 0x318 + 16 * 9, c->thread[1].state, 8);
    a.len = 0;
    CHECK_EQ(attach(c, &a), 0);
    CHECK_EQ(python_of(&a).machine.tls, 0x318 + 16 * 3);
    for (unsigned i = 0; i < CRAFTED_THREADS; i++) { /* another C library */
        memset(c->bytes + c->thread[i].tls, 0, 0x900);
        crafted_put(c, c->thread[i].tls + 0x700, c->thread[i].state, 8);
    }
    a.len = 0;
    CHECK_EQ(attach(c, &a), 0);
    CHECK_EQ(python_of(&a).machine.tls, 0x700);
    crafted_put(c, c->thread[0].tls + 0x700, 0, 8); /* one of two */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(processes_without_a_python_that_runs_are_told_apart)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    crafted_make(c, CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_rename(c, "_PyRuntime");
    CHECK_EQ(attach_alone(c), -ENODATA);
    crafted_make(c, CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_put(c, c->runtime + c->v->head, 0, 8);
    CHECK_EQ(attach_alone(c), -EAGAIN);
    crafted_make(c, CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_put(c, c->interpreter + c->v->threads, 0, 8);
    CHECK_EQ(attach_alone(c), -EAGAIN);
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) { /* threads without frames, and with other ones */
        crafted_make(c, i, CRAFTED_GLIBC);
        for (unsigned k = 0; k < CRAFTED_THREADS; k++)
            crafted_put(c,
                        c->v->frame ? c->thread[k].state + c->v->frame
                                    : crafted_get(c, c->thread[k].state + c->v->cframe) + c->v->cframe_frame,
                        0, 8);
        CHECK_EQ(attach_alone(c), 0); /* they have their states where they should */
        crafted_make(c, i, CRAFTED_GLIBC);
        crafted_put(c, c->thread[1].code + c->v->header - 8, c->str_type, 8);
        CHECK_EQ(attach_alone(c), 0);
        crafted_put(c, c->thread[0].code + c->v->header - 8, c->str_type, 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_make(c, i, CRAFTED_GLIBC);
        for (unsigned k = 0; k < CRAFTED_THREADS; k++)
            crafted_put(c, c->thread[k].name + c->v->header - 8, c->code_type, 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    crafted_make(c, CRAFTED_3_13, CRAFTED_GLIBC);
    c->bytes[c->runtime] = 'X'; /* of the cookie */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_make(c, CRAFTED_3_14T, CRAFTED_GLIBC);
    crafted_put(c, c->runtime + 8 * 51, 8, 8); /* another table */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(versions_of_python_that_are_not_known_are_refused)
{
    static const u32 bad[] = {0x03070000, 0x03ff0000, 0x040c0000};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
        crafted_put(c, c->version, bad[i], 4);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    CRAFT(CRAFTED_3_8, CRAFTED_GLIBC);
    crafted_rename(c, "PyCode_NewWithPosOnlyArgs");
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(lists_of_threads_may_never_end)
{
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_put(c, c->thread[0].state + 8, c->thread[1].state, 8);
    crafted_put(c, c->interpreter, c->interpreter, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->thread[1].frame + c->v->frame_owner, 3, 1); /* frames, too */
    crafted_put(c, c->thread[1].frame + c->v->frame_back, c->thread[1].frame, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->thread[0].frame + c->v->frame_owner, 3, 1);
    crafted_put(c, c->thread[0].frame + c->v->frame_back, c->thread[0].frame, 8);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(python_says_what_it_is)
{
    CRAFT(CRAFTED_3_14T, CRAFTED_GLIBC);
    CHECK_STR(crafted_about(c),
              "machine\tCPython 3.14.3\nthreads\t2 in 1 interpreter\ngil\tnone (free-threaded build)\n"
              "layout\ttold by the interpreter\n");
}

/* ---- Hostile input */

#define REFUSES(change) CHECK_REFUSED(python_check, sound, change)

TEST(python_checks_what_it_is_told)
{
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
    struct python sound = python_of(&a);
    CHECK_EQ(python_check(&sound, sizeof(sound)), 0);
    CHECK_EQ(python_check(&sound, sizeof(sound) - 1), -EBADMSG);
    REFUSES(machine.tls = 8193);
    REFUSES(machine.tls = -8193);
    REFUSES(machine.slot = 1u << 17);
    REFUSES(machine.shape = 4);
    REFUSES(machine.names = 2);
    REFUSES(machine.names = 5);
    REFUSES(machine.tag_bits = 4);
    REFUSES(machine.state_thread = 8193);
    REFUSES(machine.state_cframe = 0);
    REFUSES(machine.cframe_back = 8193);
    REFUSES(machine.frame_code = 121);
    REFUSES(machine.frame_back = 121);
    REFUSES(machine.frame_position = 121);
    REFUSES(machine.frame_owner = 128);
    REFUSES(machine.code_start = 8193);
    REFUSES(machine.code_names = 8193);
    REFUSES(layout.code_type = 1ull << 56);
    REFUSES(layout.type = 8193);
    REFUSES(layout.code_copies = 8193);
    REFUSES(layout.kind_shift = 17);
    REFUSES(layout.lines = 3);
    REFUSES(layout.unit = 0);
    REFUSES(layout.unit = 3);
    REFUSES(layout.free_threaded = 2);
    REFUSES(layout.by_offsets = 2);
    REFUSES(layout.pad[0] = 1);
    REFUSES(version[0] = '\n');
    memset(sound.version, 'x', sizeof(sound.version));
    CHECK_EQ(python_check(&sound, sizeof(sound)), -EBADMSG);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_VERSIONS, i % 3);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    const u32 first = c->thread[0].code, second = c->thread[1].code;
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, first), XP_MORE_WORD(crafted_cookie(c, first), 12));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, second), XP_MORE_WORD(crafted_cookie(bad, second), 16));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, any), any);
}

TEST(crafted_interpreters_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
