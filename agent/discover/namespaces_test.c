#include "discover/namespaces.h"
#include "base/test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kube_namespace *namespace_of(const char *name, size_t bytes)
{
    struct kube_namespace *ns = calloc(1, sizeof(*ns));
    char value[1000] = "";
    memset(value, 'x', sizeof(value) - 1);
    ns->name = strdup(name);
    for (size_t i = 0; ns->annotations.bytes < bytes; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%zu", i);
        kube_pairs_add(&ns->annotations, key, value);
    }
    return ns;
}

TEST(namespaces_are_found_by_name)
{
    static const char *const names[] = {"m", "a", "z", "k", "m"};
    struct namespaces s = {0};
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(namespaces_put(&s, namespace_of(names[i], i == 4)), 0);
    CHECK_EQ(s.all.n, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct kube_namespace *ns = namespaces_find(&s, names[i]);
        CHECK(ns && !strcmp(ns->name, names[i]));
    }
    CHECK_EQ(namespaces_find(&s, "m")->annotations.n, 1);
    CHECK(!namespaces_find(&s, "b") && !namespaces_find(&s, "zz") && !namespaces_find(&s, ""));
    namespaces_remove(&s, "k");
    namespaces_remove(&s, "nobody");
    CHECK(s.all.n == 3 && !namespaces_find(&s, "k") && namespaces_find(&s, "z"));
    namespaces_free(&s);
}

/* Those with long annotations fill what is there for all; one with a usual annotation has its place nevertheless. */
TEST(namespaces_with_long_annotations_fill_their_part_only)
{
    struct namespaces s = {0};
    const size_t each = 5000;
    char name[32];
    size_t n = 0;
    for (; n < 10000 && s.refused < 2; n++) {
        snprintf(name, sizeof(name), "n%zu", n);
        namespaces_put(&s, namespace_of(name, s.refused ? 1 : each));
    }
    CHECK(n > 1000 && s.bytes <= NAMESPACES_BYTES);
    CHECK_EQ(s.all.n, n - 2);
    for (size_t i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "usual%zu", i);
        struct kube_namespace *usual = namespace_of(name, 0);
        kube_pairs_add(&usual->annotations, "xprof.io/profile", "cpu");
        CHECK_EQ(namespaces_put(&s, usual), 0);
    }
    CHECK_EQ(namespaces_put(&s, namespace_of("usual0", each)), -ENOSPC); /* it may say "false" now: it is not known */
    CHECK(!namespaces_find(&s, "usual0"));
    CHECK_EQ(s.refused, 3);
    namespaces_remove(&s, "n0");
    CHECK_EQ(namespaces_put(&s, namespace_of("usual0", each)), 0);
    namespaces_free(&s);
    CHECK_EQ(s.bytes, 0);
}
