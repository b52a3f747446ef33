#include "base/utf8.h"
#include "profile/encode.h"
#include "profile/pprof_decode_test.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

static const struct fixture_sample PLAIN[] = {
    {"demo@pool-1",
     20,
     0,
     XP_CAUSE_END,
     10000000,
     1,
     3,
     {W_KERNEL(0x3010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x1010)}},
    {"demo", 20, 0, XP_CAUSE_NO_RULE, 10000000, 0, 1, {W_LEAF(2, 0x3010)}},
    {"demo", 20, 0, XP_CAUSE_NO_RULE, 10000000, 0, 1, {W_LEAF(2, 0x3010)}},
    {"idle", 7, 0, XP_CAUSE_NO_MM, 10000000, 0, 0, {0}},
    {"plain", 9, 1, XP_CAUSE_END, 5, 0, 1, {W_LEAF(3, 0x1010)}}, /* an event that is not recorded: left out */
};

TEST(pprof_samples)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0}, types = {0};
    pprof_samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK_STR(b.data,
              "1 10000000 : vfs_read leaf inner:14 outer:42 main {pid=20} {process=demo} {thread=pool-1}\n"
              "2 20000000 : leaf [cut: no-rule] {pid=20} {process=demo} {cut=no-rule}\n"
              "1 10000000 : [no stack: no-memory-map] {pid=7} {process=idle}\n");
    pprof_types_text(&d, 1, &types);
    pprof_types_text(&d, 11, &types);
    pprof_add_text(&d, pprof_top_number(&d, 14), &types);
    CHECK_STR(types.data, "samples/count cpu/nanoseconds cpu/nanoseconds cpu");
    CHECK_EQ(pprof_top_number(&d, 9), 1700000000ll * 1000000000);
    CHECK_EQ(pprof_top_number(&d, 10), 2000000000);
    CHECK_EQ(pprof_top_number(&d, 12), 10000000);
}

TEST(pprof_says_how_frames_were_found)
{
    static const struct fixture_sample samples[] = {
        {"a", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x3010), XP_FILE_WORD(XP_WORD_SYNTH, 2, 0x2105)}},
        {"b",
         20,
         0,
         XP_CAUSE_END,
         1,
         0,
         3,
         {W_LEAF(2, 0x3010), XP_FILE_WORD(XP_WORD_INFERRED, 2, 0x2105), XP_FILE_WORD(XP_WORD_SYNTH, 2, 0x1010)}},
        {"c", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x3010), XP_FILE_WORD(XP_WORD_FP, 2, 0x2105)}},
    };
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    pprof_samples_text(&d, &b);
    CHECK(strstr(b.data, "{process=a} {unwind=synthesised}\n"));
    CHECK(strstr(b.data, "{process=b} {unwind=inferred}\n")); /* the weaker of the two */
    CHECK(strstr(b.data, "{process=c}\n"));
}

TEST(pprof_says_what_threads_wait_for)
{
    static const struct fixture_sample samples[] = {
        {"a", 20, 0, XP_CAUSE_END, 1, 3, 1, {W_WAIT(0), W_KERNEL(0x200010), W_KERNEL(0x201010), W_LEAF(2, 0x3010)}},
        {"b", 20, 0, XP_CAUSE_NOT_TAKEN, 1, 2, 0, {W_WAIT(0), W_KERNEL(0x203010)}},
        {"c", 20, 0, XP_CAUSE_END, 1, 1, 1, {W_KERNEL(0x201010), W_LEAF(2, 0x3010)}},
    };
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    pprof_samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK_STR(b.data,
              "1 1 : [pipe] schedule anon_pipe_read leaf {pid=20} {process=a} {wait=pipe}\n"
              "1 1 : [other: some_driver_wait] some_driver_wait.part.0 [stack not taken] {pid=20} {process=b} "
              "{cut=not-taken} {wait=other: some_driver_wait}\n"
              "1 1 : anon_pipe_read leaf {pid=20} {process=c}\n");
}

