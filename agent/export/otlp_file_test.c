/* A whole export as text: every field of the message, where otlp_test.c looks at what they mean. */
#include "base/cleanup.h"
#include "base/pb.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include "export/otlp.h"

static bool is_among(const char *path, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(path, *list))
            return true;
    return false;
}

/* "1{...}" for a message, 2"text", 3[packed numbers], 4=number; identifiers, which are hashes, as their length. */
static void dump(struct cursor c, const char *path, struct buf *out)
{
    static const char *const texts[] = {".1.1.1.1", ".1.1.1.2.1", ".1.2.1.1", ".1.2.1.2", ".2.5", ".2.6.2.1", NULL};
    static const char *const packed[] = {".1.2.2.2.4", ".2.1.5", ".2.7.1", NULL};
    struct pb_field f;
    while (pb_next(&c, &f)) {
        char at[64];
        snprintf(at, sizeof(at), "%s.%u", path, f.number);
        buf_printf(out, "%u", f.number);
        if (f.wire != PB_BYTES) {
            buf_printf(out, "=%llu ", (unsigned long long)f.value);
        } else if (is_among(at, texts)) {
            buf_printf(out, "\"%.*s\" ", (int)f.bytes.len, (const char *)f.bytes.base);
        } else if (is_among(at, packed)) {
            buf_char(out, '[');
            for (u64 v; pb_repeated(&f, &v);)
                buf_printf(out, " %llu", (unsigned long long)v);
            buf_str(out, " ] ");
        } else if (!strcmp(at, ".1.2.2.7")) {
            buf_printf(out, "(%zu) ", f.bytes.len);
        } else {
            buf_str(out, "{ ");
            dump(f.bytes, at, out);
            buf_str(out, "} ");
        }
    }
    if (c.bad)
        buf_str(out, "damaged ");
}

static int as_text(const struct buf *raw, struct buf *text)
{
    CLEANUP(pprof_free) struct pprof p = {0};
    AUTO_BUF struct buf out = {0};
    struct export_item item = test_item(raw);
    struct otlp_about about = {.labels = item.labels, .nlabels = item.nlabels, .time_ns = 9, .duration_ns = 8};
    int rc = pprof_read(&p, raw->data, raw->len);
    if (!rc)
        rc = otlp_encode(&p, &about, &out);
    dump(cursor_of(out.data, out.len), "", text);
    buf_char(text, 0);
    return rc;
}

#define RESOURCE                                                                                 \
    "1{ 1{ 1{ 1\"k8s.namespace.name\" 2{ 1\"shop\" } } 1{ 1\"k8s.pod.name\" 2{ 1\"cart-0\" } } " \
    "1{ 1\"service.name\" 2{ 1\"cart\" } } } 2{ 1{ 1\"xprof\" 2\"" XPROF_VERSION "\" } "

TEST(otlp_whole_file)
{
    AUTO_BUF struct buf raw = {0}, text = {0};
    test_pprof(&raw, "leaf", 7);
    CHECK_EQ(as_text(&raw, &text), 0);
    CHECK_STR(text.data, RESOURCE
              "2{ 1{ 1=1 2=2 } 2{ 1=1 4[ 5 ] } 3=7 4=1000000000 5{ 1=3 2=4 } 6=10000000 7(16) } "
              "2{ 1{ 1=3 2=4 } 2{ 1=1 4[ 50000000 ] } 3=7 4=1000000000 5{ 1=3 2=4 } 6=10000000 7(16) } } } "
              "2{ 1{ } 1{ 1=4096 2=36864 4=8 5[ 1 ] } "
              "2{ } 2{ 1=1 2=4112 3{ 1=1 2=11 } } 2{ 1=1 2=4128 3{ 1=2 2=12 } } 2{ 1=1 2=4144 3{ 1=3 2=13 } } "
              "3{ } 3{ 1=5 2=5 } 3{ 1=6 2=6 } 3{ 1=7 2=7 } 4{ } "
              "5\"\" 5\"samples\" 5\"count\" 5\"cpu\" 5\"nanoseconds\" 5\"main\" 5\"work\" 5\"leaf\" 5\"/app\" "
              "5\"c0ffee\" 5\"process.executable.build_id.gnu\" "
              "6{ } 6{ 1=10 2{ 1\"c0ffee\" } } 7{ } 7{ 1[ 3 2 1 ] } } ");
}

/* A message of numbers only: fields 1, 2, ... */
static void numbers(struct buf *b, unsigned field, const u64 *v, unsigned n)
{
    size_t m = pb_begin(b, field);
    for (unsigned i = 0; i < n; i++)
        pb_uint(b, i + 1, v[i]);
    pb_end(b, m);
}

/* What a profile does not say is said by who sends it; mappings without a build id have no attribute, and the next
 * one's is not theirs; a sample that has nothing of an event is not in its profile; locations may be in no mapping. */
TEST(otlp_file_with_gaps)
{
    static const char *const strings[] = {"", "cpu", "ns", "/a", "/b", "beef", "f"};
    AUTO_BUF struct buf raw = {0}, text = {0};
    numbers(&raw, 1, (u64[]){1, 2}, 2);
    numbers(&raw, 1, (u64[]){2, 1}, 2);
    for (u64 i = 0; i < 2; i++) {
        size_t m = pb_begin(&raw, 2);
        pb_uint(&raw, 1, 4 + i);
        size_t list = pb_begin(&raw, 2);
        pb_varint(&raw, i ? 6 : 0);
        pb_varint(&raw, i ? 0 : 7);
        pb_end(&raw, list);
        pb_end(&raw, m);
    }
    numbers(&raw, 3, (u64[]){1, 0x10, 0x20, 0x1, 3}, 5);
    numbers(&raw, 3, (u64[]){2, 0x30, 0x40, 0x2, 4, 5}, 6);
    numbers(&raw, 4, (u64[]){4, 2, 0x35}, 3);
    numbers(&raw, 4, (u64[]){5, 0, 0x99}, 3);
    numbers(&raw, 5, (u64[]){9, 6, 6, 3, 70}, 5);
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
        pb_string(&raw, 6, strings[i]);
    CHECK_EQ(as_text(&raw, &text), 0);
    CHECK_STR(text.data, RESOURCE
              "2{ 1{ 1=1 2=2 } 2{ 1=2 4[ 6 ] } 3=9 4=8 7(16) } 2{ 1{ 1=2 2=1 } 2{ 1=1 4[ 7 ] } 3=9 4=8 7(16) } } } "
              "2{ 1{ } 1{ 1=16 2=32 3=1 4=3 } 1{ 1=48 2=64 3=2 4=4 5[ 1 ] } "
              "2{ } 2{ 1=2 2=53 } 2{ 2=153 } 3{ } 3{ 1=6 2=6 3=3 4=70 } 4{ } "
              "5\"\" 5\"cpu\" 5\"ns\" 5\"/a\" 5\"/b\" 5\"beef\" 5\"f\" 5\"process.executable.build_id.gnu\" "
              "6{ } 6{ 1=7 2{ 1\"beef\" } } 7{ } 7{ 1[ 1 ] } 7{ 1[ 2 ] } } ");
}
