/* Kinds that are made for a recording, of functions: what they count, and what conditions may ask for. */
#include "base/test.h"
#include "events/made_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds any function but `none`. */
static int find(void *ctx, const char *file, const char *function, struct probe_places *out, char *why, size_t len)
{
    snprintf(ctx, 64, "%s %s", file, function);
    if (!strcmp(function, "none")) {
        snprintf(why, len, "there is none");
        return -ENOENT;
    }
    out->offsets = calloc(1, sizeof(*out->offsets));
    out->n = 1;
    return out->offsets ? 0 : -ENOMEM;
}

static char found[64], why[512];

static const struct event_kind *make(struct event_made *made, const char *name, const char *condition,
                                     const char *value)
{
    struct event_choice choice = {.condition = condition, .value = value, .find = find, .ctx = found};
    return event_make(made, name, &choice, why, sizeof(why));
}

TEST(made_functions)
{
    static const struct {
        const char *name, *type, *unit, *count, *object;
        enum probe_when when;
    } forms[] = {
        {"uprobe:/lib/a:b", "b", "count", "", "function", PROBE_CALLS},
        {"uretprobe:/lib/a:b", "b_return", "count", "", "function", PROBE_RETURNS},
        {"uprobe-latency:/lib/a:b", "b_time", "nanoseconds", "b_calls", "function_latency", PROBE_BOTH},
    };
    struct event_made made = {.n = 0};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        CHECK(event_is_made(forms[i].name));
        const struct event_kind *k = make(&made, forms[i].name, NULL, NULL);
        CHECK(k);
        CHECK_STR(found, "/lib/a b");
        CHECK_STR(k->values[0].type, forms[i].type);
        CHECK_STR(k->values[0].unit, forms[i].unit);
        CHECK_STR(k->values[0].count, forms[i].count);
        CHECK_STR(k->probe.object, forms[i].object);
        CHECK_STR(k->series, forms[i].object);
        CHECK_EQ(k->probe.places->when, forms[i].when);
        CHECK_EQ(event_width(k), 1);
    }
    event_made_free(&made);
}

/* Arguments are known at a call, the result and the time at the return. */
TEST(made_conditions_on_calls)
{
    struct event_made made = {.n = 0};
    const struct event_kind *k = make(&made, "uprobe-latency:a:b", "arg1 == 1 && retval == 2 && latency > 3", NULL);
    CHECK(k);
    CHECK_EQ(k->probe.conditions->late, 6);
    CHECK_EQ(k->probe.conditions->terms[2].field.source, XP_TP_ELAPSED);
    CHECK(make(&made, "uprobe:a:b", "arg1 == 1", "arg2:bytes"));
    CHECK(!make(&made, "uprobe:a:b", "retval == 1", NULL));
    CHECK(strstr(why, "there is no field retval"));
    CHECK(!make(&made, "uprobe:a:b", "latency == 1", NULL));
    CHECK(!make(&made, "uretprobe:a:b", "arg1 == 1", NULL));
    CHECK(!make(&made, "uprobe-latency:a:b", NULL, "arg1:bytes"));
    CHECK(strstr(why, "counts time"));
    CHECK(!make(&made, "uprobe-latency:a:none", NULL, NULL));
    CHECK_STR(why, "there is none");
    CHECK(!make(&made, "uprobe-latency:a", NULL, NULL));
    CHECK(strstr(why, "expected uprobe-latency:FILE:FUNCTION"));
    event_made_free(&made);
}

TEST(made_kprobes_know_functions_of_the_kernel)
{
    char text[] =
        "ffffffff8108a000 T __pfx_vfs_write\n"
        "ffffffff8108a010 T vfs_write\n"
        "ffffffff8108a110 t vfs_writev\t[xfs]\n"
        "ffffffff8208a110 D vfs_data\n";
    char near[64];
    static const struct {
        const char *name, *near;
        int rc;
    } cases[] = {{"vfs_write", "", 0},
                 {"vfs_writev", " vfs_write", 0},
                 {"vfs_writ", " vfs_write vfs_writev", -ENOENT},
                 {"vfs_data", "", -ENOENT}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        FILE *symbols = fmemopen(text, sizeof(text) - 1, "r");
        CHECK(symbols);
        CHECK_EQ(kprobe_find(symbols, cases[i].name, near, sizeof(near)), cases[i].rc);
        if (cases[i].rc)
            CHECK_STR(near, cases[i].near);
        fclose(symbols);
    }
}

