#include "base/cleanup.h"
#include "base/test.h"
#include "kube/items.h"
#include "kube/known.h"
#include "kube/lines.h"
#include <stdio.h>

struct seen {
    char text[512]; /* what was handed on, "|" behind each */
    int left;       /* how many more are wanted; 0: no end */
};

static bool note(void *ctx, const char *s, size_t n)
{
    struct seen *seen = ctx;
    size_t at = strlen(seen->text);
    snprintf(seen->text + at, sizeof(seen->text) - at, "%.*s|", (int)n, s);
    return --seen->left != 0;
}

TEST(kube_lines_any_pieces)
{
    static const char text[] = "one\ntwo\n\n0123456789abcdef\nthree\nunfinished";
    for (size_t step = 1; step < sizeof(text); step++) {
        CLEANUP(lines_free) struct lines l = {.max = 10};
        struct seen seen = {.left = 0};
        for (size_t at = 0; at < sizeof(text) - 1; at += step) {
            size_t n = sizeof(text) - 1 - at < step ? sizeof(text) - 1 - at : step;
            CHECK(lines_feed(&l, text + at, n, note, &seen));
        }
        CHECK_STR(seen.text, "one|two|three|");
        CHECK_EQ(l.oversize, 1);
    }
}

TEST(kube_lines_stop_and_bound)
{
    CLEANUP(lines_free) struct lines l = {.max = 100};
    struct seen seen = {.left = 1};
    CHECK(!lines_feed(&l, "a\nb\n", 4, note, &seen));
    CHECK_STR(seen.text, "a|");
    for (int i = 0; i < 1000; i++)
        CHECK(lines_feed(&l, "xxxxxxxxxx", 10, note, &seen));
    CHECK_EQ(l.oversize, 1); /* one endless line */
    CHECK(l.line.cap <= 4096);
}

TEST(kube_items_any_pieces)
{
    static const char text[] =
        "{\"kind\":\"PodList\",\"x\":[{\"items\":[1]}],\"metadata\":{\"continue\":\"]}\\\"\"},\n "
        "\"items\": [ {\"a\":\"}]\\\\\"} ,{\"b\":{\"items\":[{}]}},{\"long\":\"0123456789abc\"},"
        "{}],\"y\":1}\n";
    for (size_t step = 1; step < sizeof(text); step++) {
        CLEANUP(items_free) struct items t = {.max = 24};
        struct seen seen = {.left = 0};
        for (size_t at = 0; at < sizeof(text) - 1; at += step) {
            size_t n = sizeof(text) - 1 - at < step ? sizeof(text) - 1 - at : step;
            CHECK(!items_complete(&t) || at > sizeof(text) - 3);
            CHECK(items_feed(&t, text + at, n, note, &seen));
        }
        CHECK(items_complete(&t));
        CHECK_STR(seen.text, "{\"a\":\"}]\\\\\"}|{\"b\":{\"items\":[{}]}}|{}|");
        CHECK_EQ(t.oversize, 1);
        buf_char(&t.head, 0);
        CHECK_STR(t.head.data,
                  "{\"kind\":\"PodList\",\"x\":[{\"items\":[1]}],\"metadata\":{\"continue\":\"]}\\\"\"},\n "
                  "\"items\": [],\"y\":1}\n");
    }
}

TEST(kube_items_that_are_no_list)
{
    static const char *const bad[] = {"]", "{}}", "{\"items\":[{}]]}}"};
    struct seen seen = {.left = 0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CLEANUP(items_free) struct items t = {.max = 100};
        items_feed(&t, bad[i], strlen(bad[i]), note, &seen);
        CHECK(!items_complete(&t) || t.broken);
    }
    CLEANUP(items_free) struct items t = {.max = 100}, cut = {.max = 100};
    bool fine = true;
    for (int i = 0; i < ITEMS_HEAD_MAX && fine; i++) /* an endless head */
        fine = items_feed(&t, "1234", 4, note, &seen);
    CHECK(!fine && t.broken);
    CHECK(items_feed(&cut, "{\"items\":[{\"a\":1},{\"b\"", 22, note, &seen));
    CHECK(!items_complete(&cut));
}

static void note_gone(void *ctx, const char *key)
{
    note(ctx, key, strlen(key));
}

TEST(kube_known_sweep)
{
    CLEANUP(known_free) struct known k = {0};
    struct seen seen = {.left = 0};
    bool added;
    char key[16];
    for (int i = 99; i >= 0; i--) {
        snprintf(key, sizeof(key), "k%02d", i);
        struct known_entry *e = known_put(&k, key, &added);
        CHECK(e && added);
        e->round = 1;
    }
    CHECK(known_put(&k, "k42", &added) && !added);
    CHECK_STR(k.v[7].key, "k07");
    CHECK(known_remove(&k, "k50") && !known_remove(&k, "k50"));
    for (size_t i = 0; i < k.n; i++)
        k.v[i].round = i == 3 || i == 98 ? 1 : 2;
    known_sweep(&k, 2, note_gone, &seen);
    CHECK_STR(seen.text, "k03|k99|");
    CHECK_EQ(k.n, 97);
}
