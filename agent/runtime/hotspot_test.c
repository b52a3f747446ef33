#include "proc/memory.h"
#include "runtime/hotspot.h"
#include "runtime/hotspot_crafted.h"
#include "runtime/crafted_test.h"
#include <errno.h>

static const enum crafted_age AGES[] = {CRAFTED_8, CRAFTED_17, CRAFTED_23, CRAFTED_25};

static struct hotspot hotspot_of(const struct buf *attached)
{
    struct hotspot h = {0};
    crafted_said(attached, &runtime_hotspot, &h, sizeof(h));
    return h;
}

/* Names have their signature. */
static const char *frames_of(const struct crafted *c, const struct buf *attached, u64 java, u64 more)
{
    return frames_in(c, attached, java, more, false);
}

TEST(hotspot_says_where_its_code_is)
{
    for (unsigned i = 0; i < sizeof(AGES) / sizeof(*AGES); i++) {
        CRAFT(AGES[i]);
        struct hotspot h = hotspot_of(&a);
        const struct xp_jvm *j = &h.jvm;
        CHECK_STR(h.version, "1.2+3");
        CHECK(j->low == CRAFTED_HEAP && j->high == CRAFTED_END && j->heap[0].segmap == CRAFTED_SEGMAP);
        CHECK(j->heap[0].shift == CRAFTED_SHIFT && !j->heap[1].low && j->block_header == 16);
        CHECK_EQ(j->bcp_slot, AGES[i] == CRAFTED_8 ? 7 : 8);
        CHECK_EQ(j->frame_complete_bytes, AGES[i] >= CRAFTED_23 ? 2 : 4);
        CHECK(j->code_is_offset == (AGES[i] != CRAFTED_17) && j->deopt_is_offset == (AGES[i] != CRAFTED_17));
        CHECK(j->method_deopt == 96 && !j->method_deopt_mh && j->bytecodes == 48);
        CHECK_EQ(j->return_barrier, c->stub + 168);
        CHECK_EQ(j->entry_return, c->native + 165);
        CHECK(j->thread_entry == 0x618 && j->entry_size == 64);
    }
}

TEST(hotspot_says_what_it_is)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    for (unsigned i = 0; i < sizeof(AGES) / sizeof(*AGES); i++) {
        crafted_make(c, AGES[i]);
        CHECK_STR(crafted_about(c),
                  "machine\tHotSpot 1.2+3\ncollector\tSerial\ncode\t1 heap of 0.0 MiB, 0.0 MiB in use\n"
                  "methods\t0 compiled by C1, 1 by C2, 1 native\n");
    }
    crafted_put(c, CRAFTED_HEAP, 1u << 20, 4); /* a block longer than its heap */
    CHECK(strstr(crafted_about(c), "not all of it could be read"));
    crafted_put(c, c->heaps, 0, 8);
    CHECK_STR(crafted_about(c), "still starts");
    CHECK(runtime_about_sound("", 0) && runtime_about_sound("key\ttext 1\n", 11));
    CHECK(!runtime_about_sound("key\ttext", 8) && !runtime_about_sound("key\n", 4));
    CHECK(!runtime_about_sound("key\ta\tb\n", 8) && !runtime_about_sound("Key\ta\n", 6));
}

