/* The formats that are drawn: the page, the static graph, speedscope. */
#include "base/cursor.h"
#include "base/gz.h"
#include "profile/calltree.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/page.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

static const struct fixture_sample PLAIN[] = {
    {"web", 20, 0, XP_CAUSE_END, 10000000, 1, 3, {W_KERNEL(0x3010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x1010)}},
    {"web", 20, 0, XP_CAUSE_END, 10000000, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
    {"web", 21, 0, XP_CAUSE_END, 10000000, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
    {"api", 19, 0, XP_CAUSE_NO_RULE, 10000000, 0, 1, {W_LEAF(3, 0x1010)}},
};

/* "depth:name self/total" of all nodes, in order. */
static void tree_text(const struct profile *p, bool by_pid, struct buf *out)
{
    struct calltree t = {0};
    out->failed |= calltree_build(p, by_pid, &t) != 0;
    for (size_t i = 1; i < t.n; i++)
        buf_printf(out, "%u:%s %u/%u ", t.nodes[i].depth, frame_text(p, t.frames.rows.v[t.nodes[i].frame].name),
                   (unsigned)calltree_self(&t, i, 0)[0], (unsigned)calltree_total(&t, i, 0)[0]);
    buf_printf(out, "all %u", (unsigned)calltree_total(&t, 0, 0)[0]);
    calltree_free(&t);
}

TEST(calltree_merges_stacks)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_BUF struct buf by_pid = {0}, by_name = {0};
    tree_text(&p, true, &by_pid);
    CHECK_STR(by_pid.data,
              "1:api 0/1 2:[cut: no-rule] 0/1 3:[libplain.so.1+0x1000] 1/1 "
              "1:web 0/2 2:main 0/2 3:leaf 1/1 3:outer 0/1 4:inner 0/1 5:leaf 0/1 6:vfs_read 1/1 "
              "1:web 0/1 2:main 0/1 3:leaf 1/1 all 4");
    tree_text(&p, false, &by_name);
    CHECK_STR(by_name.data,
              "1:api 0/1 2:[cut: no-rule] 0/1 3:[libplain.so.1+0x1000] 1/1 "
              "1:web 0/3 2:main 0/3 3:leaf 2/2 3:outer 0/1 4:inner 0/1 5:leaf 0/1 6:vfs_read 1/1 all 4");
}

TEST(calltree_of_nothing)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(profile_init(&p), 0);
    AUTO_BUF struct buf b = {0};
    tree_text(&p, true, &b);
    CHECK_STR(b.data, "all 0");
}

/* ---- The page ---- */

static int base64_value(char c)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", *at = strchr(letters, c);
    return c && at ? (int)(at - letters) : -1;
}

/* The bytes behind `mark` in the page. */
static void page_data(const char *page, const char *mark, struct buf *out)
{
    AUTO_BUF struct buf packed = {0};
    const char *s = strstr(page, mark);
    unsigned bits = 0, n = 0;
    for (s = s ? s + strlen(mark) : ""; base64_value(*s) >= 0; s++) {
        bits = bits << 6 | (unsigned)base64_value(*s);
        n += 6;
        if (n >= 8)
            buf_char(&packed, (char)(bits >> (n -= 8)));
    }
    out->failed |= gz_expand(packed.data, packed.len, 1 << 30, out) != 0;
    u32 end = 0; /* gzip ends with the length: nothing stands behind it */
    memcpy(&end, packed.data + packed.len - 4, 4);
    out->failed |= end != out->len || strspn(s, "=") != (3 - packed.len % 3) % 3;
}

TEST(html_data)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_BUF struct buf page = {0}, data = {0};
    CHECK_EQ(encoder_by_name("html")->encode(&p, &page), 0);
    page_data(page.data, "type=\"application/octet-stream\">", &data);
    CHECK(!data.failed);
    struct cursor c = cursor_of(data.data, data.len);
    size_t len = cursor_u32(&c);
    const char *json = (const char *)cursor_take(&c, len);
    CHECK(json);
    AUTO_BUF struct buf text = {0}, columns = {0};
    buf_add(&text, json, len);
    CHECK(strstr(text.data, "\"title\":\"demo --flag\""));
    CHECK(strstr(text.data, "\"nodes\":14,"));
    CHECK(strstr(
        text.data,
        "\"slug\":\"no-rule\",\"class\":\"x\",\"text\":\"a return address is in code that the unwind information "
        "does not cover\",\"counts\":[1],\"values\":[10000000]}"));
    CHECK(strstr(text.data, "\"scale\":10000000}"));
    /* name, module, file, lines, kind (8: inlined), pid; "inner" is in line 14 of demo.c */
    CHECK(strstr(text.data,
                 "\"strings\":[\"\",\"[cut: no-rule]\",\"[libplain.so.1+0x1000]\",\"/usr/lib/libplain.so.1\","
                 "\"api\",\"inner\",\"/usr/bin/demo\",\"demo.c\",\"leaf\",\"main\",\"outer\",\"vfs_read\","
                 "\"[kernel.kallsyms]\",\"web\"]"));
    CHECK(strstr(text.data, "\"frames\":[1,0,0,0,0,5,0,2,3,0,0,0,0,0,4,0,0,0,0,4,19,5,6,7,14,14,8,0,"));
    while (cursor_left(&c))
        buf_printf(&columns, "%u ", (unsigned)cursor_uleb(&c));
    CHECK(!c.bad);
    CHECK_STR(columns.data,
              "2 0 1 8 5 4 6 3 4 7 9 5 4 " /* frames */
              "0 0 0 3 0 0 1 0 0 0 6 0 0 " /* levels up */
              "0 0 1 0 0 1 0 0 0 1 0 0 1 " /* self counts */);
}