TEST(pprof_says_which_locks_threads_wait_for)
{
    static const struct fixture_sample samples[] = {
        {"a",
         20,
         0,
         XP_CAUSE_END,
         1,
         6,
         1,
         {W_LOCKED(5), W_LOCK(2, 0x9008), (u64)XP_WORD_NAME << 60 | 0x626f62, (u64)XP_WORD_NAME << 60,
          (u64)XP_WORD_NAME << 60, W_KERNEL(0x200010), W_LEAF(2, 0x3010)}},
        {"a", 20, 0, XP_CAUSE_END, 1, 2, 1, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x1000), W_LEAF(2, 0x3010)}},
        {"a", 20, 0, XP_CAUSE_END, 1, 2, 1, {W_LOCKED(2), W_LOCK_AT(XP_LOCK_HEAP, 0x2000), W_LEAF(2, 0x3010)}},
    };
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    pprof_samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK_STR(b.data,
              "1 1 : [lock: heap] leaf {pid=20} {process=a} {wait=lock} {lock=heap 0x1000}\n"
              "1 1 : [lock: heap] leaf {pid=20} {process=a} {wait=lock} {lock=heap 0x2000}\n"
              "1 1 : [lock: counter_lock+0x8] schedule leaf {pid=20} {process=a} {wait=lock} "
              "{lock=counter_lock+0x8 (demo)} {holder=bob}\n");
}

/* Their words are one frame; those of a short one leave the kernel's alone. */
TEST(pprof_shows_long_labels_as_leaves)
{
    static const struct fixture_sample samples[] = {
        {"a",
         20,
         0,
         XP_CAUSE_END,
         1,
         4,
         1,
         {XP_LABEL(XP_LABEL_NAME, XP_TEXT('k', 'm', 'a', 'l', 'l', 'o', 'c')),
          XP_LABEL_MORE | XP_TEXT('-', '1', 'k', 0, 0, 0, 0), XP_LABEL_MORE, W_KERNEL(0x200010), W_LEAF(2, 0x3010)}},
        {"b",
         21,
         0,
         XP_CAUSE_END,
         1,
         2,
         1,
         {XP_LABEL(XP_LABEL_NAME, XP_TEXT('a', 'n', 'o', 'n', 0, 0, 0)), W_KERNEL(0x200010), W_LEAF(2, 0x3010)}},
    };
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    pprof_samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK_STR(b.data,
              "1 1 : [kmalloc-1k] schedule leaf {pid=20} {process=a}\n"
              "1 1 : [anon] schedule leaf {pid=21} {process=b}\n");
}

TEST(pprof_several_events)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    p.events[1] = event_kind_find("page-faults");
    p.period[1] = 1;
    p.nevents = 2;
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0}, types = {0};
    pprof_samples_text(&d, &b);
    pprof_types_text(&d, 1, &types);
    CHECK(!d.bad);
    CHECK(strstr(b.data, "1 10000000 0 : vfs_read"));
    CHECK(strstr(b.data, "1 0 5 : [libplain.so.1+0x1000] {pid=9} {process=plain}\n"));
    CHECK_STR(types.data, "samples/count cpu/nanoseconds page_faults/count ");
}

/* Servers know this type: mutex:delay:nanoseconds:contentions:count. */
TEST(pprof_counts_contentions_of_locks_alone)
{
    static const struct event_kind locks = {
        .name = "lock", .values = {{"delay", "nanoseconds", "contentions"}}, .period = {"contentions", "count", NULL}};
    static const char *const want[] = {
        "contentions/count delay/nanoseconds contentions/count delay",
        "samples/count contentions/count delay/nanoseconds cpu/nanoseconds contentions/count delay",
        "samples/count off_cpu/nanoseconds off_cpu"};
    for (size_t i = 0; i < COUNT(want); i++) {
        AUTO_PROFILE struct profile p = {0};
        CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
        p.events[1] = p.events[0];
        p.events[0] = i < 2 ? &locks : event_kind_find("offcpu");
        p.nevents = i == 1 ? 2 : 1;
        p.period[0] = 1;
        AUTO_DECODED struct decoded d;
        pprof_decode(&p, &d);
        AUTO_BUF struct buf types = {0};
        pprof_types_text(&d, 1, &types);
        pprof_types_text(&d, 11, &types);
        pprof_add_text(&d, pprof_top_number(&d, 14), &types);
        CHECK_STR(types.data, want[i]);
        CHECK_EQ(pprof_top_number(&d, 12), i < 2);
    }
}

