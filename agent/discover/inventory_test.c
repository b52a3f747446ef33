#include "base/test.h"
#include "discover/inventory.h"
#include <string.h>

static const struct policy_type types[] = {
    {"cpu", true, true, NULL, true}, {"page-faults", true, true, NULL, true}, {"offcpu", false, false, NULL, false}};

static struct discover_rules rules_of(enum policy_targeting targeting)
{
    return (struct discover_rules){
        .policy = {.targeting = targeting, .rate_min = 1, .rate_max = 500, .types = types, .ntypes = 3},
        .rate = 50,
        .events = 3,
        .everything = targeting == POLICY_ALL,
    };
}

static struct kube_pod *pod_of(const char *uid, const char *name, const char *key, const char *value)
{
    struct kube_pod *p = NULL;
    if (!kube_pod_new(&p, uid, "shop", name) && key)
        kube_pairs_add(&p->annotations, key, value);
    return p;
}

static struct container cgroup_of(enum cgroup_kind kind, const char *pod, const char *id, char *name)
{
    static char nothing[1];
    struct container c = {.cgroup = 7,
                          .path = nothing,
                          .name = name,
                          .image = nothing,
                          .pod = nothing,
                          .namespace_ = nothing,
                          .is = {.kind = kind}};
    snprintf(c.is.pod, sizeof(c.is.pod), "%s", pod);
    snprintf(c.is.id, sizeof(c.is.id), "%s", id);
    return c;
}

static char main_name[] = "main", side_name[] = "side", no_name[] = "";

static int put(struct inventory *w, struct kube_pod *pod)
{
    bool warn;
    return inventory_put_pod(w, pod, &warn);
}

TEST(world_wants_stand_on_the_pod)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct verdict v;
    struct container pod = cgroup_of(CGROUP_POD, "u1", "", no_name),
                     c = cgroup_of(CGROUP_CONTAINER, "u1", "ab", no_name);

    CHECK_EQ(inventory_decide(&w, &pod, &v), 0); /* nobody knows it yet */
    CHECK(v.own && !XP_WANT_EVENTS(v.want));
    CHECK_EQ(put(&w, pod_of("u1", "web", "xprof.io/profile", "true")), 0);
    CHECK_EQ(inventory_decide(&w, &pod, &v), 0);
    CHECK(v.own && XP_WANT_EVENTS(v.want) == 3 && XP_WANT_EVERY(v.want) == 1);
    CHECK_EQ(inventory_decide(&w, &c, &v), 0); /* it inherits; its name is still to come */
    CHECK(!v.own && v.identity->pending && !v.identity->unwanted);
    verdict_free(&v);
    c.name = main_name;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(!v.identity->pending);
    CHECK_STR(labels_get(&v.identity->labels, "pod"), "web");
    CHECK_STR(labels_get(&v.identity->labels, "container"), "main");
    verdict_free(&v);
    c.sandbox = true;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(v.own && !XP_WANT_EVENTS(v.want) && v.identity->unwanted);
    verdict_free(&v);
    inventory_free(&w);
}

TEST(world_wants_nothing_of_a_pod_that_is_over)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct verdict v;
    struct container pod = cgroup_of(CGROUP_POD, "u1", "", no_name),
                     c = cgroup_of(CGROUP_CONTAINER, "u1", "ab", main_name);
    static const struct {
        const char *phase;
        u32 events;
    } cases[] = {{"Pending", 3}, {"Running", 3}, {"Unknown", 3}, {"Succeeded", 0}, {"Failed", 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct kube_pod *p = pod_of("u1", "job", "xprof.io/profile", "true");
        CHECK_EQ(kube_pod_set(&p->phase, cases[i].phase), 0);
        CHECK_EQ(put(&w, p), 0);
        CHECK_EQ(inventory_decide(&w, &pod, &v), 0);
        CHECK(v.own && XP_WANT_EVENTS(v.want) == cases[i].events);
        verdict_free(&v);
        CHECK_EQ(inventory_decide(&w, &c, &v), 0); /* what was sampled of it keeps its name */
        CHECK(!v.identity->unwanted && !v.identity->pending);
        verdict_free(&v);
    }
    inventory_free(&w);
}

