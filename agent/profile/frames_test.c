/* Causes, marks and the table of frames. */
#include "profile/frames.h"
#include "base/cleanup.h"
#include "base/test.h"

TEST(frames_have_causes_and_marks)
{
    const struct profile nobody = {.nevents = 0};
    const struct prof_stack complete = {.cause = XP_CAUSE_END, .n = 1}, cut = {.cause = XP_CAUSE_DEPTH, .n = 1},
                            nothing = {.cause = XP_CAUSE_NO_MM}, odd = {.cause = XP_CAUSE_COUNT, .n = 1},
                            empty = {.cause = XP_CAUSE_END},
                            untaken[] = {{.cause = XP_CAUSE_NOT_TAKEN}, {.cause = XP_CAUSE_NOT_TAKEN, .n = 1}};
    CHECK_EQ(cause_class(XP_CAUSE_END), 'c');
    CHECK_EQ(cause_class(XP_CAUSE_DUMP_END), 'x');
    CHECK_EQ(cause_class(XP_CAUSE_COUNT), 'x');
    CHECK_STR(cause_slug(XP_CAUSE_COUNT), "unknown");
    CHECK_STR(cause_slug(XP_CAUSE_DUMP_END), "dump-end");
    CHECK_STR(cause_text(XP_CAUSE_COUNT), "a cause that this version does not know");
    CHECK_EQ(frame_mark(&complete), 0);
    CHECK_STR(frame_text(&nobody, frame_mark(&cut)), "[cut: depth]");
    CHECK_STR(frame_text(&nobody, frame_mark(&nothing)), "[no stack: no-memory-map]");
    CHECK_STR(frame_text(&nobody, frame_mark(&odd)), "[cut: unknown]");
    CHECK_STR(frame_text(&nobody, frame_mark(&empty)), "[no stack: end]");
    for (int i = 0; i < 2; i++)
        CHECK_STR(frame_text(&nobody, frame_mark(&untaken[i])), "[stack not taken]");
}

TEST(frames_are_found_in_some_way)
{
    CHECK(!found_slug(0));
    CHECK_STR(found_slug(FOUND_SYNTH), "synthesised");
    CHECK_STR(found_slug(FOUND_SYNTH | FOUND_INFERRED), "inferred");
    CHECK_EQ(found_of_slug("inferred"), FOUND_INFERRED);
    CHECK_EQ(found_of_slug("synthesised"), FOUND_SYNTH);
    CHECK_EQ(found_of_slug(""), 0);
    struct prof_location l[] = {
        {.word_kind = XP_WORD_CFI}, {.word_kind = XP_WORD_SYNTH}, {.word_kind = XP_WORD_INFERRED}};
    u32 order[] = {0, 1, 2};
    const struct profile p = {.locations = {.v = l, .n = 3}, .stack_locations = {.v = order, .n = 3}};
    CHECK_EQ(stack_found(&p, &(struct prof_stack){.n = 1}), 0);
    CHECK_EQ(stack_found(&p, &(struct prof_stack){.n = 2}), FOUND_SYNTH);
    CHECK_EQ(stack_found(&p, &(struct prof_stack){.first = 1, .n = 2}), FOUND_SYNTH | FOUND_INFERRED);
    CHECK_EQ(stack_found(&p, &(struct prof_stack){.found = FOUND_INFERRED}), FOUND_INFERRED);
}

TEST(frames_are_counted_by_cause)
{
    struct prof_stack s[] = {{.cause = XP_CAUSE_END, .event = 1, .count = {1, 10}, .value = {9, 100}},
                             {.cause = XP_CAUSE_END, .event = 0, .count = {7, 7}, .value = {7, 7}},
                             {.cause = XP_CAUSE_DEPTH, .event = 1, .count = {2, 20}, .value = {9, 200}},
                             {.cause = XP_CAUSE_END, .event = 1, .count = {4, 40}, .value = {9, 400}},
                             {.cause = XP_CAUSE_COUNT, .event = 1, .count = {8, 80}, .value = {9, 800}}};
    const struct profile p = {.stacks = {.v = s, .n = 5}};
    struct cause_sum sum[XP_CAUSE_COUNT];
    cause_sums(&p, (struct prof_column){1, 1}, sum);
    for (size_t i = 0; i < XP_CAUSE_COUNT; i++) {
        CHECK_EQ(sum[i].count, i == XP_CAUSE_END ? 50 : i == XP_CAUSE_DEPTH ? 20 : 0);
        CHECK_EQ(sum[i].value, 10 * sum[i].count);
    }
}

/* Whatever two frames differ in makes them two rows; lines make them one that is longer. */
TEST(frames_are_told_apart)
{
    static const struct frame frames[] = {{.name = 1},
                                          {.name = 2},
                                          {.name = 1, .module = 1},
                                          {.name = 1, .file = 1},
                                          {.name = 1, .pid = 1},
                                          {.name = 1, .kind = 1},
                                          {.name = 1, .inlined = true}};
    for (int inlines = 0; inlines < 2; inlines++) {
        CLEANUP(frame_table_free) struct frame_table t = {.inlines = inlines};
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < 7; i++)
                CHECK_EQ(frame_table_add(&t, &frames[i]), i < 6 || inlines ? i : 0);
        CHECK_EQ(t.rows.n, 6 + inlines);
        CHECK_EQ(t.rows.v[inlines ? 6 : 0].inlined, inlines);
    }
    CLEANUP(frame_table_free) struct frame_table t = {0};
    static const u32 lines[] = {0, 7, 0, 9, 3, 8};
    for (size_t i = 0; i < 6; i++)
        CHECK_EQ(frame_table_add(&t, &(struct frame){.name = 1, .line = lines[i], .found = i == 4 ? FOUND_SYNTH : 0}),
                 0);
    CHECK(t.rows.v[0].line_lo == 3 && t.rows.v[0].line_hi == 9 && t.rows.v[0].found == FOUND_SYNTH);
    CHECK_EQ(frame_table_add(&t, &(struct frame){.name = 2, .line = 5}), 1);
    CHECK(t.rows.v[1].line_lo == 5 && t.rows.v[1].line_hi == 5 && !t.rows.v[1].found);
}
