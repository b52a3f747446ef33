#include "pipeline/tags.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "bpf/heap.h"
#include "profile/sum_label.h"
#include <stdlib.h>
#include <string.h>

static struct xp_tag_event event_of(u64 key, u32 what, const void *text, size_t len)
{
    struct xp_tag_event e = {.type = XP_RECORD_TAG, .what = what, .key = key, .cgroup = 7, .len = (u32)len};
    memcpy(e.text + XP_TAG_TEXT - len, text, len);
    return e;
}

static void check_text(const struct xp_tag_event *e, const char *expected)
{
    AUTO_BUF struct buf b = {0};
    tags_text(e, &b);
    CHECK_STR(b.data, expected);
}

TEST(tags_have_texts_of_files)
{
    struct xp_tag_event e = event_of(2, XP_TAG_PATH, "/etc/passwd", 11);
    check_text(&e, "/etc/passwd");
    e.what = XP_TAG_DELETED;
    check_text(&e, "/etc/passwd (deleted)");
    e.cut = 1;
    check_text(&e, ".../etc/passwd (deleted)");
    e = event_of(2, XP_TAG_PATH, "", 0);
    check_text(&e, "/");
    e = event_of(2, XP_TAG_NAME, "memfd:x", 7);
    check_text(&e, "memfd:x");
    e = event_of(2, XP_TAG_NAME, "pipefs\0\0\0", 9);
    check_text(&e, "[pipe]");
    e.len = UINT32_MAX; /* not from our own programs */
    check_text(&e, "");
}

TEST(tags_have_texts_of_peers)
{
    struct xp_peer p = {.port = 443, .address = {10, 0, 0, 7}};
    struct xp_tag_event e = event_of(2, XP_TAG_INET, &p, sizeof(p));
    check_text(&e, "10.0.0.7:443");
    p = (struct xp_peer){.local = 80, .address = {10, 0, 0, 7}};
    e = event_of(2, XP_TAG_INET, &p, sizeof(p));
    check_text(&e, "10.0.0.7->:80");
    p = (struct xp_peer){.local = 53};
    e = event_of(2, XP_TAG_INET, &p, sizeof(p));
    check_text(&e, "*->:53");
    p = (struct xp_peer){.v6 = 1, .port = 80, .address = {0x20, 1, [15] = 1}};
    e = event_of(2, XP_TAG_INET, &p, sizeof(p));
    check_text(&e, "[2001::1]:80");
    p = (struct xp_peer){.v6 = 1, .port = 80, .address = {[10] = 0xff, 0xff, 1, 2, 3, 4}};
    e = event_of(2, XP_TAG_INET, &p, sizeof(p));
    check_text(&e, "1.2.3.4:80");
    e = event_of(2, XP_TAG_UNIX, "/run/x.sock", 12);
    check_text(&e, "/run/x.sock");
    e = event_of(2, XP_TAG_UNIX, "\0name", 5);
    check_text(&e, "@name");
}

static struct xp_sample *sample(void)
{
    struct xp_sample *s = calloc(1, sizeof(*s) + 8 * 100);
    if (!s)
        return NULL;
    s->nkernel = 1;
    s->nuser = 2;
    s->words[0] = XP_LABEL(XP_LABEL_NAME, 0);
    s->words[1] = 101;
    s->words[2] = 102;
    return s;
}

static u64 name_word(const char *text)
{
    u64 word = 0;
    memcpy(&word, text, strlen(text));
    return (u64)XP_WORD_NAME << 60 | word;
}

TEST(tags_are_put_behind_the_label)
{
    CLEANUP(tags_free) struct tags t = {.bytes.limit = TAGS_BYTES};
    AUTO_FREE struct xp_sample *s = sample();
    struct xp_tag_event e = event_of(6, XP_TAG_PATH, "/var/log", 8);
    tags_keep(&t, &e);
    tags_keep(&t, &e);
    CHECK(t.all.n == 1);
    tags_put(&t, 0, s);
    CHECK_EQ(s->nkernel, 1);
    tags_put(&t, 6, s);
    CHECK(s->nkernel == 3 && s->nuser == 2);
    CHECK(s->words[1] == name_word("/var/lo") && s->words[2] == name_word("g"));
    CHECK(s->words[3] == 101 && s->words[4] == 102);
    CHECK_EQ(t.lost, 0);
}

