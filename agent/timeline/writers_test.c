/* The files: what is in them of the story, and that they are JSON. */
#include "base/json.h"
#include "timeline/story_test.h"
#include "timeline/writer.h"
#include <errno.h>

static int collect(void *ctx, const void *data, size_t len)
{
    buf_add(ctx, data, len);
    return 0;
}

static int refuse(void *ctx, const void *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return -ENOSPC;
}

static int written(int (*write)(struct tl_view *), struct timeline_sink sink)
{
    struct tl_store *s = story();
    struct profile p;
    if (!s || profile_init(&p))
        return -ENOMEM;
    struct tl_view v = {.store = s, .profile = &p, .begin = STORY_BEGIN, .end = STORY_END, .start_ns = 5, .sink = sink};
    int rc = causes_new(&v.causes, NULL);
    u32 *comment = rc ? NULL : VEC_PUSH(&p.comments);
    if (comment) {
        *comment = profile_string(&p, "command: xprof record \"x\"");
        rc = write(&v);
    }
    causes_free(&v.causes);
    buf_free(&v.buf);
    profile_free(&p);
    store_free(&s);
    return rc;
}

static bool has(const struct buf *text, const char *part)
{
    return text->data && strstr(text->data, part);
}

TEST(timeline_chrome_trace)
{
    AUTO_BUF struct buf out = {0};
    struct json *root = NULL;
    CHECK(!written(trace_write, (struct timeline_sink){collect, &out}));
    CHECK(!json_parse(&root, out.data, out.len, 1 << 20));
    CHECK(json_count(json_get(root, "traceEvents")) > 15);
    CHECK_STR(json_text(json_at_path(root, "otherData.command")), "xprof record \"x\"");
    CHECK(has(&out, "\"pid\":10,\"tid\":10,\"ts\":0,\"dur\":20,\"name\":\"running\",\"cat\":\"running\""));
    CHECK(has(&out, "\"pid\":10,\"tid\":10,\"ts\":20,\"dur\":31,\"name\":\"blocked [disk]\",\"cat\":\"blocked\""));
    CHECK(
        has(&out, "\"ts\":51,\"dur\":9,\"name\":\"runnable\",\"cat\":\"runnable\",\"args\":{\"waker\":\"interrupt\"}"));
    CHECK(has(&out, "\"ts\":60,\"dur\":30,\"name\":\"running\",\"cat\":\"running\",\"args\":{\"cpu\":1,\"from\":0}"));
    CHECK(has(&out, "{\"ph\":\"s\",\"pid\":10,\"tid\":10,\"ts\":15,\"id\":1,"));
    CHECK(has(&out, "{\"ph\":\"f\",\"pid\":10,\"tid\":11,\"ts\":16,\"id\":1,"));
    CHECK(has(&out, "\"pid\":12,\"tid\":12,\"ts\":0,\"dur\":100,\"name\":\"blocked [other]\""));
    CHECK(has(&out, "\"name\":\"thread_name\",\"args\":{\"name\":\"worker\"}"));
    CHECK(has(&out, "\"name\":\"process_name\",\"args\":{\"name\":\"server\"}"));
    CHECK(has(&out, "\"name\":\"run queue of CPU 1\",\"args\":{\"threads\":1}"));
    json_free(&root);
}

TEST(timeline_firefox_profile)
{
    AUTO_BUF struct buf out = {0};
    struct json *root = NULL;
    CHECK(!written(firefox_write, (struct timeline_sink){collect, &out}));
    CHECK(!json_parse(&root, out.data, out.len, 1 << 20));
    const struct json *threads = json_get(root, "threads");
    CHECK_EQ(json_count(threads), 5); /* two CPUs, three threads */
    CHECK_STR(json_get_text(json_item(threads, 2), "name"), "server");
    const struct json *markers = json_get(json_item(threads, 2), "markers");
    CHECK_EQ(json_count(json_get(markers, "name")), 4); /* ran, blocked, runnable, ran */
    CHECK(has(&out, "\"startTime\":[0,0.020,0.051,0.060],\"endTime\":[0.020,0.051,0.060,0.090]"));
    CHECK(has(&out, "\"runnable, woken up by server (10)\"") && has(&out, "\"runnable, woken up by an interrupt\""));
    CHECK(has(&out, "\"blocked [disk]\"") && has(&out, "\"run queue: 1\""));
    json_free(&root);
}

TEST(timeline_files_that_cannot_be_written_are_an_error)
{
    CHECK_EQ(written(trace_write, (struct timeline_sink){refuse, NULL}), -ENOSPC);
    CHECK_EQ(written(firefox_write, (struct timeline_sink){refuse, NULL}), -ENOSPC);
}