/* The JSON in the page. */
static void page_json(const struct profile *p, struct buf *out)
{
    AUTO_BUF struct buf page = {0}, data = {0};
    out->failed |= encoder_by_name("html")->encode(p, &page) != 0;
    page_data(page.data, "type=\"application/octet-stream\">", &data);
    struct cursor c = cursor_of(data.data, data.len);
    size_t len = cursor_u32(&c);
    const void *json = cursor_take(&c, len);
    if (json)
        buf_add(out, json, len);
    out->failed |= !json;
}

/* Each event has counts of its own, and values where these are not counts times its period. */
TEST(html_says_all_about_a_recording)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, 1, &p), 0);
    AUTO_BUF struct buf text = {0};
    page_json(&p, &text);
    buf_char(&text, 0);
    CHECK_STR(text.data,
              "{\"title\":\"demo --flag\",\"time\":1700000000000000000,\"duration\":2000000000,\"nodes\":7,"
              "\"comments\":[\"command: demo --flag\",\"host: box\"],"
              "\"events\":[{\"name\":\"cpu\",\"help\":\"time on a CPU\",\"unit\":\"nanoseconds\",\"scale\":10000000}],"
              "\"causes\":[{\"slug\":\"end\",\"class\":\"c\",\"text\":\"the outermost frame was reached: its return "
              "address is undefined\",\"counts\":[1],\"values\":[10000000]}],"
              "\"frames\":[1,2,3,14,14,8,0,4,2,0,0,0,0,0,5,2,0,0,0,0,0,6,2,3,42,42,0,0,7,8,0,0,0,1,0,9,0,0,0,0,4,20],"
              "\"strings\":[\"\",\"inner\",\"/usr/bin/demo\",\"demo.c\",\"leaf\",\"main\",\"outer\",\"vfs_read\","
              "\"[kernel.kallsyms]\",\"web\"]}");
    AUTO_BUF struct buf page = {0};
    CHECK_EQ(encoder_by_name("html")->encode(&p, &page), 0);
    buf_char(&page, 0);
    CHECK(strstr(page.data, page_style) && strstr(page.data, page_script) && strstr(page.data, "xprof " XPROF_VERSION));
}

TEST(html_events)
{
    AUTO_PROFILE struct profile p = {0};
    static const struct fixture_sample samples[] = {
        {"web", 20, 0, XP_CAUSE_END, 20000000, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
        {"web", 20, 1, XP_CAUSE_END, 7, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
        {"api", 19, 1, XP_CAUSE_NO_RULE, 1, 0, 1, {W_LEAF(3, 0x1010)}},
    };
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    p.period[0] = 20000000;
    p.events[1] = event_kind_find("page-faults");
    p.period[1] = 1;
    p.nevents = 2;
    AUTO_BUF struct buf page = {0}, data = {0}, json = {0}, columns = {0};
    page_json(&p, &json);
    CHECK(!json.failed);
    CHECK(strstr(json.data, "\"events\":[{\"name\":\"cpu\",") && strstr(json.data, "\"scale\":20000000},{\"name\":"));
    CHECK(strstr(json.data, "{\"name\":\"page-faults\",") && strstr(json.data, "\"scale\":0}],\"causes\":["));
    CHECK(strstr(json.data, "\"counts\":[1,1],\"values\":[20000000,7]}") &&
          strstr(json.data, "\"counts\":[0,1],\"values\":[0,1]}]"));
    CHECK(strstr(json.data, ",\"comments\":[\"command: demo --flag\",\"host: box\"],"));
    CHECK(strstr(json.data, "\"time\":1700000000000000000,\"duration\":2000000000,"));
    CHECK_EQ(encoder_by_name("html")->encode(&p, &page), 0);
    page_data(page.data, "type=\"application/octet-stream\">", &data);
    struct cursor c = cursor_of(data.data, data.len);
    cursor_take(&c, cursor_u32(&c));
    while (cursor_left(&c))
        buf_printf(&columns, "%u ", (unsigned)cursor_uleb(&c));
    CHECK_STR(columns.data,
              "2 0 1 5 4 3 " /* frames */
              "0 0 0 3 0 0 " /* levels up */
              "0 0 0 0 0 1 " /* counts of the first */
              "0 0 1 0 0 1 " /* of the second */
              "0 0 1 0 0 7 " /* its values */);
}

TEST(page_marks_frames_that_were_found_by_synthesised_rows)
{
    static const struct fixture_sample samples[] = {
        {"a", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x3010), XP_FILE_WORD(XP_WORD_SYNTH, 2, 0x1010)}},
        {"a", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}}, /* and by others: one frame */
    };
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf json = {0}, tree = {0};
    CHECK_EQ(fixture_profile(samples, COUNT(samples), &p), 0);
    tree_text(&p, true, &tree);
    CHECK_STR(tree.data, "1:a 0/2 2:main 0/2 3:leaf 2/2 all 2");
    page_json(&p, &json);
    const char *frames = strstr(json.data, "\"frames\":[");
    CHECK(frames);
    unsigned kind[3], found = 0;
    CHECK_EQ(sscanf(frames, "\"frames\":[%*u,%*u,%*u,%*u,%*u,%u,%*u,%*u,%*u,%*u,%*u,%*u,%u,%*u,%*u,%*u,%*u,%*u,%*u,%u",
                    kind, kind + 1, kind + 2),
             3);
    for (int i = 0; i < 3; i++)
        found += kind[i] == (FOUND_SYNTH << 4 | FRAME_NATIVE);
    CHECK_EQ(found, 1); /* main; leaf was not found, but there */
}