TEST(frames_of_compiled_code_have_their_inlined_calls)
{
    for (unsigned i = 0; i < sizeof(AGES) / sizeof(*AGES); i++) {
        CRAFT(AGES[i]);
        u64 java = XP_JAVA_WORD(XP_JAVA_COMPILED, c->nmethod), exact = java | XP_WORD_EXACT;
        CHECK_STR(frames_of(c, &a, java, XP_MORE_WORD(77, 32)), "3 a.b.C$D.outer(I)V File.java:10");
        CHECK_STR(frames_of(c, &a, java, XP_MORE_WORD(77, 16)),
                  "4 a.Inner.<init>()V File.java:6, 3 a.b.C$D.outer(I)V File.java:10");
        CHECK_STR(frames_of(c, &a, exact, XP_MORE_WORD(77, 9)),
                  "4 a.Inner.<init>()V File.java:6, 3 a.b.C$D.outer(I)V File.java:10");
        CHECK_STR(frames_of(c, &a, exact, XP_MORE_WORD(77, 17)), "3 a.b.C$D.outer(I)V File.java:10");
        CHECK_STR(frames_of(c, &a, exact, XP_MORE_WORD(77, 7)), "3 a.b.C$D.outer(I)V File.java:7");
        CHECK_STR(frames_of(c, &a, exact, XP_MORE_WORD(77, 33)), "3 a.b.C$D.outer(I)V File.java:0");
        java = XP_JAVA_WORD(XP_JAVA_COMPILED, c->native);
        CHECK_STR(frames_of(c, &a, java, XP_MORE_WORD(78, 5)), "5 a.b.C$D.outer(I)V File.java:0");
    }
}

TEST(frames_of_the_interpreter_and_stubs_are_named)
{
    CRAFT(CRAFTED_25);
    u64 java = XP_JAVA_WORD(XP_JAVA_INTERPRETED, c->lambda), stub = XP_JAVA_WORD(XP_JAVA_STUB, c->stub);
    u32 cookie = crafted_cookie(c, c->lambda);
    CHECK_STR(frames_of(c, &a, java, XP_MORE_WORD(cookie, 1)), "1 x.Foo$$Lambda.run()V File.java:50");
    CHECK_STR(frames_of(c, &a, java, XP_MORE_WORD(cookie, 0)), "1 x.Foo$$Lambda.run()V File.java:0");
    CHECK_STR(frames_of(c, &a, java, XP_MORE_WORD(cookie, XP_JAVA_NO_BCI)), "1 x.Foo$$Lambda.run()V File.java:0");
    CHECK_STR(frames_of(c, &a, stub, XP_MORE_WORD(0, 1)), "6 [jvm: StubRoutines (continuation stubs)] :0");
}

TEST(frames_whose_owner_is_another_one_are_gone)
{
    CRAFT(CRAFTED_17);
    u64 compiled = XP_JAVA_WORD(XP_JAVA_COMPILED, c->nmethod), more = XP_MORE_WORD(77, 32);
    u64 method = XP_JAVA_WORD(XP_JAVA_INTERPRETED, c->outer);
    static const char gone[] = "7 [java: gone] :0";
    CHECK_STR(frames_of(c, &a, compiled, XP_MORE_WORD(76, 32)), gone);
    CHECK_STR(frames_of(c, &a, XP_JAVA_WORD(XP_JAVA_COMPILED, c->stub), XP_MORE_WORD(0, 32)), gone);
    CHECK_STR(frames_of(c, &a, XP_JAVA_WORD(XP_JAVA_STUB, c->nmethod), XP_MORE_WORD(0, 32)), gone);
    CHECK_STR(frames_of(c, &a, XP_JAVA_WORD(XP_JAVA_COMPILED, 0xfffffff0), more), gone);
    CHECK_STR(frames_of(c, &a, XP_JAVA_WORD(5, c->nmethod), more), gone);
    CHECK_STR(frames_of(c, &a, method, XP_MORE_WORD(crafted_cookie(c, c->outer) + 1, 0)), gone);
    more = XP_MORE_WORD(crafted_cookie(c, c->outer), 0);
    CHECK_STR(frames_of(c, &a, method, more), "1 a.b.C$D.outer(I)V File.java:7");
    u64 constmethod = crafted_get(c, c->outer + 8), name = crafted_class(c, c->outer);
    CHECK_STR(frames_of(c, &a, method, XP_MORE_WORD(XP_JAVA_COOKIE(constmethod, 0, 0), 0)),
              "1 a.b.C$D.outer(I)V File.java:7");
    c->bytes[name + 2] ^= 1; /* another class at the same place */
    CHECK_STR(frames_of(c, &a, method, more), gone);
    more = XP_MORE_WORD(77, 32);
    crafted_put(c, c->nmethod + 88, 4, 1); /* unloaded */
    CHECK_STR(frames_of(c, &a, compiled, more), gone);
    crafted_put(c, c->nmethod + 88, 2, 1);
    CHECK_STR(frames_of(c, &a, compiled, more), "3 a.b.C$D.outer(I)V File.java:10");
    crafted_put(c, c->nmethod - 8, 0, 1); /* the block is free */
    CHECK_STR(frames_of(c, &a, compiled, more), gone);
}

