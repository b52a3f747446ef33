#include "cli/list_probes.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/test.h"
#include "elf/functions.h"
#include "elf/usdt.h"
#include <string.h>
#include <unistd.h>

TEST(list_of_probes_takes_names_apart)
{
    static const struct {
        const char *text, *file, *pattern;
    } cases[] = {
        {"uprobe:libc.so.6", "libc.so.6", "*"},
        {"uprobe:libc.so.6:", "libc.so.6", "*"},
        {"uprobe:libc.so.6:alloc", "libc.so.6", "*alloc*"},
        {"uretprobe:libc.so.6:alloc*", "libc.so.6", "alloc*"},
        {"uprobe:/usr/bin/a:b:c?", "/usr/bin/a:b", "c?"},
        {"uprobe:/usr/bin/x:ns::f", "/usr/bin/x", "*ns::f*"},
        {"uprobe:pid:12:/usr/bin/x", "pid:12:/usr/bin/x", "*"},
        {"uprobe:pid:12:/usr/bin/x:main", "pid:12:/usr/bin/x", "*main*"},
        {"uprobe:pod:ns/name/container:/usr/bin/x", "pod:ns/name/container:/usr/bin/x", "*"},
        {"uprobe:pod:ns/name/container:/usr/bin/x:a*", "pod:ns/name/container:/usr/bin/x", "a*"},
        {"uprobe:pod:ns/name", "pod:ns/name", "*"},
        {"usdt:libjvm.so", "libjvm.so", "*:*"},
        {"usdt:libjvm.so:hotspot", "libjvm.so", "*hotspot*:*"},
        {"usdt:libjvm.so:hotspot:gc", "libjvm.so", "*hotspot:gc*"},
        {"usdt:libjvm.so:hotspot:g*", "libjvm.so", "hotspot:g*"},
        {"usdt:pid:12:/usr/bin/x:shop", "pid:12:/usr/bin/x", "*shop*:*"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct list_probed l;
        CHECK(list_is_of_probes(cases[i].text));
        CHECK(list_probes_split(cases[i].text, &l));
        CHECK_STR(l.file, cases[i].file);
        CHECK_STR(l.pattern, cases[i].pattern);
    }
    CHECK(!list_is_of_probes("tracepoint:sched:*"));
}

TEST(list_of_probes_takes_the_program_of_a_process)
{
    char text[64], file[300];
    struct list_probed l;
    snprintf(text, sizeof(text), "uprobe:pid:%d:main", getpid());
    snprintf(file, sizeof(file), "pid:%d:/", getpid());
    CHECK(list_probes_split(text, &l));
    CHECK(!strncmp(l.file, file, strlen(file)) && strstr(l.file, "unit"));
    CHECK_STR(l.pattern, "*main*");
    *strrchr(text, ':') = 0;
    CHECK(list_probes_split(text, &l));
    CHECK_STR(l.pattern, "*");
}

TEST(list_of_probes_is_not_too_long)
{
    char text[1200] = "uprobe:";
    struct list_probed l;
    memset(text + 7, 'x', sizeof(text) - 8);
    CHECK(!list_probes_split(text, &l));
    text[40] = ':';
    CHECK(!list_probes_split(text, &l));
    text[70] = 0;
    CHECK(list_probes_split(text, &l));
}

TEST(list_of_functions_has_names_that_are_patterns)
{
    const struct {
        struct functions f;
        struct function v[4];
        char names[64];
    } r = {
        .f = {.magic = FUNCTIONS_MAGIC, .n = 4, .bytes = 64},
        .v = {{.name = 0, .offset = 16, .flags = FUNCTION_CHEAP},
              {.name = 4, .offset = 32},
              {.name = 16, .flags = FUNCTION_INDIRECT},
              {.name = 23, .readable = 29}},
        .names = "one\0a.b[c,d]:e+\0strlen\0_ZN1f\0z::f<int, T>(int, char const*)",
    };
    const struct list_probed l = {.form = "uprobe:", .file = "x"};
    AUTO_BUF struct buf text = {0}, json = {0};
    CHECK(functions_sound(&r, sizeof(r)));
    list_functions(&l, &r.f, false, &text);
    buf_char(&text, 0);
    CHECK_STR(text.data,
              "uprobe:x:one emulated\nuprobe:x:a.b[c?d]?e? single-stepped\nuprobe:x:strlen indirect\n"
              "uprobe:x:z::f<int? T>(int, char const*) single-stepped _ZN1f\n");
    list_functions(&l, &r.f, true, &json);
    CLEANUP(json_free) struct json *root = NULL;
    CHECK_EQ(json_parse(&root, json.data, json.len, 1 << 20), 0);
    CHECK_EQ(json_count(root), 4);
    CHECK_STR(json_text(json_get(json_item(root, 3), "symbol")), "_ZN1f");
    CHECK_STR(json_text(json_get(json_item(root, 1), "probe")), "single-stepped");
}

TEST(list_of_usdt_probes_has_arguments_that_all_sites_have)
{
    struct {
        struct usdt u;
        struct usdt_site sites[3];
    } r = {
        .u = {.magic = USDT_MAGIC, .n = 3},
        .sites = {{.name = "shop:open", .semaphore = 8},
                  {.name = "shop:sold"},
                  {.name = "shop:sold", .text = "\"4@%eax"}},
    };
    const struct list_probed l = {.form = "usdt:", .file = "x"};
    AUTO_BUF struct buf text = {0}, json = {0};
    const struct xp_usdt_argument known = {.size = 4, .flags = XP_USDT_KNOWN, .base = 1, .index = XP_USDT_NONE};
    r.sites[1].at.arguments[0] = r.sites[1].at.arguments[1] = known;
    r.sites[2].at.arguments[1] = r.sites[2].at.arguments[2] = known;
    r.sites[0].at.arguments[11] = r.sites[0].at.arguments[0] = known;
    CHECK(usdt_sound(&r, sizeof(r)));
    list_usdt(&l, &r.u, false, &text);
    buf_char(&text, 0);
    CHECK_STR(text.data, "usdt:x:shop:open arg1 arg12\nusdt:x:shop:sold arg2\n");
    list_usdt(&l, &r.u, true, &json);
    CLEANUP(json_free) struct json *root = NULL;
    CHECK_EQ(json_parse(&root, json.data, json.len, 1 << 20), 0);
    CHECK_EQ(json_count(root), 2);
    const struct json *sold = json_item(root, 1);
    CHECK_STR(json_text(json_item(json_get(sold, "arguments"), 0)), "arg2");
    CHECK_EQ(json_count(json_get(sold, "sites")), 2);
    CHECK_STR(json_text(json_get(json_item(json_get(sold, "sites"), 1), "arguments")), "\"4@%eax");
}