TEST(world_picks_containers_by_name)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct verdict v;
    struct kube_pod *p = pod_of("u1", "web", "xprof.io/profile", "cpu");
    kube_pairs_add(&p->annotations, "xprof.io/containers", "side");
    CHECK_EQ(put(&w, p), 0);
    struct container pod = cgroup_of(CGROUP_POD, "u1", "", no_name),
                     c = cgroup_of(CGROUP_CONTAINER, "u1", "ab", no_name);
    CHECK_EQ(inventory_decide(&w, &pod, &v), 0); /* else all of them would inherit */
    CHECK(v.own && !XP_WANT_EVENTS(v.want));
    static const struct {
        char *name;
        u32 events;
    } expected[] = {{no_name, 0}, {main_name, 0}, {side_name, 1}};
    for (size_t i = 0; i < 3; i++) {
        c.name = expected[i].name;
        CHECK_EQ(inventory_decide(&w, &c, &v), 0);
        CHECK(v.own);
        CHECK_EQ(XP_WANT_EVENTS(v.want), expected[i].events);
        verdict_free(&v);
    }
    inventory_free(&w);
}

TEST(world_shares_the_highest_rate)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct verdict v;
    struct kube_pod *fast = pod_of("u1", "fast", "xprof.io/profile", "true");
    kube_pairs_add(&fast->annotations, "xprof.io/rate", "200");
    CHECK_EQ(put(&w, fast), 0);
    CHECK_EQ(put(&w, pod_of("u2", "usual", "xprof.io/profile", "true")), 0);
    CHECK_EQ(inventory_highest_rate(&w), 200);
    w.hz = 200;
    struct container one = cgroup_of(CGROUP_POD, "u1", "", no_name), two = cgroup_of(CGROUP_POD, "u2", "", no_name);
    CHECK_EQ(inventory_decide(&w, &one, &v), 0);
    CHECK_EQ(XP_WANT_EVERY(v.want), 1);
    CHECK_EQ(inventory_decide(&w, &two, &v), 0);
    CHECK_EQ(XP_WANT_EVERY(v.want), 4);
    CHECK(inventory_remove_pod(&w, "u1"));
    CHECK_EQ(inventory_highest_rate(&w), 50);
    inventory_free(&w);
}

TEST(world_shares_rates_of_single_events)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct parts parts = {0};
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .parts = &parts, .hz = 50};
    struct verdict v[3];
    for (unsigned i = 0; i < 3; i++) {
        char uid[] = {'u', (char)('1' + i), 0};
        struct kube_pod *pod = pod_of(uid, uid, "xprof.io/profile", "cpu");
        kube_pairs_add(&pod->annotations, "xprof.io/rate", i == 2 ? "20" : "20,cpu=100");
        CHECK_EQ(put(&w, pod), 0);
    }
    CHECK_EQ(inventory_highest_rate(&w), 100);
    w.hz = 200;
    for (unsigned i = 0; i < 3; i++) {
        struct container c = cgroup_of(CGROUP_POD, (char[]){'u', (char)('1' + i), 0}, "", no_name);
        CHECK_EQ(inventory_decide(&w, &c, &v[i]), 0);
        CHECK_EQ(XP_WANT_EVERY(v[i].want), 10);
    }
    CHECK(XP_WANT_PARTS_ROW(v[0].want) == 1 && v[1].want == v[0].want && !XP_WANT_PARTS_ROW(v[2].want));
    CHECK(parts.rows.n == 1 && parts.rows.v[0].parts.every[0] == 2 && !parts.rows.v[0].parts.every[1]);
    inventory_free(&w);
    parts_free(&parts);
}

static void expect_least_wait(const char *time, u64 ns)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct container c = cgroup_of(CGROUP_POD, "u1", "", no_name);
    struct verdict v;
    struct kube_pod *pod = pod_of("u1", "one", "xprof.io/profile", "true");
    if (time)
        kube_pairs_add(&pod->annotations, "xprof.io/offcpu-min", time);
    kube_pairs_add(&pod->annotations, "xprof.io/lock-min", "2us");
    CHECK_EQ(put(&w, pod), 0);
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(XP_WANT_EVENTS(v.want) && XP_WANT_EVERY(v.want) == 1);
    u32 code = XP_WANT_MIN_CODE(v.want);
    CHECK_EQ(code ? XP_WANT_MIN_NS(code) : 0, ns);
    CHECK_EQ(XP_WANT_MIN_NS(XP_WANT_LOCK_CODE(v.want)), 1792);
    verdict_free(&v);
    inventory_free(&w);
}

