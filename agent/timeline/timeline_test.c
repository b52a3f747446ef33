/* Whose threads have tracks (probe/fake_timeline_test.c says what happens). */
#include "base/buf.h"
#include "base/test.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

static int collect(void *ctx, const void *data, size_t len)
{
    buf_add(ctx, data, len);
    return 0;
}

static int recorded(const struct timeline_config *config, struct buf *out, struct timeline_report *report)
{
    struct timeline *t = NULL;
    struct profile p;
    char why[128];
    int rc = profile_init(&p);
    if (!rc)
        rc = timeline_new(&t, config, why, sizeof(why));
    if (!rc)
        rc = timeline_start(t, why, sizeof(why));
    if (!rc)
        rc = timeline_poll(t);
    if (!rc) {
        timeline_stop(t);
        timeline_report(t, report);
        rc = timeline_write(t, TIMELINE_TRACE, &p, (struct timeline_sink){collect, out});
    }
    timeline_free(&t);
    profile_free(&p);
    return rc;
}

TEST(timeline_of_processes_and_their_children)
{
    AUTO_BUF struct buf out = {0};
    struct timeline_report r;
    const u32 pids[] = {10};
    const struct timeline_config config = {.pids = pids, .npids = 1, .bytes = 1 << 20};
    CHECK(!recorded(&config, &out, &r));
    CHECK(strstr(out.data, "{\"name\":\"ten\"}") && strstr(out.data, "{\"name\":\"child\"}"));
    CHECK(!strstr(out.data, "{\"name\":\"twenty\"}") && !strstr(out.data, "{\"name\":\"other\"}"));
    CHECK_EQ(r.switches, 2);
    CHECK_EQ(r.threads, 4);
    CHECK_EQ(r.lost, 3);
}

TEST(timeline_of_the_machine)
{
    AUTO_BUF struct buf out = {0};
    struct timeline_report r;
    const struct timeline_config config = {.bytes = 1 << 20};
    CHECK(!recorded(&config, &out, &r));
    CHECK(strstr(out.data, "{\"name\":\"child\"}") && strstr(out.data, "{\"name\":\"other\"}"));
    CHECK(!strstr(out.data, "{\"name\":\"parent\"}")); /* its name of before */
}
