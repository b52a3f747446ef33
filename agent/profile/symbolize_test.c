#include "profile/symbolize.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "profile/fixture_test.h"
#include "profile/frames.h"
#include "profile/strings.h"
#include <errno.h>

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

/* "process;root;...;leaf" of one stack, with module:kind and file:line behind each frame when `full`. */
static void stack_text(const struct profile *p, size_t stack, bool full, struct buf *out)
{
    struct frames f = {0};
    frames_of(p, &p->stacks.v[stack], &f);
    for (size_t i = 0; i < f.n; i++) {
        buf_printf(out, "%s%s", i ? ";" : "", frame_text(p, f.v[i].name));
        if (full)
            buf_printf(out, "(%s:%u %s:%u%s)", profile_text(p, f.v[i].module), f.v[i].kind,
                       profile_text(p, f.v[i].file), f.v[i].line, f.v[i].inlined ? " i" : "");
    }
    vec_free(&f);
}

TEST(symbolize_names_frames)
{
    AUTO_PROFILE struct profile p = {0};
    const struct fixture_sample s[] = {
        {"demo",
         20,
         0,
         XP_CAUSE_END,
         1,
         2,
         3,
         {W_KERNEL(0x3010), W_KERNEL(0x100010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x1010)}}};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf b = {0};
    stack_text(&p, 0, true, &b);
    CHECK_STR(b.data,
              "demo(:4 :0);main(/usr/bin/demo:0 :0);outer(/usr/bin/demo:0 demo.c:42);"
              "inner(/usr/bin/demo:0 demo.c:14 i);leaf(/usr/bin/demo:0 :0);"
              "ext4_file_read_iter([ext4]:1 :0);vfs_read([kernel.kallsyms]:1 :0)");
}

TEST(symbolize_return_addresses_belong_to_the_call)
{
    AUTO_PROFILE struct profile p = {0};
    /* 0x2000 and 0x3000 are the first bytes of outer and leaf: as return addresses they are the function in front.
     * Kernel: the second word is the first byte of do_syscall_64. */
    const struct fixture_sample s[] = {
        {"demo", 20, 0, XP_CAUSE_END, 1, 0, 3, {W_LEAF(2, 0x3000), W(2, 0x3000), W(2, 0x2000)}},
        {"kernel", 21, 0, XP_CAUSE_KTHREAD, 1, 2, 0, {W_KERNEL(0x1000), W_KERNEL(0x1000)}}};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf b = {0};
    stack_text(&p, 0, false, &b);
    buf_char(&b, '\n');
    stack_text(&p, 1, false, &b);
    CHECK_STR(b.data, "demo;main;outer;inner;leaf\nkernel;entry_SYSCALL_64;do_syscall_64");
    CHECK_EQ(p.locations.v[2].address, 0x401fff); /* in the call, not behind it */
}

TEST(symbolize_names_without_symbols)
{
    AUTO_PROFILE struct profile p = {0};
    const struct fixture_sample s[] = {{"demo",
                                        20,
                                        0,
                                        XP_CAUSE_END,
                                        1,
                                        1,
                                        6,
                                        {W_KERNEL(0x50000), W_LEAF(3, 0x1234), W(4, 0x99), W(5, 0x55), W_ANON(0x7010),
                                         W_ANON(0x9000), W(XP_FILE_VDSO, 0x800)}},
                                       {"demo", 30, 0, XP_CAUSE_END, 1, 0, 1, {W_ANON(0x7010)}}};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf b = {0};
    stack_text(&p, 0, false, &b);
    buf_char(&b, '\n');
    stack_text(&p, 1, false, &b);
    CHECK_STR(b.data,
              "demo;[vdso+0x800];[anonymous];jit::twenty;[unknown+0x55];[broken+0x99];[libplain.so.1+0x1000];"
              "[kernel]\ndemo;jit::other");
    for (size_t i = 0; i < p.mappings.n; i++) {
        const char *name = profile_text(&p, p.mappings.v[i].name);
        CHECK_EQ(p.mappings.v[i].has_functions, !strcmp(name, "[anon]"));
        if (!strcmp(name, "/tmp/broken"))
            CHECK_EQ(p.mappings.v[i].error, -ENOEXEC);
        if (!strcmp(name, "[anon]"))
            CHECK_EQ(p.mappings.v[i].lo, 0x700f);
    }
}

