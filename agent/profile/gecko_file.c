#include "profile/gecko_file.h"
#include "base/cleanup.h"
#include "profile/gecko_tables.h"
#include <string.h>

#define VERSION 55

static const struct {
    const char *name, *color;
} CATEGORIES[GECKO_CATEGORIES] = {[GECKO_OTHER] = {"Other", "grey"},
                                  [GECKO_USER] = {"User", "yellow"},
                                  [GECKO_KERNEL] = {"Kernel", "orange"},
                                  [GECKO_RUNTIME] = {"Runtime", "green"},
                                  [GECKO_WAIT] = {"Waiting", "blue"}};

static void put_categories(struct buf *out)
{
    buf_str(out, "\"categories\":[");
    for (size_t i = 0; i < GECKO_CATEGORIES; i++)
        buf_printf(out, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}", i ? "," : "",
                   CATEGORIES[i].name, CATEGORIES[i].color);
    buf_char(out, ']');
}

void gecko_put_ms(u64 ns, struct buf *out)
{
    buf_printf(out, "%llu.%06u", (unsigned long long)(ns / 1000000), (unsigned)(ns % 1000000));
}

/* What is known of the recording: the comments are "key: value". */
static void put_comments(const struct profile *p, struct buf *out)
{
    AUTO_BUF struct buf key = {0};
    buf_str(out, "\"extra\":[{\"label\":\"Recording\",\"entries\":[");
    for (size_t i = 0, n = 0; i < p->comments.n; i++) {
        const char *value = profile_comment(p, i, &key);
        out->failed |= key.failed;
        if (!value)
            continue;
        buf_str(out, n++ ? ",{\"label\":" : "{\"label\":");
        buf_json(out, key.data);
        buf_str(out, ",\"format\":\"string\",\"value\":");
        buf_json(out, value);
        buf_char(out, '}');
    }
    buf_str(out, "]}]");
}

static void put_meta(const struct profile *p, u64 interval, struct buf *out)
{
    buf_printf(out, "\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,\"product\":\"xprof\",", VERSION);
    buf_str(out, "\"profileName\":");
    buf_json(out, profile_title(p));
    buf_str(out,
            ",\"processType\":0,\"debug\":false,\"stackwalk\":1,\"symbolicated\":true,\"toolkit\":\"\","
            "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],"
            "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
            "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
            "\"interval\":");
    gecko_put_ms(interval, out);
    buf_str(out, ",\"startTime\":");
    gecko_put_ms(p->time_ns, out);
    buf_char(out, ',');
    put_categories(out);
    buf_char(out, ',');
    put_comments(p, out);
    buf_char(out, '}');
}

void gecko_begin(const struct profile *p, u64 interval, struct buf *out)
{
    buf_char(out, '{');
    put_meta(p, interval, out);
    buf_str(out, ",\"libs\":[],\"pages\":[],\"profilerOverhead\":[],\"counters\":[],\"threads\":[");
}

void gecko_begin_thread(const struct gecko_thread *t, struct buf *out)
{
    buf_str(out, "\n{\"name\":");
    buf_json(out, t->name);
    buf_str(out, ",\"processName\":");
    buf_json(out, t->process);
    buf_printf(out, ",\"processType\":\"default\",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u,",
               t->main ? "true" : "false", t->pid, t->tid);
    buf_str(out,
            "\"registerTime\":0,\"processStartupTime\":0,\"unregisterTime\":null,\"processShutdownTime\":null,"
            "\"pausedRanges\":[],");
}

void gecko_end(struct buf *out)
{
    buf_str(out, "]}\n");
}