TEST(world_knows_which_waits_are_worth_a_stack)
{
    expect_least_wait(NULL, 0);
    expect_least_wait("1us", 1024);
    expect_least_wait("2us", 1792);
    expect_least_wait("100us", 98304);
    expect_least_wait("1ms", 917504);
    expect_least_wait("50ms", 41943040);
}

TEST(world_waits_for_a_namespace_that_may_opt_out)
{
    struct discover_rules rules = rules_of(POLICY_ALL);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    CHECK_EQ(put(&w, pod_of("u1", "web", NULL, NULL)), 0);
    CHECK(!inventory_find_pod(&w, "u1")->wants.profiled);
    struct kube_namespace *ns = calloc(1, sizeof(*ns));
    ns->name = strdup("shop");
    CHECK_EQ(inventory_put_namespace(&w, ns), 0);
    CHECK(inventory_find_pod(&w, "u1")->wants.profiled);
    inventory_remove_namespace(&w, "shop");
    CHECK(!inventory_find_pod(&w, "u1")->wants.profiled);
    w.without_namespaces = true;
    inventory_decide_pods(&w);
    CHECK(inventory_find_pod(&w, "u1")->wants.profiled);
    inventory_free(&w);
}

TEST(world_waits_wherever_a_namespace_has_a_say)
{
    static const char *const include[] = {"shop"};
    struct discover_rules rules = rules_of(POLICY_NAMESPACE);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    char why[64];
    rules.policy.include = include;
    rules.policy.ninclude = 1;
    CHECK_EQ(put(&w, pod_of("u1", "web", "xprof.io/profile", "true")), 0);
    CHECK(!inventory_find_pod(&w, "u1")->wants.profiled); /* its namespace may say "false" */
    struct selector *s = NULL;
    CHECK_EQ(selector_parse(&s, "env!=prod", why, sizeof(why)), 0);
    rules = rules_of(POLICY_ANNOTATION);
    inventory_decide_pods(&w);
    CHECK(inventory_find_pod(&w, "u1")->wants.profiled); /* it asks for itself */
    rules.policy.namespaces = s;
    inventory_decide_pods(&w);
    CHECK(!inventory_find_pod(&w, "u1")->wants.profiled); /* its namespace may be prod */
    selector_free(&s);
    inventory_free(&w);
}

TEST(world_pod_that_claims_to_mirror_another)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct kube_pod *liar = pod_of("u2", "liar", "xprof.io/profile", "true"),
                    *mirror = pod_of("u3", "static", NULL, NULL);
    CHECK_EQ(kube_pod_set(&liar->runtime_uid, "u1"), 0);
    CHECK_EQ(kube_pod_set(&mirror->runtime_uid, "hash"), 0);
    CHECK_EQ(put(&w, liar), 0);
    CHECK_EQ(put(&w, pod_of("u1", "web", NULL, NULL)), 0);
    CHECK_EQ(put(&w, mirror), 0);
    CHECK_STR(inventory_find_pod(&w, "u1")->pod->name, "web");
    CHECK_STR(inventory_find_pod(&w, "hash")->pod->name, "static");
    inventory_free(&w);
}

