#include "cli/agent/agent_events.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct world { /* a configuration file that was read */
    struct config_file *file;
    struct agent_options options;
    struct agent_events events;
    struct buf message;
};

static int read_world(struct world *w, const char *text)
{
    char path[] = "/tmp/xprof-events-XXXXXX", name[] = "agent", option[] = "--config";
    char *argv[] = {name, option, path, NULL};
    AUTO_CLOSE int fd = mkstemp(path);
    *w = (struct world){.file = NULL};
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return -EIO;
    int rc = agent_options_parse(3, argv, &w->options, &w->file, &w->message);
    unlink(path);
    rc = rc ? rc : agent_events_make(&w->events, &w->options, w->file, &w->message);
    buf_char(&w->message, 0);
    return rc;
}

static void end_world(struct world *w)
{
    agent_events_free(&w->events);
    agent_options_free(&w->options);
    config_file_free(&w->file);
    buf_free(&w->message);
}

#define PROBE(name) "{name: " name ", probe: \"uprobe:x.so:f\"}"

/* Those that everybody gets come first: their places are bits. */
TEST(agent_events_are_kinds_and_probes)
{
    CLEANUP(end_world) struct world w;
    CHECK_EQ(read_world(&w,
                        "events:\n- {name: asked-for, probe: 'uprobe:x.so:f'}\n- off-cpu\n"
                        "- name: always\n  probe: uprobe:y.so:g\n  value: arg1\n  unit: bytes\n  default: on\n"),
             0);
    const struct agent_events *e = &w.events;
    CHECK_EQ(e->usual, 2);
    CHECK_STR(e->names[0], "offcpu");
    CHECK_STR(e->names[1], "always");
    CHECK_STR(e->names[2], "asked-for");
    CHECK_STR(e->names[3], "runqueue"); /* costs nothing until a pod asks for it */
    CHECK(agent_events_find(&w.events, "always") && !agent_events_find(&w.events, "offcpu"));
    CHECK(!config_file_left(w.file, &(unsigned){0}));
    CLEANUP(end_world) struct world same, other;
    CHECK_EQ(read_world(&same,
                        "events: [{name: asked-for, probe: 'uprobe:x.so:f'}, {name: always, probe: "
                        "'uprobe:y.so:g', value: arg1, unit: bytes, default: on}]"),
             0);
    CHECK(agent_events_same(e, &same.events));
    CHECK_STR(same.events.names[0], "cpu"); /* no kind is listed */
    CHECK_EQ(read_world(&other, "events: [" PROBE("asked-for") "]"), 0);
    CHECK(!agent_events_same(e, &other.events));
}

TEST(agent_events_name_what_is_wrong_and_where)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"events:\n- cpu\n- " PROBE("cpu"), ":3: the name cpu is taken by the event cpu"},
        {"events: [" PROBE("a") ", " PROBE("a") "]", ":1: the name a is taken by the event a"},
        {"events:\n- {name: a}", ":2: a probe in events has a name and a probe"},
        {"events: [{name: a, probe: cpu}]", ":1: probe a: \"cpu\" is none"},
        {"events: [{name: a, probe: 'uprobe:x.so:f', unit: bytes}]", "a unit is one of a value"},
        {"events: [{name: a, probe: 'uprobe:x.so:f', value: arg9}]", ":1: probe a: value arg9:"},
        {"events: [{name: a, probe: 'uprobe:x.so:f', filter: 'arg1 <'}]", ":1: probe a: filter 'arg1 <':"},
        {"events: [{name: a, probe: 'uprobe:x.so:f', period: -1}]", "period: \"-1\" is not a number"},
        {"events: [{name: a, probe: 'uprobe:x.so:f', default: 2}]", "default: \"2\" is neither on nor off"},
        {"events: [{name: a, probe: 'uprobe:x.so'}]", "expected uprobe:FILE:FUNCTION"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(end_world) struct world w;
        CHECK_EQ(read_world(&w, rows[i].text), -EINVAL);
        if (!strstr(w.message.data, rows[i].says) || strchr(w.message.data, '\n') != w.message.data + w.message.len - 2)
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].text, w.message.data);
    }
}

TEST(agent_events_have_a_limit_of_probes)
{
    AUTO_BUF struct buf text = {0};
    CLEANUP(end_world) struct world w;
    buf_str(&text, "events:\n");
    for (int i = 0; i < 100; i++)
        buf_printf(&text, "- {name: p%d, probe: 'uprobe:x.so:f'}\n", i);
    buf_char(&text, 0);
    CHECK_EQ(read_world(&w, text.data), -EINVAL);
    CHECK(strstr(w.message.data, ":18: p16 is one too many: at most 16 probes"));
}
