#include "profile/fixture_test.h"
#include "profile/subset.h"
#include "profile/formats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

/* A profile by hand, in which every row of every table differs from its neighbours. */
static int rich_profile(struct profile *p)
{
    static const struct event_kind kinds[2] = {{.values = {{"a", "count", NULL}}}, {.values = {{"b", "count", NULL}}}};
    if (profile_init(p))
        return -1;
    for (u32 i = 0; i < 4; i++) {
        char text[3][16];
        for (u32 k = 0; k < 3; k++)
            snprintf(text[k], sizeof(text[k]), "%c%u", "mfs"[k], i);
        *VEC_PUSH(&p->mappings) = (struct prof_mapping){
            .name = profile_string(p, text[0]), .build_id = profile_string(p, "ab"), .lo = i, .has_functions = i & 1};
        *VEC_PUSH(&p->functions) = (struct prof_function){.name = profile_string(p, text[1]),
                                                          .system_name = profile_string(p, text[2]),
                                                          .file = profile_string(p, "x.c"),
                                                          .start_line = 100 + i};
        for (u32 k = 0; k <= i; k++) /* location i has i + 1 lines: of functions i, i - 1, ... */
            *VEC_PUSH(&p->lines) = (struct prof_line){.function = i - k, .line = 10 * i + k};
        *VEC_PUSH(&p->locations) = (struct prof_location){
            .address = 1000 + i, .mapping = 3 - i, .first_line = (u32)p->lines.n - i - 1, .nlines = i + 1};
        *VEC_PUSH(&p->processes) = (struct prof_process){
            .name = profile_string(p, i < 2 ? "same" : text[0]), .tgid = 50 + i, .start = i, .cgroup = 7 * i};
        *VEC_PUSH(&p->stack_locations) = i;
        *VEC_PUSH(&p->stack_locations) = 3 - i;
        for (u8 e = 0; e < 2; e++)
            *VEC_PUSH(&p->stacks) = (struct prof_stack){.process = i,
                                                        .first = 2 * i,
                                                        .n = 2,
                                                        .cause = (u8)i,
                                                        .event = e,
                                                        .count = {e ? 3 - i : i},
                                                        .value = {e ? i < 3 ? 5 : 0 : 9 * i}};
    }
    p->events[0] = &kinds[0];
    p->events[1] = &kinds[1];
    p->period[0] = 11;
    p->period[1] = 22;
    p->nevents = 2;
    p->time_ns = 33;
    p->duration_ns = 44;
    return 0;
}

static void check_frame(const struct profile *all, const struct profile *part, u32 from, u32 to)
{
    const struct prof_location *a = &all->locations.v[from], *b = &part->locations.v[to];
    const struct prof_mapping *m = &all->mappings.v[a->mapping], *n = &part->mappings.v[b->mapping];
    CHECK_EQ(b->address, a->address);
    CHECK_EQ(b->nlines, a->nlines);
    CHECK_STR(profile_text(part, n->name), profile_text(all, m->name));
    CHECK_STR(profile_text(part, n->build_id), "ab");
    CHECK(n->lo == m->lo && n->has_functions == m->has_functions);
    for (u32 k = 0; k < a->nlines; k++) {
        const struct prof_line *x = &all->lines.v[a->first_line + k], *y = &part->lines.v[b->first_line + k];
        const struct prof_function *f = &all->functions.v[x->function], *g = &part->functions.v[y->function];
        CHECK_EQ(y->line, x->line);
        CHECK_EQ(g->start_line, f->start_line);
        CHECK_STR(profile_text(part, g->name), profile_text(all, f->name));
        CHECK_STR(profile_text(part, g->system_name), profile_text(all, f->system_name));
        CHECK_STR(profile_text(part, g->file), "x.c");
    }
}

/* All that a stack refers to comes along, whatever its rows become, and each row once. */
TEST(subset_renumbers_everything)
{
    static const u32 rows[] = {6, 2, 0, 4, 1, 7, 5, 3};
    for (size_t event = 0; event < 2; event++)
        for (int frames = 0; frames < 2; frames++) {
            struct profile all, part;
            CHECK(!profile_init(&part));
            CHECK_EQ(rich_profile(&all), 0);
            struct subset s = {.stacks = rows, .n = COUNT(rows), .event = event, .process_frames = frames};
            CHECK_EQ(profile_subset(&all, &s, &part), 0);
            CHECK_EQ(part.stacks.n, 3); /* one has no sample of the event */
            for (u32 i = 0, k = 0; i < COUNT(rows); i++) {
                const struct prof_stack *a = &all.stacks.v[rows[i]], *b = &part.stacks.v[k];
                if (a->event != event || !a->count[0])
                    continue;
                k++;
                const struct prof_process *p = &all.processes.v[a->process], *q = &part.processes.v[b->process];
                CHECK_STR(profile_text(&part, q->name), profile_text(&all, p->name));
                CHECK(q->tgid == p->tgid && q->cgroup == p->cgroup && q->start == p->start);
                CHECK_EQ(b->cause, a->cause);
                CHECK(b->count[0] == a->count[0] && b->value[0] == a->value[0] && !b->event);
                CHECK_EQ(b->n, 2 + (u32)frames);
                for (u32 f = 0; f < 2; f++)
                    check_frame(&all, &part, all.stack_locations.v[a->first + f], part.stack_locations.v[b->first + f]);
                if (frames)
                    CHECK_STR(function_of(&part, b, 2), profile_text(&all, p->name));
            }
            bool shared = frames && event == 1; /* processes 0 and 1 have one name: their frame is one */
            CHECK_EQ(part.locations.n, 4 + (u32)(frames ? 3 - shared : 0));
            CHECK_EQ(part.mappings.n, part.locations.n);
            CHECK_EQ(part.functions.n, part.locations.n);
            CHECK_EQ(part.lines.n, 10 + part.locations.n - 4);
            CHECK_EQ(part.processes.n, 3);
            CHECK(part.nevents == 1 && part.events[0] == all.events[event]);
            CHECK(part.period[0] == all.period[event] && part.time_ns == 33 && part.duration_ns == 44);
            if (frames)
                CHECK_STR(
                    profile_text(&part, part.mappings.v[part.locations.v[part.stack_locations.v[2]].mapping].name),
                    "[process]");
            profile_free(&part);
            profile_free(&all);
        }
}

TEST(subset_keeps_what_threads_wait_for)
{
    static const struct fixture_sample waits[] = {
        {"one", 10, 0, XP_CAUSE_END, 100, 1, 1, {W_WAIT(XP_WAIT_RUNQUEUE), W_LEAF(2, 0x1000)}}};
    struct profile all, part;
    CHECK(!profile_init(&part));
    CHECK_EQ(fixture_profile(waits, 1, &all), 0);
    struct subset s = {.stacks = (u32[]){0}, .n = 1};
    CHECK_EQ(profile_subset(&all, &s, &part), 0);
    CHECK_STR(function_of(&part, &part.stacks.v[0], 0), "[run queue]");
    CHECK_EQ(part.locations.v[part.stack_locations.v[0]].origin, FRAME_WAIT);
    profile_free(&part);
    profile_free(&all);
}