TEST(world_two_mirrors_of_one_static_pod)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct container pod = cgroup_of(CGROUP_POD, "hash", "", no_name);
    struct kube_pod *one = pod_of("u1", "one", "xprof.io/profile", "true"),
                    *two = pod_of("u2", "two", "xprof.io/profile", "true");
    struct verdict v;
    CHECK_EQ(kube_pod_set(&one->runtime_uid, "hash"), 0);
    CHECK_EQ(kube_pod_set(&two->runtime_uid, "hash"), 0);
    CHECK_EQ(put(&w, one), 0);
    CHECK_EQ(put(&w, two), 0);
    CHECK(!inventory_find_pod(&w, "hash")); /* whose name would it have? */
    CHECK_EQ(inventory_decide(&w, &pod, &v), 0);
    CHECK(v.own && !XP_WANT_EVENTS(v.want));
    CHECK_STR(v.reason, "several mirror pods refer to this static pod");
    one->deleting = true; /* the next one under that hash has come */
    CHECK_STR(inventory_find_pod(&w, "hash")->pod->name, "two");
    CHECK(inventory_remove_pod(&w, "u2"));
    CHECK_STR(inventory_find_pod(&w, "hash")->pod->name, "one");
    inventory_free(&w);
}

TEST(world_rules_name_and_choose)
{
    struct discover_rules rules = rules_of(POLICY_ALL);
    struct label_set labels = {0};
    struct target_rule rule = {.name = "ma*", .labels = &labels};
    struct inventory w = {.rules = &rules, .source = DISCOVER_NO_KUBE, .hz = 50};
    struct container c = cgroup_of(CGROUP_CONTAINER, "", "abcdef", main_name);
    struct verdict v;
    CHECK_EQ(labels_set(&labels, "service_name", "mine"), 0);
    rules.rules = &rule;
    rules.nrules = 1;
    rules.targets_only = true;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(XP_WANT_EVENTS(v.want) == 3);
    CHECK_STR(labels_get(&v.identity->labels, "service_name"), "mine");
    verdict_free(&v);
    c.name = side_name;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(v.own && !XP_WANT_EVENTS(v.want) && v.identity->unwanted);
    verdict_free(&v);
    labels_free(&labels);
}

TEST(world_without_kubernetes_says_why_of_a_pod)
{
    struct discover_rules rules = rules_of(POLICY_ALL);
    struct inventory w = {.rules = &rules, .source = DISCOVER_NO_KUBE, .hz = 50};
    struct container pod = cgroup_of(CGROUP_POD, "u1", "", no_name);
    struct verdict v;
    CHECK_EQ(inventory_decide(&w, &pod, &v), 0);
    CHECK(!v.own);
    CHECK_STR(v.reason, "without Kubernetes, the containers of a pod are selected one by one");
}

