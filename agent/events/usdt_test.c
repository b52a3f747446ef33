#include "base/test.h"
#include "events/made.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Two sites: the first argument has a sign at one of them, the second is known at one, the third at both. */
static int find(void *ctx, const char *file, const char *probe, struct probe_places *out, char *why, size_t len)
{
    (void)ctx, (void)len;
    if (strcmp(file, "pid:1:/usr/bin/x") != 0 || strcmp(probe, "shop:sold") != 0) {
        strcpy(why, "there is none");
        return -ENOENT;
    }
    out->offsets = calloc(2, sizeof(*out->offsets));
    out->sites = calloc(2, sizeof(*out->sites));
    out->n = 2;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++)
            out->sites[i].arguments[k].flags = k == 1 && i ? 0 : XP_USDT_KNOWN | (!k && i ? XP_USDT_SIGNED : 0);
    return 0;
}

static const struct event_kind *make(const char *name, const char *filter, const char *value, char why[256])
{
    struct event_made made = {0};
    struct event_choice choice = {.condition = filter, .value = value, .find_usdt = find};
    static struct event_kind kind;
    static struct xp_tp program;
    const struct event_kind *k = event_make(&made, name, &choice, why, 256);
    if (k) {
        kind = *k;
        program = *k->probe.conditions;
        kind.probe.conditions = &program;
    }
    event_made_free(&made);
    return k ? &kind : NULL;
}

TEST(usdt_events_have_arguments)
{
    char why[256];
    const struct event_kind *k =
        make("usdt:pid:1:/usr/bin/x:shop:sold", "arg1 < 0 && arg3 == \"a*\" && pid > 1", "arg3:bytes", why);
    CHECK(event_is_made("usdt:a:b:c"));
    CHECK(k != NULL);
    if (!k)
        return;
    const struct xp_tp *p = k->probe.conditions;
    CHECK_STR(k->probe.object, "usdt");
    CHECK_EQ(p->arguments, 5);
    CHECK_EQ(p->terms[0].field.source, XP_TP_SIGNED);
    CHECK_EQ(p->terms[1].field.source, XP_TP_USER);
    CHECK_EQ(p->value.source, XP_TP_UNSIGNED);
    CHECK_EQ(p->value.offset, 16);
    k = make("usdt:pid:1:/usr/bin/x:shop:sold", NULL, NULL, why);
    CHECK(k && !k->probe.conditions->arguments);
}

TEST(usdt_events_that_are_refused)
{
    static const struct {
        const char *name, *filter, *why;
    } cases[] = {
        {"usdt:x", NULL, "expected usdt:FILE:PROVIDER:NAME"},
        {"usdt:x:y", NULL, "expected usdt:FILE:PROVIDER:NAME"},
        {"usdt::y:z", NULL, "expected usdt:FILE:PROVIDER:NAME"},
        {"usdt:x::z", NULL, "expected usdt:FILE:PROVIDER:NAME"},
        {"usdt:x:y:", NULL, "expected usdt:FILE:PROVIDER:NAME"},
        {"usdt:x:y:z", NULL, "there is none"},
        {"usdt:pid:1:/usr/bin/x:shop:sold", "arg2 == 1", "no field arg2; fields: arg1 arg3 comm"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char why[256] = "";
        CHECK(!make(cases[i].name, cases[i].filter, NULL, why));
        CHECK_STR(strstr(why, cases[i].why) ? cases[i].why : why, cases[i].why);
    }
}