TEST(symbolize_asks_once_a_file)
{
    struct aggregate *a __attribute__((cleanup(aggregate_free))) = NULL;
    CHECK_EQ(aggregate_new(&a, 1, 1 << 20), 0);
    for (u32 i = 0; i < 50; i++) {
        struct fixture_sample s = {"demo", i % 5, 0, XP_CAUSE_END, 1, 0, 3, {0}};
        s.words[0] = W_LEAF(2, 0x3000 + i % 10);
        s.words[1] = W(3, 0x100 + 0x10 * (i % 7));
        s.words[2] = W(2, 0x3001 + i % 10); /* the same place again, as a return address */
        CHECK_EQ(fixture_add(a, &s), 0);
    }
    struct fixture_source f;
    fixture_source(&f);
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(symbolize(a, &f.source, &p), 0);
    CHECK_EQ(f.asked[2], 1);
    CHECK_EQ(f.asked[3], 1);
    CHECK_EQ(f.offsets, 10 + 7);
    CHECK(!f.descending);
    CHECK_EQ(p.locations.n, 27); /* a leaf and a return address are two locations, though of one name */
    CHECK_EQ(p.functions.n, 2);
    CHECK_EQ(p.processes.n, 5);
}

TEST(symbolize_does_not_depend_on_the_order_of_samples)
{
    struct fixture_sample s[40];
    for (u32 i = 0; i < COUNT(s); i++)
        s[i] = (struct fixture_sample){i % 3 ? "a" : "b",
                                       20 + i % 4,
                                       0,
                                       XP_CAUSE_END,
                                       1,
                                       0,
                                       2,
                                       {W_LEAF(2 + i % 2, 0x1000 + i * 8), W(2, 0x1000 + i % 9)}};
    AUTO_PROFILE struct profile p = {0};
    AUTO_PROFILE struct profile q = {0};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    for (u32 i = 0; i < COUNT(s) / 2; i++) {
        struct fixture_sample t = s[i];
        s[i] = s[COUNT(s) - 1 - i];
        s[COUNT(s) - 1 - i] = t;
    }
    CHECK_EQ(fixture_profile(s, COUNT(s), &q), 0);
    CHECK_EQ(p.stacks.n, q.stacks.n);
    CHECK(!memcmp(p.stacks.v, q.stacks.v, p.stacks.n * sizeof(*p.stacks.v)));
    CHECK(!memcmp(p.stack_locations.v, q.stack_locations.v, p.stack_locations.n * sizeof(u32)));
    CHECK(!memcmp(p.functions.v, q.functions.v, p.functions.n * sizeof(*p.functions.v)));
}

static u64 later_files_first(void *ctx, u32 file)
{
    return 100 - file;
}

TEST(symbolize_names_files_by_rank)
{
    struct aggregate *a __attribute__((cleanup(aggregate_free))) = NULL;
    CHECK_EQ(aggregate_new(&a, 1, 1 << 20), 0);
    const struct fixture_sample s = {"demo", 1, 0, XP_CAUSE_END,
                                     1,      0, 3, {W_LEAF(2, 0x3010), W(3, 0x10), W(2, 0x1001)}};
    CHECK_EQ(fixture_add(a, &s), 0);
    struct fixture_source f;
    for (int ranked = 0; ranked < 2; ranked++) {
        AUTO_PROFILE struct profile p = {0};
        fixture_source(&f);
        f.source.rank = ranked ? later_files_first : NULL;
        CHECK_EQ(profile_init(&p), 0);
        CHECK_EQ(symbolize(a, &f.source, &p), 0);
        CHECK_STR(profile_text(&p, p.mappings.v[0].name), ranked ? "/usr/lib/libplain.so.1" : "/usr/bin/demo");
        AUTO_BUF struct buf b = {0};
        stack_text(&p, 0, false, &b);
        CHECK_STR(b.data, "demo;main;[libplain.so.1+0x0];leaf");
    }
}