/* One row for each way in which something that is no pod's is judged. */
TEST(world_judges_what_belongs_to_no_pod)
{
    static const struct {
        enum cgroup_kind kind;
        u64 cgroup;
        bool everything, host, by_program, own, unwanted;
        u32 events;
        const char *reason;
    } rows[] = {
        {CGROUP_CONTAINER, 7, true, false, false, true, false, 3, "all containers are profiled"},
        {CGROUP_CONTAINER, 7, false, true, false, true, true, 0, "not in a pod"},
        {CGROUP_UNIT, 7, false, true, false, true, false, 3, "processes of the host are profiled"},
        {CGROUP_UNIT, 7, true, false, false, true, true, 0, "not in a container"},
        {CGROUP_NONE, INVENTORY_ROOT, false, true, true, true, false, 3, "processes of the host are profiled"},
        {CGROUP_NONE, 7, false, true, true, false, false, 0, "processes of the host are profiled"}, /* inherits */
        {CGROUP_NONE, 7, true, false, true, true, true, 0, "not in a container"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct discover_rules rules = rules_of(POLICY_ALL);
        struct inventory w = {.rules = &rules, .source = DISCOVER_NO_KUBE, .hz = 50};
        struct container c = cgroup_of(rows[i].kind, "", "", no_name);
        struct verdict v;
        snprintf(c.is.unit, sizeof(c.is.unit), "ssh.service");
        rules.everything = rows[i].everything;
        rules.host_processes = rows[i].host;
        c.cgroup = rows[i].cgroup;
        CHECK_EQ(inventory_decide(&w, &c, &v), 0);
        CHECK_EQ(v.own, rows[i].own);
        CHECK_EQ(v.identity->unwanted, rows[i].unwanted);
        CHECK_EQ(v.identity->by_program, rows[i].by_program);
        CHECK_EQ(v.identity->cgroup, rows[i].cgroup);
        CHECK_EQ(XP_WANT_EVENTS(v.want), rows[i].events);
        CHECK_STR(v.reason, rows[i].reason);
        const char *unit = labels_get(&v.identity->labels, "unit");
        CHECK_EQ(unit != NULL, rows[i].kind == CGROUP_UNIT);
        verdict_free(&v);
    }
}

TEST(world_labels_containers_without_kubernetes)
{
    static char image[] = "web:1", pod[] = "web-0", ns[] = "shop";
    struct discover_rules rules = rules_of(POLICY_ALL);
    struct inventory w = {.rules = &rules, .source = DISCOVER_NO_KUBE, .hz = 50};
    struct container c = cgroup_of(CGROUP_CONTAINER, "", "0123456789abcdef", no_name);
    struct label_set usual = {0};
    struct verdict v;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(v.identity->pending); /* its name is still to come */
    CHECK_STR(labels_get(&v.identity->labels, "container"), "0123456789ab");
    CHECK(!labels_get(&v.identity->labels, "image") && !labels_get(&v.identity->labels, "pod"));
    verdict_free(&v);
    CHECK_EQ(labels_set(&usual, "team", "a"), 0);
    c.name = main_name;
    c.image = image;
    c.pod = pod;
    c.namespace_ = ns;
    rules.labels.image = true;
    rules.default_labels = &usual;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(!v.identity->pending);
    static const char *const expected[][2] = {{"container", "main"},
                                              {"container_id", "0123456789ab"},
                                              {"service_name", "main"},
                                              {"image", "web:1"},
                                              {"pod", "web-0"},
                                              {"namespace", "shop"},
                                              {"team", "a"}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        CHECK_STR(labels_get(&v.identity->labels, expected[i][0]), expected[i][1]);
    verdict_free(&v);
    rules.targets_only = true; /* no target is there; but one for a program may be */
    rules.nprocesses = 1;
    CHECK_EQ(inventory_decide(&w, &c, &v), 0);
    CHECK(v.identity->by_rule && !v.identity->unwanted);
    verdict_free(&v);
    labels_free(&usual);
}

/* Every pattern of a target has to match. */
TEST(world_targets_are_chosen_by_all_that_they_say)
{
    static char image[] = "web:1";
    struct target_rule rule = {
        .container_id = "ab*", .name = "main", .image = "web:*", .pod = "web", .namespace = "shop"};
    const char **const patterns[] = {&rule.container_id, &rule.name, &rule.image, &rule.pod, &rule.namespace};
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    struct container c = cgroup_of(CGROUP_CONTAINER, "u1", "abc", main_name);
    struct verdict v;
    c.image = image;
    rules.rules = &rule;
    rules.nrules = 1;
    rules.targets_only = true;
    CHECK_EQ(put(&w, pod_of("u1", "web", "xprof.io/profile", "true")), 0);
    for (size_t i = 0; i <= 5; i++) {
        const char *before = i < 5 ? *patterns[i] : NULL;
        if (i < 5)
            *patterns[i] = "another";
        CHECK_EQ(inventory_decide(&w, &c, &v), 0);
        CHECK_EQ(v.identity->unwanted, i < 5);
        CHECK_STR(v.reason,
                  i < 5 ? "no target of the configuration matches" : inventory_find_pod(&w, "u1")->wants.reason);
        verdict_free(&v);
        if (i < 5)
            *patterns[i] = before;
    }
    inventory_free(&w);
}

TEST(world_tells_of_warnings_once)
{
    struct discover_rules rules = rules_of(POLICY_ANNOTATION);
    struct inventory w = {.rules = &rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    static const struct {
        const char *profile;
        bool warn;
    } said[] = {{"nonsense", true}, {"nonsense", false}, {"rubbish", true}, {"true", false}, {"rubbish", true}};
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        bool warn = !said[i].warn;
        CHECK_EQ(inventory_put_pod(&w, pod_of("u1", "web", "xprof.io/profile", said[i].profile), &warn), 0);
        CHECK_EQ(warn, said[i].warn);
        CHECK_EQ(w.pods.n, 1);
    }
    CHECK(!inventory_remove_pod(&w, "u2"));
    CHECK(inventory_remove_pod(&w, "u1"));
    CHECK_EQ(w.pods.n, 0);
    inventory_free(&w);
}
