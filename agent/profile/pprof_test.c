/* pprof read back by a decoder of its own: small, and it shares nothing with the writer but the standard. */
#include "base/cursor.h"
#include "base/gz.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

struct field {
    unsigned number;
    u64 value;         /* wire type 0 */
    struct cursor sub; /* wire type 2 */
};

static bool next_field(struct cursor *c, struct field *f)
{
    if (c->bad || !cursor_left(c))
        return false;
    u64 tag = cursor_uleb(c);
    *f = (struct field){.number = (unsigned)(tag >> 3)};
    if ((tag & 7) == 2)
        f->sub = cursor_sub(c, cursor_uleb(c));
    else if ((tag & 7) == 0)
        f->value = cursor_uleb(c);
    else
        c->bad = true;
    return !c->bad;
}

struct decoded {
    struct buf raw;
    VEC(struct field) fields;
    VEC(struct cursor) strings;
    bool bad;
};

static void decode(const struct profile *p, struct decoded *d)
{
    AUTO_BUF struct buf packed = {0};
    *d = (struct decoded){0};
    d->bad = encoder_by_name("pprof")->encode(p, &packed) || gz_expand(packed.data, packed.len, 1 << 30, &d->raw);
    struct cursor c = cursor_of(d->raw.data, d->raw.len);
    for (struct field f; next_field(&c, &f);) {
        *VEC_PUSH(&d->fields) = f;
        if (f.number == 6)
            *VEC_PUSH(&d->strings) = f.sub;
    }
    d->bad |= c.bad;
}

static void decoded_free(struct decoded *d)
{
    buf_free(&d->raw);
    vec_free(&d->fields);
    vec_free(&d->strings);
}
#define AUTO_DECODED __attribute__((cleanup(decoded_free)))

static u64 number_of(struct cursor message, unsigned field)
{
    for (struct field f; next_field(&message, &f);)
        if (f.number == field)
            return f.value;
    return 0;
}

static void add_text(const struct decoded *d, u64 string, struct buf *out)
{
    if (string < d->strings.n)
        buf_add(out, d->strings.v[string].base, d->strings.v[string].len);
    else
        buf_str(out, "(no such string)");
}

/* The message with `field` = id among those of kind `kind`. */
static bool by_id(const struct decoded *d, unsigned kind, u64 id, struct cursor *out)
{
    for (size_t i = 0; i < d->fields.n; i++)
        if (d->fields.v[i].number == kind && number_of(d->fields.v[i].sub, 1) == id) {
            *out = d->fields.v[i].sub;
            return true;
        }
    return false;
}

static void location_text(struct decoded *d, u64 id, struct buf *out)
{
    struct cursor location, function;
    if (!by_id(d, 4, id, &location)) {
        d->bad = true;
        return;
    }
    for (struct field f; next_field(&location, &f);) {
        if (f.number != 4)
            continue;
        buf_char(out, ' ');
        d->bad |= !by_id(d, 5, number_of(f.sub, 1), &function);
        if (!d->bad)
            add_text(d, number_of(function, 2), out);
        if (number_of(f.sub, 2))
            buf_printf(out, ":%u", (unsigned)number_of(f.sub, 2));
    }
}

static void label_text(const struct decoded *d, struct cursor label, struct buf *out)
{
    buf_str(out, " {");
    add_text(d, number_of(label, 1), out);
    buf_char(out, '=');
    if (number_of(label, 2))
        add_text(d, number_of(label, 2), out);
    else
        buf_printf(out, "%u", (unsigned)number_of(label, 3));
    buf_char(out, '}');
}

/* "values: leaf ... root {labels}" of each sample, a line each. */
static void samples_text(struct decoded *d, struct buf *out)
{
    for (size_t i = 0; i < d->fields.n; i++) {
        if (d->fields.v[i].number != 2)
            continue;
        AUTO_BUF struct buf values = {0}, names = {0};
        struct cursor s = d->fields.v[i].sub;
        for (struct field f; next_field(&s, &f);) {
            while (f.number == 1 && cursor_left(&f.sub))
                location_text(d, cursor_uleb(&f.sub), &names);
            while (f.number == 2 && cursor_left(&f.sub))
                buf_printf(&values, "%llu ", (unsigned long long)cursor_uleb(&f.sub));
            if (f.number == 3)
                label_text(d, f.sub, &names);
        }
        buf_printf(out, "%s:%s\n", values.data, names.data);
    }
}