TEST(made_kprobes_of_a_pattern_are_those_that_can_be_traced)
{
    char symbols_text[] =
        "ffffffff8108a000 T __pfx_vfs_write\n"
        "ffffffff8108a010 T vfs_write\n"
        "ffffffff8108a010 t vfs_write_alias\n"
        "ffffffff8108a050 t vfs_writ.cold\n"
        "ffffffff8108a110 t vfs_writev\t[xfs]\n"
        "ffffffff8108a210 t vfs_writex\n"
        "ffffffff8108b010 T vfs_read\n"
        "ffffffff8208a110 D vfs_wdata\n";
    char traced_text[] = "vfs_writev [xfs]\nvfs_read\nvfs_write\nvfs_write_alias\n";
    static const struct {
        const char *pattern;
        bool listed;
        size_t n, left_out;
    } cases[] = {{"vfs_w*", true, 2, 1}, {"vfs_w*", false, 3, 0}, {"vfs_rea?", true, 1, 0}, {"*data", true, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        FILE *symbols = fmemopen(symbols_text, sizeof(symbols_text) - 1, "r");
        FILE *traced = cases[i].listed ? fmemopen(traced_text, sizeof(traced_text) - 1, "r") : NULL;
        struct probe_places places = {.fd = -1};
        size_t all;
        CHECK_EQ(kernel_functions(symbols, traced, cases[i].pattern, &places, &all), cases[i].n ? 0 : -ENOENT);
        CHECK_EQ(places.n, cases[i].n);
        CHECK_EQ(all, cases[i].n);
        CHECK_EQ(places.left_out, cases[i].left_out);
        if (places.n > 1)
            CHECK_EQ(places.offsets[0], 0xffffffff8108a010);
        free(places.offsets);
        fclose(symbols);
        if (traced)
            fclose(traced);
    }
}

TEST(made_kprobes_of_a_pattern_are_bounded)
{
    FILE *symbols = tmpfile();
    struct probe_places places = {.fd = -1};
    size_t all;
    CHECK(symbols);
    for (int i = 1; i <= KERNEL_FUNCTIONS + 7; i++)
        fprintf(symbols, "ffffffff%08x t many_%d\n", i, i);
    rewind(symbols);
    CHECK_EQ(kernel_functions(symbols, NULL, "many_*", &places, &all), 0);
    CHECK_EQ(places.n, KERNEL_FUNCTIONS);
    CHECK_EQ(all, KERNEL_FUNCTIONS + 7);
    free(places.offsets);
    fclose(symbols);
    symbols = fmemopen("0000000000000000 t many\n", 24, "r"); /* who may not see addresses sees these */
    CHECK_EQ(kernel_functions(symbols, NULL, "m*", &places, &all), -EACCES);
    free(places.offsets);
    fclose(symbols);
}

TEST(made_kprobes_have_names)
{
    static const char *const wrong[] = {"kprobe:",       "kprobe:a b", "kprobe:a+",  "kprobe:a+x",
                                        "kretprobe:a+4", "kprobe:a:b", "kprobe:a*+4"};
    struct event_made made = {.n = 0};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CHECK(event_is_made(wrong[i]));
        CHECK(!make(&made, wrong[i], NULL, NULL));
        CHECK(strstr(why, "of the kernel, such as"));
    }
    event_made_free(&made);
}

TEST(functions_have_colons_in_pairs)
{
    CHECK_STR(event_function_of("libc.so.6:open"), "open");
    CHECK_STR(event_function_of("pid:1:/usr/bin/x:ns::c::f(int)"), "ns::c::f(int)");
    CHECK_STR(event_function_of("/a::b/x:ns::f[abi:cxx11]"), "ns::f[abi:cxx11]");
    CHECK_STR(event_function_of("x:"), "");
    CHECK(!event_function_of("ns::f"));
}