TEST(tags_without_a_text_are_others)
{
    CLEANUP(tags_free) struct tags t = {.bytes.limit = TAGS_BYTES};
    AUTO_FREE struct xp_sample *s = sample(), *second = sample(), *third = sample();
    tags_put(&t, XP_TAG_OTHER, s);
    CHECK(s->words[1] == name_word("[other]") && s->nkernel == 2 && !t.lost);
    tags_put(&t, 99, second); /* the ring was full */
    CHECK(second->words[1] == name_word("[other]") && t.lost == 1);
    third->words[0] = 100; /* without label, there is no place for it */
    tags_put(&t, XP_TAG_OTHER, third);
    CHECK_EQ(third->nkernel, 1);
}

TEST(tags_that_nobody_uses_are_forgotten)
{
    CLEANUP(tags_free) struct tags t = {.bytes.limit = TAGS_BYTES};
    AUTO_FREE struct xp_sample *s = sample(), *later = sample();
    struct xp_tag_event a = event_of(6, XP_TAG_PATH, "/a", 2), b = event_of(10, XP_TAG_PATH, "/b", 2);
    tags_keep(&t, &a);
    tags_keep(&t, &b);
    tags_tick(&t);
    tags_put(&t, 10, s);
    tags_tick(&t);
    CHECK_EQ(t.all.n, 1);
    tags_put(&t, 10, later);
    CHECK(later->words[1] == name_word("/b"));
    tags_tick(&t);
    tags_tick(&t);
    CHECK(!t.all.n && !t.bytes.used);
}

TEST(tags_are_limited)
{
    CLEANUP(tags_free) struct tags t = {.bytes.limit = 500};
    for (u64 key = 2; key < 40; key += 2) {
        struct xp_tag_event e = event_of(key, XP_TAG_PATH, "/some/path", 10);
        tags_keep(&t, &e);
    }
    CHECK(t.all.n > 2 && t.all.n < 19 && t.lost == 19 - t.all.n && t.bytes.used <= 500);
}

/* Stacks that are told apart by files bring the key of the tag, because their sums have none. */
TEST(tags_take_their_place_in_stacks)
{
    struct tags t = {.bytes.limit = TAGS_BYTES};
    union {
        struct xp_sample s;
        u64 room[sizeof(struct xp_sample) / 8 + 8 + XP_TAG_WORDS];
    } u = {.s = {.nkernel = 4, .nuser = 1}};
    struct xp_sample *s = &u.s;
    const u64 label = XP_LABEL(XP_LABEL_NAME, XP_TEXT('e', 'x', 't', '4', 0, 0, 0)), key = 0x1234567890abcdef;
    const u64 words[] = {label, XP_LABEL(XP_LABEL_KEY, key & UINT32_MAX), XP_LABEL(XP_LABEL_KEY, key >> 32), 77, 88};
    struct xp_tag_event e = event_of(key, XP_TAG_PATH, "/etc/passwd", 11);
    char text[SUM_TAG_TEXT];
    tags_keep(&t, &e);
    memcpy(s->words, words, sizeof(words));
    CHECK(tags_in_stack(s));
    tags_expand(&t, s);
    CHECK(!tags_in_stack(s));
    CHECK(s->nkernel == 4 && s->words[0] == label && s->words[3] == 77 && s->words[4] == 88);
    CHECK_STR(sum_tag_text(s->words + 1, 2, text), "/etc/passwd");
    s->nkernel = 4;
    memcpy(s->words, words, sizeof(words));
    s->words[1] = s->words[2] = XP_LABEL(XP_LABEL_KEY, 0); /* no file is known */
    tags_expand(&t, s);
    CHECK(s->nkernel == 2 && s->words[0] == label && s->words[1] == 77 && s->words[2] == 88);
    CHECK_EQ(t.lost, 0);
    tags_free(&t);
}