TEST(pprof_mappings_hold_their_locations)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0; i < d.fields.n; i++) {
        if (d.fields.v[i].number == 4 && pprof_number(d.fields.v[i].sub, 2)) {
            struct cursor m;
            CHECK(pprof_by_id(&d, 3, pprof_number(d.fields.v[i].sub, 2), &m));
            u64 address = pprof_number(d.fields.v[i].sub, 3);
            CHECK(address >= pprof_number(m, 2) && address < pprof_number(m, 3));
        } else if (d.fields.v[i].number == 3) {
            struct cursor m = d.fields.v[i].sub;
            pprof_add_text(&d, pprof_number(m, 5), &b);
            buf_char(&b, ' ');
            pprof_add_text(&d, pprof_number(m, 6), &b);
            buf_printf(&b, " %llx+%llx %llu%llu%llu%llu\n", (unsigned long long)pprof_number(m, 2),
                       (unsigned long long)pprof_number(m, 4), (unsigned long long)pprof_number(m, 7),
                       (unsigned long long)pprof_number(m, 8), (unsigned long long)pprof_number(m, 9),
                       (unsigned long long)pprof_number(m, 10));
        }
    }
    CHECK(!d.bad);
    CHECK_STR(b.data,
              "/usr/bin/demo 00112233445566778899aabbccddeeff00112233 401000+1000 1111\n"
              "/usr/lib/libplain.so.1  1010+1010 0000\n"
              "[kernel.kallsyms]  ffffffff81003010+0 1000\n");
}

TEST(pprof_main_binary_first)
{
    AUTO_PROFILE struct profile p = {0};
    const struct fixture_sample s[] = {
        {"demo", 20, 0, XP_CAUSE_END, 1, 1, 3, {W_KERNEL(0), W_LEAF(3, 0x10), W(3, 0x20), W(4, 0x30)}},
        {"demo", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(3, 0x10), W(4, 0x30)}},
        {"other", 21, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x1010), W(XP_FILE_VDSO, 0x10)}},
    };
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0; i < d.fields.n; i++) {
        if (d.fields.v[i].number != 3)
            continue;
        pprof_add_text(&d, pprof_number(d.fields.v[i].sub, 5), &b);
        buf_char(&b, ' ');
    }
    CHECK_STR(b.data, "/tmp/broken [vdso] /usr/bin/demo /usr/lib/libplain.so.1 [kernel.kallsyms] ");
}

TEST(pprof_strings)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    AUTO_DECODED struct decoded d;
    pprof_decode(&p, &d);
    CHECK(!d.bad);
    CHECK(d.strings.n > 10);
    CHECK_EQ(d.strings.v[0].len, 0);
    size_t longest = 0, comments = 0;
    for (size_t i = 0; i < d.strings.n; i++) {
        struct cursor s = d.strings.v[i];
        for (size_t at = 0, n; at < s.len; at += n) {
            n = utf8_len((const char *)s.base + at, s.len - at);
            CHECK(n);
        }
        longest = s.len > longest ? s.len : longest;
    }
    CHECK_EQ(longest, 100000);
    for (size_t i = 0; i < d.fields.n; i++) {
        comments += d.fields.v[i].number == 13;
        if (d.fields.v[i].number == 5)
            CHECK(pprof_number(d.fields.v[i].sub, 2)); /* no function without a name */
    }
    CHECK_EQ(comments, 2);
    AUTO_BUF struct buf b = {0};
    pprof_samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK(strstr(b.data, " semi;colon new\nline\r\ttab \x1b[31m:7 [cut: no-rule] {pid=11}"));
}
