#include "export/otlp.h"
#include "base/cleanup.h"
#include "base/pb.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include <errno.h>

#define AUTO_PPROF CLEANUP(pprof_free)

/* The nth field of that number in a message; empty when there is none. */
static struct cursor nth(struct cursor message, unsigned number, unsigned n)
{
    for (struct pb_field f; pb_next(&message, &f);)
        if (f.number == number && f.wire == PB_BYTES && !n--)
            return f.bytes;
    return cursor_of("", 0);
}

static unsigned count(struct cursor message, unsigned number)
{
    unsigned n = 0;
    for (struct pb_field f; pb_next(&message, &f);)
        n += f.number == number;
    return n;
}

static bool is_text(struct cursor c, const char *s)
{
    return c.len == strlen(s) && memcmp(c.base, s, c.len) == 0;
}

static int encode(const struct buf *raw, struct buf *out)
{
    struct pprof p AUTO_PPROF = {0};
    struct export_item item = test_item(raw);
    struct otlp_about about = {.labels = item.labels, .nlabels = item.nlabels, .time_ns = 9};
    int rc = pprof_read(&p, raw->data, raw->len);
    return rc ? rc : otlp_encode(&p, &about, out);
}

static struct cursor text_at(struct cursor dictionary, u64 index)
{
    return nth(dictionary, 5, (unsigned)index);
}

TEST(otlp_dictionary)
{
    AUTO_BUF struct buf raw = {0}, out = {0};
    test_pprof(&raw, "leaf", 7);
    CHECK_EQ(encode(&raw, &out), 0);
    struct cursor d = nth(cursor_of(out.data, out.len), 2, 0);
    for (unsigned table = 1; table <= 7; table++) {
        CHECK(count(d, table) >= 1);
        CHECK_EQ(nth(d, table, 0).len, 0); /* the zero value */
    }
    CHECK_EQ(count(d, 1), 2);
    CHECK_EQ(count(d, 2), 4);
    CHECK_EQ(count(d, 3), 4);
    CHECK_EQ(count(d, 7), 2);
    /* sample -> stack -> leaf location -> line -> function -> name */
    struct pb_field stack;
    struct cursor s = nth(d, 7, 1);
    u64 leaf;
    CHECK(pb_next(&s, &stack) && pb_repeated(&stack, &leaf));
    struct cursor location = nth(d, 2, (unsigned)leaf);
    CHECK_EQ(pb_number(location, 1), 1);
    CHECK_EQ(pb_number(location, 2), 0x1030);
    struct cursor line = nth(location, 3, 0), function = nth(d, 3, (unsigned)pb_number(line, 1));
    CHECK_EQ(pb_number(line, 2), 13);
    CHECK(is_text(text_at(d, pb_number(function, 1)), "leaf"));
    struct cursor mapping = nth(d, 1, 1);
    CHECK_EQ(pb_number(mapping, 1), 0x1000);
    CHECK(is_text(text_at(d, pb_number(mapping, 4)), "/app"));
    struct cursor attribute = nth(d, 6, 1);
    CHECK(is_text(text_at(d, pb_number(attribute, 1)), "process.executable.build_id.gnu"));
    CHECK(is_text(nth(nth(attribute, 2, 0), 1, 0), "c0ffee"));
}

TEST(otlp_profiles)
{
    AUTO_BUF struct buf raw = {0}, out = {0};
    test_pprof(&raw, "leaf", 7);
    CHECK_EQ(encode(&raw, &out), 0);
    struct cursor all = cursor_of(out.data, out.len), d = nth(all, 2, 0);
    struct cursor scopes = nth(nth(all, 1, 0), 2, 0), profile = nth(scopes, 2, 1);
    CHECK_EQ(count(scopes, 2), 2);
    CHECK(is_text(text_at(d, pb_number(nth(profile, 1, 0), 1)), "cpu"));
    CHECK(is_text(text_at(d, pb_number(nth(profile, 1, 0), 2)), "nanoseconds"));
    struct cursor sample = nth(profile, 2, 0);
    CHECK_EQ(pb_number(sample, 1), 1);
    struct pb_field value = {.wire = PB_BYTES, .bytes = nth(sample, 4, 0)};
    u64 v;
    CHECK(pb_repeated(&value, &v));
    CHECK_EQ(v, 50000000);
    CHECK_EQ(pb_number(profile, 3), 7);
    CHECK_EQ(pb_number(profile, 4), 1000000000);
    CHECK(is_text(text_at(d, pb_number(nth(profile, 5, 0), 1)), "cpu"));
    CHECK_EQ(pb_number(profile, 6), 10000000);
    CHECK_EQ(nth(profile, 7, 0).len, 16);
    CHECK(memcmp(nth(profile, 7, 0).base, nth(nth(scopes, 2, 0), 7, 0).base, 16) != 0);
}

