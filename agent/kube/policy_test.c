#include "kube/policy.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const offcpu_aliases[] = {"off-cpu", "off_cpu", NULL};
static const struct policy_type types[] = {
    {"cpu", true, true, NULL, true},       {"offcpu", true, false, offcpu_aliases, false},
    {"memory", false, false, NULL, false}, {"io", false, false, NULL, false},
    {"lock", false, false, NULL, false},   {"readahead", false, false, NULL, false},
};
#define CPU    1u
#define OFFCPU 2u

static const struct policy usual = {.rate_min = 1, .rate_max = 997, .types = types, .ntypes = 6};

/* Keys and values in turns, NULL behind the last; "n:" in front of a key puts it on the namespace. */
static struct wants decide(const struct policy *p, const char *const *pairs)
{
    CLEANUP(kube_pairs_free) struct kube_pairs pod = {0}, ns = {0}, labels = {0}, ns_labels = {0};
    struct wants w;
    for (; *pairs; pairs += 2) {
        bool on_ns = !strncmp(*pairs, "n:", 2);
        kube_pairs_add(on_ns ? &ns : &pod, *pairs + 2 * on_ns, pairs[1]);
    }
    kube_pairs_add(&labels, "app", "web");
    kube_pairs_add(&ns_labels, "team", "shop");
    struct policy_facts f = {"shop-prod", &pod, &labels, &ns, &ns_labels};
    policy_decide(&w, p, &f);
    return w;
}
#define DECIDE(p, ...) decide(p, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

TEST(policy_annotation_opts_in)
{
    struct wants w = DECIDE(&usual);
    CHECK(!w.profiled);
    CHECK_STR(w.reason, "no annotation requests profiling");
    w = DECIDE(&usual, "xprof.io/profile", "true");
    CHECK(w.profiled && w.events == CPU && !w.nwarnings && !w.rate);
    CHECK_STR(w.reason, "the pod's annotation xprof.io/profile requests profiling");
    w = DECIDE(&usual, "xprof.io/profile", " offcpu , cpu ");
    CHECK(w.profiled && w.events == (CPU | OFFCPU) && !w.nwarnings);
    w = DECIDE(&usual, "xprof.io/profile", "off_cpu,off-cpu");
    CHECK(w.profiled && w.events == OFFCPU && !w.nwarnings);
    w = DECIDE(&usual, "xprof.io/profile", "false");
    CHECK(!w.profiled && !w.events && !w.nwarnings);
    CHECK_STR(w.reason, "the pod's annotation xprof.io/profile opts out");
}

TEST(policy_pod_wins_over_namespace)
{
    struct wants w = DECIDE(&usual, "n:xprof.io/profile", "cpu,offcpu");
    CHECK(w.profiled && w.events == (CPU | OFFCPU));
    CHECK_STR(w.reason, "the namespace's annotation xprof.io/profile requests profiling");
    CHECK(!DECIDE(&usual, "n:xprof.io/profile", "true", "xprof.io/profile", "false").profiled);
    CHECK(DECIDE(&usual, "n:xprof.io/profile", "false", "xprof.io/profile", "true").profiled);
    /* what a pod says badly is not replaced by its namespace's */
    CHECK(!DECIDE(&usual, "n:xprof.io/profile", "true", "xprof.io/profile", "yes").profiled);
    CHECK(!DECIDE(&usual, "n:xprof.io/profile", "cup", "xprof.io/profile", "true").nwarnings); /* not the pod's fault */
    w = DECIDE(&usual, "n:xprof.io/profile", "true", "n:xprof.io/rate", "10", "xprof.io/rate", "20");
    CHECK_EQ(w.rate, 20);
}

TEST(policy_grafana_annotation)
{
    const char *key = "profiles.grafana.com/cpu.ebpf.enabled";
    struct wants w = DECIDE(&usual, key, "true");
    CHECK(w.profiled && w.events == CPU);
    CHECK(!DECIDE(&usual, key, "false").profiled);
    CHECK(!DECIDE(&usual, key, "true", "xprof.io/profile", "false").profiled);
    CHECK(DECIDE(&usual, key, "false", "xprof.io/profile", "true").profiled);
    CHECK(!DECIDE(&usual, key, "false", "n:xprof.io/profile", "true").profiled); /* the pod's first */
    w = DECIDE(&usual, key, "1");
    CHECK(!w.profiled && w.nwarnings == 1);
}

