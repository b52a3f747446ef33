#include "kube/selector.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>

static bool matches(const char *text)
{
    CLEANUP(selector_free) struct selector *s = NULL;
    CLEANUP(kube_pairs_free) struct kube_pairs labels = {0};
    char why[200];
    kube_pairs_add(&labels, "app", "web");
    kube_pairs_add(&labels, "tier", "front");
    kube_pairs_add(&labels, "example.com/team", "shop-1");
    kube_pairs_add(&labels, "empty", "");
    kube_pairs_add(&labels, "in", "x");
    if (selector_parse(&s, text, why, sizeof(why))) {
        test_fail(__FILE__, __LINE__, "%s: %s", text, why);
        return false;
    }
    return selector_matches(s, &labels);
}

TEST(selector_operators)
{
    CHECK(matches(""));
    CHECK(matches("  "));
    CHECK(matches("app=web"));
    CHECK(matches("  app=web  "));
    CHECK(matches("app==web , tier = front"));
    CHECK(!matches("app=web,tier=back"));
    CHECK(matches("tier!=back"));
    CHECK(!matches("tier!=front"));
    CHECK(matches("absent!=x"));
    CHECK(matches("tier in (back, front)"));
    CHECK(!matches("tier in (back)"));
    CHECK(!matches("absent in (x)"));
    CHECK(matches("tier notin (back,side)"));
    CHECK(!matches("tier notin(front)"));
    CHECK(matches("absent notin (x)"));
    CHECK(matches("app"));
    CHECK(!matches("absent"));
    CHECK(matches("!absent"));
    CHECK(!matches("!app"));
    CHECK(matches("example.com/team=shop-1"));
    CHECK(matches("empty="));
    CHECK(!matches("app="));
    CHECK(matches("in in (x),in=x,in"));
}

TEST(selector_errors_say_where)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"app=web,", "column 9: a label name is missing"},      {"=web", "column 1: a label name is missing"},
        {"app web", "column 5: =, !=, in or notin is missing"}, {"app in web", "column 8: '(' is missing"},
        {"app in (web", "column 12: ',' or ')' is missing"},    {"app=web tier=x", "column 9: ',' is missing"},
        {"-app=web", "column 1: not a valid label name"},       {"/app", "column 1: not a valid label name"},
        {"a-/x", "column 1: not a valid label name"},           {"-a/x", "column 1: not a valid label name"},
        {"a.b/", "column 1: not a valid label name"},           {"a_b/x", "column 1: not a valid label name"},
        {"app=we$b", "column 5: not a valid label value"},      {"Example.com/x", "column 1: not a valid label name"},
        {"app>3", "column 4: =, !=, in or notin is missing"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CLEANUP(selector_free) struct selector *s = NULL;
        char why[200] = "";
        CHECK_EQ(selector_parse(&s, bad[i].text, why, sizeof(why)), -EINVAL);
        CHECK_STR(why, bad[i].why);
    }
}

TEST(selector_pairs_are_bounded)
{
    CLEANUP(kube_pairs_free) struct kube_pairs p = {0};
    static char big[2 * KUBE_PAIR_VALUE_MAX];
    char key[16];
    memset(big, 'x', sizeof(big) - 1);
    CHECK_EQ(kube_pairs_add(&p, "", "v"), -EBADMSG);
    CHECK_EQ(kube_pairs_add(&p, "a", "1"), 0);
    CHECK_EQ(kube_pairs_add(&p, "a", "2"), 0);
    CHECK_EQ(p.n, 1);
    CHECK_STR(kube_pairs_get(&p, "a"), "2");
    int rc = 0;
    for (int i = 0; i < 2 * KUBE_PAIRS_MAX && !rc; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        rc = kube_pairs_add(&p, key, big);
    }
    CHECK_EQ(rc, -ENOSPC);
    CHECK(p.bytes <= KUBE_PAIRS_BYTES);
    CHECK_EQ(strlen(kube_pairs_get(&p, "k0")), KUBE_PAIR_VALUE_MAX);
    CHECK(!kube_pairs_get(NULL, "a"));
}