TEST(otlp_resource)
{
    AUTO_BUF struct buf raw = {0}, out = {0};
    test_pprof(&raw, "leaf", 7);
    CHECK_EQ(encode(&raw, &out), 0);
    struct cursor r = nth(nth(cursor_of(out.data, out.len), 1, 0), 1, 0);
    CHECK_EQ(count(r, 1), 3); /* without __name__ */
    CHECK(is_text(nth(nth(r, 1, 0), 1, 0), "k8s.namespace.name"));
    CHECK(is_text(nth(nth(nth(r, 1, 0), 2, 0), 1, 0), "shop"));
    CHECK(is_text(nth(nth(r, 1, 2), 1, 0), "service.name"));
}

TEST(otlp_text_is_made_utf8)
{
    AUTO_BUF struct buf raw = {0}, out = {0};
    test_pprof(&raw, "a\xff", 7);
    CHECK_EQ(encode(&raw, &out), 0);
    CHECK(memmem(out.data, out.len, "a\xef\xbf\xbd", 4));
    CHECK(!memmem(out.data, out.len, "a\xff", 2));
}

/* A profile with one message more, which points nowhere. */
static int with(unsigned field, unsigned inner, u64 value)
{
    AUTO_BUF struct buf raw = {0}, out = {0};
    test_pprof(&raw, "leaf", 7);
    size_t m = pb_begin(&raw, field);
    if (field >= 3)
        pb_uint(&raw, 1, 77);
    pb_uint(&raw, inner, value);
    pb_end(&raw, m);
    return encode(&raw, &out);
}

TEST(otlp_indices_are_checked)
{
    CHECK_EQ(with(2, 1, 1), 0);
    CHECK_EQ(with(2, 1, 99), -EBADMSG); /* a sample's location */
    CHECK_EQ(with(1, 1, 99), -EBADMSG); /* a type's name */
    CHECK_EQ(with(3, 5, 99), -EBADMSG); /* a mapping's file name, */
    CHECK_EQ(with(3, 6, 99), -EBADMSG); /* its build id */
    CHECK_EQ(with(4, 2, 99), -EBADMSG); /* a location's mapping */
    CHECK_EQ(with(5, 2, 99), -EBADMSG); /* a function's name */
}

static int add_twice(unsigned field, u64 id)
{
    AUTO_BUF struct buf raw = {0}, out = {0};
    test_pprof(&raw, "leaf", 7);
    size_t m = pb_begin(&raw, field);
    pb_uint(&raw, 1, id);
    pb_end(&raw, m);
    return encode(&raw, &out);
}

TEST(pprof_ids)
{
    CHECK_EQ(add_twice(4, 77), 0);
    CHECK_EQ(add_twice(4, 1), -EBADMSG); /* somebody has it */
    CHECK_EQ(add_twice(4, 0), -EBADMSG);
}

TEST(pprof_cut_anywhere)
{
    AUTO_BUF struct buf raw = {0};
    test_pprof(&raw, "leaf", 7);
    for (size_t n = 0; n < raw.len; n++) {
        AUTO_BUF struct buf out = {0};
        struct buf part = raw;
        part.len = n;
        int rc = encode(&part, &out);
        CHECK(rc == 0 || rc == -EBADMSG);
    }
}

/* The id of a profile: another one for other labels, the same for the same. */
TEST(otlp_profiles_have_ids_of_their_own)
{
    static const struct export_label first[] = {{"pod", "a"}, {"node", "n"}}, second[] = {{"pod", "b"}, {"node", "n"}},
                                     third[] = {{"pod", "a"}, {"node", "m"}};
    const struct export_label *const labels[] = {first, second, third, first};
    AUTO_BUF struct buf raw = {0};
    char ids[4][16];
    test_pprof(&raw, "leaf", 7);
    for (size_t i = 0; i < 4; i++) {
        struct pprof p AUTO_PPROF = {0};
        AUTO_BUF struct buf out = {0};
        struct otlp_about about = {.labels = labels[i], .nlabels = 2, .time_ns = 9};
        CHECK_EQ(pprof_read(&p, raw.data, raw.len), 0);
        CHECK_EQ(otlp_encode(&p, &about, &out), 0);
        struct cursor scopes = nth(nth(cursor_of(out.data, out.len), 1, 0), 2, 0);
        struct cursor id = nth(nth(scopes, 2, 0), 7, 0), other = nth(nth(scopes, 2, 1), 7, 0);
        CHECK(id.len == 16 && other.len == 16 && memcmp(id.base, other.base, 16) != 0);
        memcpy(ids[i], id.base, 16);
    }
    CHECK(memcmp(ids[0], ids[1], 16) != 0 && memcmp(ids[0], ids[2], 16) != 0 && memcmp(ids[1], ids[2], 16) != 0);
    CHECK(memcmp(ids[0], ids[3], 16) == 0);
}