TEST(policy_warns_and_never_guesses)
{
    struct wants w = DECIDE(&usual, "xprof.io/profile", "cpu,offcup,memory,");
    CHECK(w.profiled && w.events == CPU);
    CHECK_EQ(w.nwarnings, 3);
    CHECK_STR(w.warnings[0], "xprof.io/profile: unknown type \"offcup\"");
    CHECK_STR(w.warnings[1], "xprof.io/profile: memory is not recorded by this agent");
    CHECK_STR(w.warnings[2], "xprof.io/profile: an empty value");
    static const char *const bad[] = {"", "yes", "True", "1", "true,cup", "memory", ","};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        w = DECIDE(&usual, "xprof.io/profile", bad[i]);
        CHECK(!w.profiled && w.nwarnings);
        CHECK_STR(w.reason, "the pod's annotation xprof.io/profile has no valid value");
    }
    w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/profil", "x");
    CHECK_STR(w.warnings[0], "xprof.io/profil: there is no such annotation");
}

TEST(policy_long_and_dirty_values)
{
    AUTO_FREE char *huge = malloc(256 * 1024 + 1);
    memset(huge, 'a', 256 * 1024);
    huge[256 * 1024] = 0;
    struct wants w = DECIDE(&usual, "xprof.io/profile", huge);
    CHECK(!w.profiled);
    CHECK_STR(w.warnings[0], "xprof.io/profile: the value is longer than 1024 bytes");
    w = DECIDE(&usual, "xprof.io/profile", "\x1b[2J\xff\x01");
    CHECK(!w.profiled);
    CHECK_STR(w.warnings[0], "xprof.io/profile: unknown type \" [2J\xef\xbf\xbd \"");
    for (size_t i = 0; i < 999; i++)
        huge[i] = i % 2 ? ',' : 'x';
    huge[999] = 0;
    w = DECIDE(&usual, "xprof.io/profile", huge);
    CHECK_EQ(w.nwarnings, WANTS_WARNINGS);
}

TEST(policy_rate)
{
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", "49").rate, 49);
    struct wants w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", "100000");
    CHECK_EQ(w.rate, 997);
    CHECK_STR(w.warnings[0], "xprof.io/rate: 100000 is outside of 1 to 997: 997 is used");
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", "0").rate, 1);
    static const char *const bad[] = {"", "-1", "1.5", "99Hz", "9 9", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", bad[i]);
        CHECK(w.profiled && !w.rate && w.nwarnings == 1);
    }
}

TEST(policy_rate_of_single_types)
{
    struct wants w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", "cpu=49");
    CHECK(!w.rate && w.rates[0] == 49 && !w.nwarnings);
    w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", " 19 , cpu=2000");
    CHECK(w.rate == 19 && w.rates[0] == 997);
    CHECK_STR(w.warnings[0], "xprof.io/rate: 2000 is outside of 1 to 997: 997 is used");
    w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", "off-cpu=9,cpu=9");
    CHECK(w.rates[0] == 9 && !w.rates[1]);
    CHECK_STR(w.warnings[0], "xprof.io/rate: offcpu is counted exactly: it has no rate");
    static const char *const bad[] = {"cpu=", "=9", "cpu=x", "cpu=9x", "cpu 9", "memory=9", "disk=9", "cpu=9=9"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/rate", bad[i]);
        CHECK(w.profiled && !w.rate && !w.rates[0] && w.nwarnings == 1);
    }
}