static void types_text(const struct decoded *d, unsigned kind, struct buf *out)
{
    for (size_t i = 0; i < d->fields.n; i++) {
        if (d->fields.v[i].number != kind)
            continue;
        add_text(d, number_of(d->fields.v[i].sub, 1), out);
        buf_char(out, '/');
        add_text(d, number_of(d->fields.v[i].sub, 2), out);
        buf_char(out, ' ');
    }
}

static u64 top_number(const struct decoded *d, unsigned field)
{
    for (size_t i = 0; i < d->fields.n; i++)
        if (d->fields.v[i].number == field)
            return d->fields.v[i].value;
    return 0;
}

static const struct fixture_sample PLAIN[] = {
    {"demo", 20, 0, XP_CAUSE_END, 10000000, 1, 3, {W_KERNEL(0x3010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x1010)}},
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0}, types = {0};
    samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK_STR(b.data,
              "1 10000000 : vfs_read leaf inner:14 outer:42 main {pid=20} {process=demo}\n"
              "2 20000000 : leaf [cut: no-rule] {pid=20} {process=demo} {cut=no-rule}\n"
              "1 10000000 : [no stack: no-memory-map] {pid=7} {process=idle}\n");
    types_text(&d, 1, &types);
    types_text(&d, 11, &types);
    add_text(&d, top_number(&d, 14), &types);
    CHECK_STR(types.data, "samples/count cpu/nanoseconds cpu/nanoseconds cpu");
    CHECK_EQ(top_number(&d, 9), 1700000000ll * 1000000000);
    CHECK_EQ(top_number(&d, 10), 2000000000);
    CHECK_EQ(top_number(&d, 12), 10000000);
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    samples_text(&d, &b);
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    samples_text(&d, &b);
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    samples_text(&d, &b);
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    samples_text(&d, &b);
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0}, types = {0};
    samples_text(&d, &b);
    types_text(&d, 1, &types);
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
        decode(&p, &d);
        AUTO_BUF struct buf types = {0};
        types_text(&d, 1, &types);
        types_text(&d, 11, &types);
        add_text(&d, top_number(&d, 14), &types);
        CHECK_STR(types.data, want[i]);
        CHECK_EQ(top_number(&d, 12), i < 2);
    }
}

TEST(pprof_mappings_hold_their_locations)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_DECODED struct decoded d;
    decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0; i < d.fields.n; i++) {
        if (d.fields.v[i].number == 4 && number_of(d.fields.v[i].sub, 2)) {
            struct cursor m;
            CHECK(by_id(&d, 3, number_of(d.fields.v[i].sub, 2), &m));
            u64 address = number_of(d.fields.v[i].sub, 3);
            CHECK(address >= number_of(m, 2) && address < number_of(m, 3));
        } else if (d.fields.v[i].number == 3) {
            struct cursor m = d.fields.v[i].sub;
            add_text(&d, number_of(m, 5), &b);
            buf_char(&b, ' ');
            add_text(&d, number_of(m, 6), &b);
            buf_printf(&b, " %llx+%llx %llu%llu%llu%llu\n", (unsigned long long)number_of(m, 2),
                       (unsigned long long)number_of(m, 4), (unsigned long long)number_of(m, 7),
                       (unsigned long long)number_of(m, 8), (unsigned long long)number_of(m, 9),
                       (unsigned long long)number_of(m, 10));
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
    decode(&p, &d);
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0; i < d.fields.n; i++) {
        if (d.fields.v[i].number != 3)
            continue;
        add_text(&d, number_of(d.fields.v[i].sub, 5), &b);
        buf_char(&b, ' ');
    }
    CHECK_STR(b.data, "/tmp/broken [vdso] /usr/bin/demo /usr/lib/libplain.so.1 [kernel.kallsyms] ");
}

TEST(pprof_strings)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    AUTO_DECODED struct decoded d;
    decode(&p, &d);
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
            CHECK(number_of(d.fields.v[i].sub, 2)); /* no function without a name */
    }
    CHECK_EQ(comments, 2);
    AUTO_BUF struct buf b = {0};
    samples_text(&d, &b);
    CHECK(!d.bad);
    CHECK(strstr(b.data, " semi;colon new\nline\r\ttab \x1b[31m:7 [cut: no-rule] {pid=11}"));
}
