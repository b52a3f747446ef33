#include "cli/list.h"
#include "base/json.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "events/events.h"
#include <string.h>

TEST(list_has_a_line_for_every_event)
{
    AUTO_BUF struct buf b = {0};
    size_t n, lines = 0;
    const struct event_kind *k = event_kinds(&n);
    list_text(&b);
    buf_char(&b, 0);
    CHECK(!strncmp(b.data, "NAME ", 5));
    long what = strstr(b.data, "WHAT") - b.data;
    for (char *rest = b.data, *line; (line = strsep(&rest, "\n")) && *line; lines++) {
        CHECK(strlen(line) <= 120);
        if (!lines)
            continue;
        if (lines == n + 1) {
            CHECK(!strncmp(line, "timeline ", 9) && strstr(line, "who ran") == line + what);
            continue;
        }
        const struct event_kind *kind = &k[lines - 1];
        CHECK(!strncmp(line, kind->name, strlen(kind->name)) && line[strlen(kind->name)] == ' ');
        CHECK_STR(line + what, kind->help); /* all columns begin where their headings do */
        CHECK(strstr(line, kind->values[kind->main].unit) && strstr(line, event_cost_name(kind->cost)));
        CHECK(strstr(line, kind->default_hz ? " 99 " : " - ") && strstr(line, kind->needs));
    }
    CHECK_EQ(lines, n + 2); /* with the headings and the timeline */
}

TEST(list_as_json)
{
    AUTO_BUF struct buf b = {0};
    CLEANUP(json_free) struct json *all = NULL;
    size_t n;
    int64_t rate;
    const struct event_kind *k = event_kinds(&n);
    list_json(&b);
    CHECK_EQ(json_parse(&all, b.data, b.len, 1 << 20), 0);
    CHECK_EQ(json_count(all), n + 1);
    CHECK_STR(json_get_text(json_item(all, n), "name"), "timeline");
    for (size_t i = 0; i < n; i++) {
        const struct json *j = json_item(all, i);
        CHECK_STR(json_get_text(j, "name"), k[i].name);
        CHECK_STR(json_get_text(j, "unit"), k[i].values[k[i].main].unit);
        CHECK_STR(json_get_text(j, "type"), k[i].values[k[i].main].type);
        CHECK_STR(json_get_text(j, "series"), k[i].series);
        CHECK_STR(json_get_text(j, "cost"), event_cost_name(k[i].cost));
        CHECK_STR(json_get_text(j, "needs"), k[i].needs);
        CHECK_STR(json_get_text(j, "help"), k[i].help);
        CHECK(json_get_int(j, "default_rate", &rate) && rate == k[i].default_hz);
        const struct json *aliases = json_get(j, "aliases");
        for (size_t a = 0; k[i].aliases[a]; a++)
            CHECK_STR(json_text(json_item(aliases, a)), k[i].aliases[a]);
        CHECK(!k[i].aliases[json_count(aliases)]);
    }
}