TEST(policy_lock_min)
{
    struct wants w =
        DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/offcpu-min", "5ms", "xprof.io/lock-min", "100us");
    CHECK(w.offcpu_min_ns == 5000000 && w.lock_min_ns == 100000 && !w.nwarnings);
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true", "n:xprof.io/lock-min", "2ms").lock_min_ns, 2000000);
    w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/lock-min", "soon");
    CHECK(w.profiled && !w.lock_min_ns && w.nwarnings == 1);
}

TEST(policy_offcpu_min)
{
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true").offcpu_min_ns, 0);
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/offcpu-min", "100us").offcpu_min_ns, 100000);
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true", "n:xprof.io/offcpu-min", "5ms").offcpu_min_ns, 5000000);
    CHECK_EQ(DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/offcpu-min", "0us").offcpu_min_ns, 1000);
    struct wants w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/offcpu-min", "1s");
    CHECK_EQ(w.offcpu_min_ns, 50000000);
    CHECK_STR(w.warnings[0], "xprof.io/offcpu-min: 1s is outside of 1us to 50ms: 50ms is used");
    static const char *const bad[] = {"", "5", "ms", "-1us", "1.5ms", "5 ms", "1000000us", "5m"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/offcpu-min", bad[i]);
        CHECK(w.profiled && !w.offcpu_min_ns && w.nwarnings == 1);
    }
}

TEST(policy_containers_and_service)
{
    struct wants w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/containers", "app, side-1,Bad_,", //
                            "xprof.io/service-name", "check out");
    CHECK(w.profiled && w.ncontainers == 2 && w.nwarnings == 2);
    CHECK(wants_container(&w, "app") && wants_container(&w, "side-1") && !wants_container(&w, "other"));
    CHECK_STR(w.service_name, "check out");
    w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/containers", "A,B");
    CHECK(!w.profiled && !w.events && !wants_container(&w, "app")); /* not: all of them */
    CHECK_STR(w.reason, "xprof.io/containers names no container");
    w = DECIDE(&usual, "xprof.io/profile", "true", "xprof.io/service-name", "a\nb");
    CHECK(w.profiled && !*w.service_name && w.nwarnings == 1 && wants_container(&w, "any"));
    CHECK(!DECIDE(&usual, "xprof.io/containers", "app").profiled);
}

TEST(policy_targeting_namespace_and_all)
{
    struct policy p = usual;
    p.targeting = POLICY_NAMESPACE;
    struct wants w = DECIDE(&p, "xprof.io/profile", "true");
    CHECK(!w.profiled);
    CHECK_STR(w.reason, "targeting is by namespace, and the namespace does not request profiling");
    CHECK(DECIDE(&p, "n:xprof.io/profile", "true").profiled);
    CHECK(!DECIDE(&p, "n:xprof.io/profile", "true", "xprof.io/profile", "false").profiled);
    CHECK_EQ(DECIDE(&p, "n:xprof.io/profile", "true", "xprof.io/profile", "offcpu").events, OFFCPU);
    const char *const list[] = {"shop-*"};
    p.include = list;
    p.ninclude = 1;
    CHECK(DECIDE(&p).profiled);
    CHECK(!DECIDE(&p, "n:xprof.io/profile", "false").profiled);
    p = usual;
    p.targeting = POLICY_ALL;
    w = DECIDE(&p);
    CHECK(w.profiled && w.events == CPU);
    CHECK_STR(w.reason, "every pod is a target");
    CHECK(!DECIDE(&p, "xprof.io/profile", "false").profiled);
    CHECK(!DECIDE(&p, "n:xprof.io/profile", "false").profiled);
    CHECK(!DECIDE(&p, "profiles.grafana.com/cpu.ebpf.enabled", "false").profiled);
    CHECK(!DECIDE(&p, "xprof.io/profile", "flase").profiled);
}