TEST(html_lines_are_a_range)
{
    AUTO_PROFILE struct profile p = {0};
    const struct fixture_sample s[] = {
        {"web", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x2125), W(2, 0x1010)}},
        {"web", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x2107), W(2, 0x1010)}},
        {"web", 20, 0, XP_CAUSE_END, 1, 0, 2, {W_LEAF(2, 0x2119), W(2, 0x1010)}},
    };
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf json = {0};
    page_json(&p, &json);
    CHECK(!json.failed);
    CHECK(strstr(json.data, "\"frames\":[1,2,3,17,47,8,0,")); /* inner */
}

TEST(html_names_turn_nothing)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    AUTO_BUF struct buf json = {0};
    page_json(&p, &json);
    CHECK(!json.failed);
    CHECK(strstr(json.data, "semi;colon new line  tab  [31m"));
    CHECK(!strstr(json.data, "\xe2\x80\xae") && !strstr(json.data, "\\u001b"));
}

/* How often `part` stands in `text`. */
static size_t occurrences(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

TEST(html_is_safe_from_names)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    p.comments.v[0] = profile_string(&p, "command: </title><script>alert('@DATA@')</script>");
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("html")->encode(&p, &b), 0);
    CHECK_EQ(occurrences(b.data, "<script"), occurrences(page_html, "<script"));
    CHECK_EQ(occurrences(b.data, "</script"), occurrences(page_html, "</script"));
    CHECK(strstr(b.data, "<title>&#60;/title&#62;&#60;script&#62;alert(&#39;@DATA@&#39;)"));
    CHECK(!strstr(b.data, "@SCRIPT@"));
    CHECK(!strstr(page_script, "</script"));
}

TEST(html_loads_nothing)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("html")->encode(&p, &b), 0);
    CHECK_EQ(occurrences(b.data, "http://"), 1); /* the name space of the icon */
    CHECK_EQ(occurrences(b.data, "https://"), 0);
    CHECK_EQ(occurrences(b.data, " src="), 0);
    CHECK(strstr(b.data, "default-src 'none'"));
}

/* ---- Others ---- */

TEST(svg_graph)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("svg")->encode(&p, &b), 0);
    CHECK_EQ(occurrences(b.data, "<g><title>"), 10); /* processes of one name are one */
    CHECK(strstr(b.data,
                 "<title>main (/usr/bin/demo)\n30.0 ms, 75.00 %, 3 samples; self 0.00 ns</title>"
                 "<rect x=\"306.00\" y=\"134\" width=\"882.00\""));
    CHECK(strstr(b.data, ">[cut: no-rule]</text>"));
    CHECK(!strstr(b.data, "<script") && !strstr(b.data, "href"));
}

TEST(svg_escapes_names)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("svg")->encode(&p, &b), 0);
    CHECK(strstr(b.data, "<title>&#60;b&#62;&#38;amp;]]&#62;--&#62;"));
    CHECK_EQ(occurrences(b.data, "<script"), 0);
    CHECK(b.len < 50000); /* names are not written in full length */
    for (size_t i = 0; i < b.len; i++)
        CHECK((unsigned char)b.data[i] >= 0x20 || b.data[i] == '\n');
}

TEST(speedscope_file)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("speedscope")->encode(&p, &b), 0);
    CHECK(strstr(b.data,
                 "{\"type\":\"sampled\",\"name\":\"cpu\",\"unit\":\"nanoseconds\",\"startValue\":0,"
                 "\"endValue\":40000000,\"samples\":[[0,1,2],[3,4,5,6,7,8],[3,4,7],[9,4,7]],"
                 "\"weights\":[10000000,10000000,10000000,10000000]}"));
    CHECK(strstr(b.data, "{\"name\":\"web (20)\"},\n{\"name\":\"main\",\"file\":\"/usr/bin/demo\"}"));
    CHECK(strstr(b.data, "{\"name\":\"inner\",\"file\":\"demo.c\",\"line\":14}"));
    CHECK(strstr(b.data, "{\"name\":\"vfs_read [kernel]\",\"file\":\"[kernel.kallsyms]\"}"));
}
