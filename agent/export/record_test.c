#include "export/record.h"
#include "base/gz.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include <errno.h>

TEST(export_record_comes_back)
{
    AUTO_BUF struct buf pprof = {0}, record = {0}, again = {0};
    struct export_profile p;
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    CHECK_EQ(record_encode(&item, &record), 0);
    CHECK_EQ(record_decode(record.data, record.len, &p), 0);
    CHECK_EQ(p.nlabels, 4);
    CHECK_STR(p.labels[2].name, "pod");
    CHECK_STR(record_label(&p, "service_name"), "cart");
    CHECK(!record_label(&p, "nobody"));
    CHECK_STR(p.type, "cpu");
    CHECK_EQ(p.time_ns, item.time_ns);
    CHECK_EQ(p.duration_ns, item.duration_ns);
    CHECK_EQ(p.raw_len, pprof.len);
    CHECK_EQ(gz_expand(p.gz, p.gz_len, 1 << 20, &again), 0);
    CHECK_EQ(again.len, pprof.len);
    CHECK(memcmp(again.data, pprof.data, pprof.len) == 0);
}

TEST(export_record_cut_anywhere)
{
    AUTO_BUF struct buf pprof = {0}, record = {0};
    struct export_profile p;
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    CHECK_EQ(record_encode(&item, &record), 0);
    CHECK_EQ(record_decode(record.data, record.len, &p), 0);
    size_t facts = record.len - p.gz_len;
    for (size_t n = 0; n < facts; n++)
        CHECK_EQ(record_decode(record.data, n, &p), -EBADMSG);
}

TEST(export_record_bounds)
{
    AUTO_BUF struct buf record = {0};
    struct export_label labels[EXPORT_MAX_LABELS + 1];
    for (size_t i = 0; i <= EXPORT_MAX_LABELS; i++)
        labels[i] = (struct export_label){"a", "b"};
    struct export_item item = {.labels = labels, .nlabels = EXPORT_MAX_LABELS + 1, .type = "cpu", .pprof = "x"};
    CHECK_EQ(record_encode(&item, &record), -E2BIG);
    item.nlabels = EXPORT_MAX_LABELS;
    CHECK_EQ(record_encode(&item, &record), 0);
    item.len = EXPORT_MAX_PPROF + 1;
    CHECK_EQ(record_encode(&item, &record), -E2BIG);
    CHECK_EQ(record.data[0], EXPORT_MAX_LABELS);
    struct export_profile p;
    record.data[0] = EXPORT_MAX_LABELS + 1;
    CHECK_EQ(record_decode(record.data, record.len, &p), -EBADMSG);
}
