#include "profile/fixture_test.h"
#include "profile/subset.h"
#include "profile/formats.h"

static const struct fixture_sample samples[] = {
    {"one", 10, 0, XP_CAUSE_END, 100, 0, 2, {W_LEAF(2, 0x3000), W(2, 0x1000)}},
    {"one", 10, 0, XP_CAUSE_END, 50, 1, 1, {W_KERNEL(0x10), W(2, 0x1000)}},
    {"two", 20, 0, XP_CAUSE_END, 7, 0, 2, {W_LEAF(3, 0x1010), W(3, 0x2010)}},
};

static const char *function_of(const struct profile *p, const struct prof_stack *s, u32 frame)
{
    const struct prof_location *l = &p->locations.v[p->stack_locations.v[s->first + frame]];
    return profile_text(p, p->functions.v[p->lines.v[l->first_line].function].name);
}

TEST(subset_holds_its_stacks_and_nothing_else)
{
    struct profile all, part;
    CHECK(!profile_init(&part));
    CHECK_EQ(fixture_profile(samples, 3, &all), 0);
    u32 rows[2];
    size_t n = 0;
    for (u32 i = 0; i < all.stacks.n; i++)
        if (all.processes.v[all.stacks.v[i].process].tgid == 10)
            rows[n++] = i;
    CHECK_EQ(n, 2);
    struct subset s = {.stacks = rows, .n = n};
    CHECK_EQ(profile_subset(&all, &s, &part), 0);
    CHECK_EQ(part.stacks.n, 2);
    CHECK_EQ(part.processes.n, 1);
    CHECK_EQ(part.stacks.v[0].value[0] + part.stacks.v[1].value[0], 150);
    CHECK_EQ(part.duration_ns, all.duration_ns);
    for (size_t i = 0; i < part.mappings.n; i++)
        CHECK(!strstr(profile_text(&part, part.mappings.v[i].name), "libplain"));
    CHECK_STR(function_of(&part, &part.stacks.v[0], part.stacks.v[0].n - 1), "main");
    profile_free(&part);
    profile_free(&all);
}

TEST(subset_can_begin_with_the_process)
{
    struct profile all, part;
    CHECK(!profile_init(&part));
    CHECK_EQ(fixture_profile(samples, 3, &all), 0);
    u32 rows[3] = {0, 1, 2};
    struct subset s = {.stacks = rows, .n = 3, .process_frames = true};
    CHECK_EQ(profile_subset(&all, &s, &part), 0);
    for (size_t i = 0; i < part.stacks.n; i++) {
        const struct prof_stack *stack = &part.stacks.v[i];
        CHECK_STR(function_of(&part, stack, stack->n - 1), profile_text(&part, part.processes.v[stack->process].name));
    }
    struct buf pprof = {0};
    CHECK_EQ(encode_pprof_plain(&part, false, &pprof), 0);
    CHECK(pprof.len > 0 && !memmem(pprof.data, pprof.len, "\x03pid", 4));
    buf_free(&pprof);
    profile_free(&part);
    profile_free(&all);
}