TEST(policy_lists_and_selectors)
{
    const char *const shop[] = {"kube-*", "shop-*"}, *const other[] = {"other"};
    CLEANUP(selector_free) struct selector *yes = NULL, *no = NULL;
    char why[100];
    CHECK_EQ(selector_parse(&yes, "app=web", why, sizeof(why)), 0);
    CHECK_EQ(selector_parse(&no, "team notin (shop)", why, sizeof(why)), 0);
    struct policy p = usual;
    p.include = shop;
    p.ninclude = 2;
    CHECK(!DECIDE(&p).profiled); /* a list is no request */
    CHECK(DECIDE(&p, "xprof.io/profile", "true").profiled);
    p.include = other;
    p.ninclude = 1;
    CHECK(!DECIDE(&p, "xprof.io/profile", "true").profiled);
    p = usual;
    p.exclude = shop;
    p.nexclude = 2;
    struct wants w = DECIDE(&p, "xprof.io/profile", "true");
    CHECK(!w.profiled);
    CHECK_STR(w.reason, "namespace shop-prod is excluded");
    p = usual;
    p.pods = yes;
    CHECK(DECIDE(&p, "xprof.io/profile", "true").profiled);
    p.pods = no; /* the pod has no label team: notin holds */
    CHECK(DECIDE(&p, "xprof.io/profile", "true").profiled);
    p.namespaces = no;
    CHECK(!DECIDE(&p, "xprof.io/profile", "true").profiled);
}

TEST(policy_own_prefix)
{
    struct policy p = usual;
    p.prefix = "prof.example.com";
    CHECK(DECIDE(&p, "prof.example.com/profile", "true").profiled);
    CHECK(!DECIDE(&p, "xprof.io/profile", "true").profiled);
}

TEST(policy_without_the_namespace)
{
    struct wants w;
    struct policy_facts f = {.namespace = "shop"};
    policy_decide(&w, &usual, &f);
    CHECK(!w.profiled);
}

TEST(policy_labels_that_are_not_known_select_nothing)
{
    CLEANUP(selector_free) struct selector *no = NULL;
    char why[100];
    struct wants w;
    struct policy p = usual;
    struct policy_facts f = {.namespace = "shop"};
    CHECK_EQ(selector_parse(&no, "team notin (shop)", why, sizeof(why)), 0);
    p.targeting = POLICY_ALL;
    policy_decide(&w, &p, &f);
    CHECK(w.profiled);
    p.namespaces = no;
    policy_decide(&w, &p, &f);
    CHECK(!w.profiled);
    CHECK_STR(w.reason, "the labels of namespace shop are not known");
}

TEST(policy_glob)
{
    CHECK(policy_glob("*", "") && policy_glob("a*", "abc") && policy_glob("*c", "abc") &&
          policy_glob("a*b*c", "aXbbYc"));
    CHECK(policy_glob("abc", "abc") && policy_glob("*-prod-*", "eu-prod-1"));
    CHECK(!policy_glob("a", "ab") && !policy_glob("", "a") && !policy_glob("a*d", "abc") && !policy_glob("abc", "ab"));
    enum policy_targeting t = POLICY_ALL;
    CHECK_EQ(policy_targeting_from("namespace", &t), 0);
    CHECK_EQ(t, POLICY_NAMESPACE);
    CHECK_EQ(policy_targeting_from("none", &t), -EINVAL);
}

TEST(policy_wants_that_are_the_same)
{
    struct wants a = {.profiled = true, .events = 1, .rate = 9, .ncontainers = 1, .containers = {"a"}, .reason = "x"};
    struct wants b = a, *changes[8];
    b.reason[0] = 'y';
    CHECK(wants_same(&a, &b));
    struct wants profiled = a, events = a, rate = a, container = a, name = a, min = a, lock = a, rates = a;
    profiled.profiled = false;
    events.events = 2;
    rate.rate = 8;
    container.containers[0][0] = 'b';
    name.service_name[0] = 's';
    min.offcpu_min_ns = 1000;
    lock.lock_min_ns = 1000;
    rates.rates[3] = 9;
    changes[5] = &min, changes[6] = &lock, changes[7] = &rates;
    changes[0] = &profiled, changes[1] = &events, changes[2] = &rate, changes[3] = &container, changes[4] = &name;
    for (size_t i = 0; i < 8; i++)
        CHECK(!wants_same(&a, changes[i]));
    b.ncontainers = 2;
    CHECK(!wants_same(&a, &b));
}