TEST(symbolize_without_a_source)
{
    struct aggregate *a __attribute__((cleanup(aggregate_free))) = NULL;
    CHECK_EQ(aggregate_new(&a, 1, 1 << 20), 0);
    const struct fixture_sample s = {"demo", 1, 0, XP_CAUSE_END, 1, 1, 2, {W_KERNEL(0), W_LEAF(9, 0x10), W_ANON(3)}};
    CHECK_EQ(fixture_add(a, &s), 0);
    const struct name_source nothing = {0};
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(symbolize(a, &nothing, &p), 0);
    AUTO_BUF struct buf b = {0};
    stack_text(&p, 0, false, &b);
    CHECK_STR(b.data, "demo;[anonymous];[unknown+0x10];[kernel]");
}

/* Only leaks are shown, not what else the same event has. */
TEST(symbolize_leaves_out_what_has_nothing_of_a_sparse_kind)
{
    AUTO_PROFILE struct profile p = {0};
    const struct name_source none = {0};
    struct aggregate *a = NULL;
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8);
    CHECK(s && !aggregate_new(&a, 1, 1 << 20) && !profile_init(&p));
    p.nevents = 1;
    p.events[0] = event_kind_leaks();
    aggregate_widen(a, 0, 3, 1);
    s->nuser = 1;
    for (u64 i = 0; i < 3; i++) {
        const struct xp_amount values[] = {{1, 10}, {1, 10}, {i == 1, 7 * (i == 1)}};
        s->words[0] = W_LEAF(2, 0x3000 + i);
        aggregate_add_values(a, s, values, 3);
    }
    int rc = symbolize(a, &none, &p);
    aggregate_free(&a);
    CHECK(!rc && p.stacks.n == 1 && p.stacks.v[0].value[2] == 7 && p.stacks.v[0].value[1] == 10);
}

TEST(frames_mark_what_is_missing)
{
    AUTO_PROFILE struct profile p = {0};
    const struct fixture_sample s[] = {{"cut", 1, 0, XP_CAUSE_DEPTH, 1, 0, 1, {W_LEAF(2, 0x1000)}},
                                       {"none", 1, 0, XP_CAUSE_NO_MM, 1, 0, 0, {0}},
                                       {"nothing", 1, 0, XP_CAUSE_STACK_READ, 1, 0, 0, {0}}};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0; i < COUNT(s); i++) {
        stack_text(&p, i, false, &b);
        buf_char(&b, '\n');
    }
    CHECK_STR(b.data, "cut;[cut: depth];main\nnone;[no stack: no-memory-map]\nnothing;[cut: stack-read]\n");
}

TEST(strings_are_interned_utf8)
{
    struct strings *s __attribute__((cleanup(strings_free))) = NULL;
    CHECK_EQ(strings_new(&s), 0);
    CHECK_EQ(strings_add(s, ""), 0);
    u32 a = strings_add(s, "gr\xc3\xbc\xc3\x9f"), b = strings_add(s, "x\xff\xfey");
    CHECK_EQ(a, 1);
    CHECK_EQ(strings_add(s, "gr\xc3\xbc\xc3\x9f"), a);
    CHECK_STR(strings_text(s, b), "x\xef\xbf\xbd\xef\xbf\xbdy");
    CHECK_EQ(strings_add(s, "x\xfe\xffy"), b);
    const char *kept = strings_text(s, a);
    for (unsigned i = 0; i < 50000; i++) {
        char text[16];
        snprintf(text, sizeof(text), "name %u", i);
        CHECK_EQ(strings_add(s, text), 3 + i);
    }
    CHECK(kept == strings_text(s, a));
    CHECK_STR(strings_text(s, 3 + 49999), "name 49999");
    CHECK_STR(strings_text(s, 1u << 30), "");
    CHECK(!strings_failed(s));
}

/* Stacks that a runtime took have a word for each function, those that are inlined included. */
TEST(symbolize_shows_one_function_of_a_told_word)
{
    AUTO_PROFILE struct profile p = {0};
    const u64 word = XP_FILE_WORD(XP_WORD_TOLD, 2, 0x2105ull);
    const struct fixture_sample s[] = {{"demo", 20, 0, XP_CAUSE_END, 3, 0, 2, {word, W(2, 0x1010)}}};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf b = {0};
    stack_text(&p, 0, false, &b);
    CHECK_STR(b.data, "demo;main;inner");
}
