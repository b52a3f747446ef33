#include "base/labels.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <stdio.h>

#define AUTO_LABELS CLEANUP(labels_free)

TEST(labels_are_sorted_and_once)
{
    AUTO_LABELS struct label_set s = {0};
    CHECK_EQ(labels_set(&s, "pod", "web-1"), 0);
    CHECK_EQ(labels_set(&s, "container", "main"), 0);
    CHECK_EQ(labels_set(&s, "namespace", "shop"), 0);
    CHECK_EQ(labels_set(&s, "pod", "web-2"), 0);
    CHECK_EQ(labels_add(&s, "pod", "web-3"), 0); /* stays */
    CHECK_EQ(labels_set(&s, "", "x"), -EINVAL);
    CHECK_EQ(s.n, 3);
    CHECK_STR(s.v[0].name, "container");
    CHECK_STR(s.v[1].name, "namespace");
    CHECK_STR(s.v[2].name, "pod");
    CHECK_STR(labels_get(&s, "pod"), "web-2");
    CHECK(!labels_get(&s, "node"));
    CHECK_EQ(labels_set(&s, "namespace", ""), 0); /* an empty value is no label */
    CHECK_EQ(s.n, 2);
}

TEST(labels_names_are_clean)
{
    char name[LABEL_NAME_MAX + 1], longer[300];
    label_clean_name(name, "app.kubernetes.io/part-of");
    CHECK_STR(name, "app_kubernetes_io_part_of");
    label_clean_name(name, "2nd\xc3\xa4");
    CHECK_STR(name, "_2nd__");
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    label_clean_name(name, longer);
    CHECK_EQ(strlen(name), LABEL_NAME_MAX);
    AUTO_LABELS struct label_set s = {0};
    CHECK_EQ(labels_set(&s, longer, "x"), 0);
    CHECK_STR(labels_get(&s, name), "x");
    labels_free(&s);
    CHECK_EQ(labels_set(&s, "a/b", "1"), 0);
    CHECK_EQ(labels_set(&s, "a.b", "2"), 0); /* the same name, once it is clean */
    CHECK_EQ(s.n, 1);
    CHECK_STR(labels_get(&s, "a_b"), "2");
}

TEST(labels_values_are_text)
{
    char out[16], longest[LABEL_VALUE_MAX + 1];
    CHECK_EQ(label_clean_value(out, sizeof(out), "a\tb\x1b\xc2\x85\xff"), 8);
    CHECK_STR(out, "a b  \xef\xbf\xbd");
    CHECK_EQ(label_clean_value(out, 4, "ab\xc3\xa4"), 2); /* no half character */
    CHECK_STR(out, "ab");
    AUTO_LABELS struct label_set s = {0};
    char big[3 * LABEL_VALUE_MAX];
    for (size_t i = 0; i + 2 < sizeof(big); i += 2)
        memcpy(big + i, "\xc3\xa4", 2);
    big[sizeof(big) - 2] = 0;
    CHECK_EQ(labels_set(&s, "a", big), 0);
    CHECK_EQ(strlen(labels_get(&s, "a")), LABEL_VALUE_MAX);
    memset(longest, 'x', LABEL_VALUE_MAX);
    longest[LABEL_VALUE_MAX] = 0;
    CHECK_EQ(labels_set(&s, "b", longest), 0);
    CHECK_STR(labels_get(&s, "b"), longest);
}

TEST(labels_are_bounded)
{
    AUTO_LABELS struct label_set s = {0};
    char name[16];
    for (int i = 0; i < LABELS_MAX; i++) {
        snprintf(name, sizeof(name), "n%02d", i);
        CHECK_EQ(labels_set(&s, name, "v"), 0);
    }
    CHECK_EQ(labels_set(&s, "more", "v"), -ENOSPC);
    CHECK_EQ(labels_set(&s, "n07", "w"), 0); /* replacing still works */
    CHECK_EQ(s.n, LABELS_MAX);
    CHECK_EQ(labels_set(&s, "n01", ""), 0); /* and so does removing */
    CHECK_EQ(s.n, LABELS_MAX - 1);
    CHECK(!labels_get(&s, "n01"));
    for (size_t i = 0; i < s.n; i++) {
        snprintf(name, sizeof(name), "n%02d", (int)i + (i > 0));
        CHECK_STR(s.v[i].name, name);
        CHECK_STR(s.v[i].value, i == 6 ? "w" : "v");
    }
    labels_free(&s);
    CHECK_EQ(s.n, 0);
}

TEST(labels_compare_by_content)
{
    AUTO_LABELS struct label_set a = {0}, b = {0}, c = {0};
    CHECK_EQ(labels_set(&a, "x", "1"), 0);
    CHECK_EQ(labels_set(&a, "a", "2"), 0);
    CHECK_EQ(labels_copy(&b, &a), 0);
    CHECK_EQ(labels_compare(&a, &b), 0);
    CHECK_EQ(labels_hash(&a), labels_hash(&b));
    CHECK(labels_compare(&c, &a) < 0);
    CHECK_EQ(labels_set(&b, "x", "3"), 0);
    CHECK(labels_compare(&a, &b) < 0);
    CHECK(labels_compare(&b, &a) > 0);
    CHECK(labels_hash(&a) != labels_hash(&b));
    CHECK_EQ(labels_set(&a, "y", "0"), 0);
    CHECK(labels_compare(&a, &b) < 0);
    labels_free(&a);
    labels_free(&b);
    CHECK_EQ(labels_set(&a, "x", "1"), 0);
    CHECK_EQ(labels_set(&b, "y", "1"), 0);
    CHECK(labels_hash(&a) != labels_hash(&b)); /* names count, too */
}