TEST(virtual_machines_that_start_or_are_not_understood_are_told_apart)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    AUTO_BUF struct buf out = {0};
    crafted_make(c, CRAFTED_17);
    crafted_put(c, c->heaps, 0, 8);
    CHECK_EQ(attach(c, &out), -EAGAIN);
    crafted_make(c, CRAFTED_8);
    crafted_put(c, crafted_get(c, c->heaps) + 64, 0, 4); /* a heap that has no size of segments yet */
    CHECK_EQ(attach(c, &out), -EAGAIN);
    crafted_make(c, CRAFTED_17);
    crafted_put(c, c->fields, 0, 8); /* not relocated yet */
    CHECK_EQ(attach(c, &out), -EAGAIN);
    crafted_make(c, CRAFTED_17);
    crafted_put(c, c->types, c->types, 8); /* not HeapBlock */
    CHECK_EQ(attach(c, &out), -ENOTSUP);
    crafted_make(c, CRAFTED_17);
    c->bytes[CRAFTED_MODULE + CRAFTED_MODULE_STRTAB + 1] = 'x';
    CHECK_EQ(attach(c, &out), -ENODATA);
    strcpy((char *)c->bytes + CRAFTED_MODULE + CRAFTED_MODULE_STRTAB + 1, "J9_CreateJavaVM"); /* OpenJ9 */
    CHECK_EQ(attach(c, &out), -ENOTSUP);
    CHECK_EQ(out.len, 0);
}

#define REFUSES(change) CHECK_REFUSED(hotspot_check, sound, change)

TEST(what_is_said_of_a_virtual_machine_is_checked)
{
    CRAFT(CRAFTED_25);
    struct hotspot sound = hotspot_of(&a);
    CHECK_EQ(hotspot_check(&sound, sizeof(sound)), 0);
    CHECK_EQ(hotspot_check(&sound, sizeof(sound) - 1), -EBADMSG);
    REFUSES(jvm.heap[0].shift = 31);
    REFUSES(jvm.heap[0].shift = 0);
    REFUSES(jvm.heap[0].low = sound.jvm.heap[0].high);
    REFUSES(jvm.heap[0].high++);
    REFUSES(jvm.heap[0].segmap = 1ull << 56);
    REFUSES(jvm.heap[1].high = 1);
    REFUSES(jvm.high = 1ull << 57);
    REFUSES(jvm.blob_name = 0xffff);
    REFUSES(jvm.frame_complete_bytes = 3);
    REFUSES(jvm.bcp_slot = 0);
    REFUSES(jvm.code_is_offset = 2);
    REFUSES(layout.pcdesc_size = 4);
    REFUSES(layout.pcdesc_pc = 13);
    REFUSES(layout.symbol_body = 0xffff);
    REFUSES(layout.metadata_bytes = 8);
    REFUSES(layout.byte_zero = 2);
    REFUSES(version[0] = '\n');
    memset(sound.version, 'x', sizeof(sound.version));
    CHECK_EQ(hotspot_check(&sound, sizeof(sound)), -EBADMSG);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, AGES[i % 4]);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    (void)bad;
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_COMPILED, c->nmethod), XP_MORE_WORD(77, 16));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_COMPILED, c->native), XP_MORE_WORD(78, 16));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_INTERPRETED, c->lambda), XP_MORE_WORD(crafted_cookie(c, c->lambda), 1));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_INTERPRETED, any & 0xffff), XP_MORE_WORD(any >> 3, 1));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_STUB, c->stub), XP_MORE_WORD(0, 1));
}

TEST(crafted_virtual_machines_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
