#include "synth/synth.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/table_elf.h"
#include "synth/crafted.h"
#include <errno.h>
#include <fcntl.h>

/* ---- Shapes: testdata/shapes.s ---- */

struct shapes {
    struct elf_file elf;
    table_spans covered;
    struct synth s;
};

static void shapes_free(struct shapes *w)
{
    synth_free(&w->s);
    vec_free(&w->covered);
    elf_close(&w->elf);
}
#define AUTO_SHAPES CLEANUP(shapes_free) struct shapes

static int read_shapes(struct shapes *w, const char *name)
{
    char path[4096];
    struct table_limits tl = TABLE_LIMITS_DEFAULT;
    struct synth_limits sl = SYNTH_LIMITS_DEFAULT;
    snprintf(path, sizeof(path), "%s/synth/%s", test_data(), name);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : elf_open(&w->elf, fd);
    if (!err)
        err = table_covered(&w->elf, NULL, &tl, &w->covered);
    if (!err)
        err = synth_read(&w->elf, (const struct synth_span *)w->covered.v, w->covered.n, &sl, &w->s);
    return err ? err : crafted_is_sound(&w->s) ? 0 : -EBADMSG;
}

static struct xp_rule rule_at(const struct shapes *w, u64 offset)
{
    struct xp_rule r = {0};
    for (size_t i = 0; i < w->s.ranges.n; i++)
        if (offset >= w->s.ranges.v[i].start && offset < w->s.ranges.v[i].end)
            for (size_t k = 0; k < w->s.rows.n && w->s.rows.v[k].offset <= offset; k++)
                r = w->s.rows.v[k].rule;
    return r;
}

static struct xp_rule rule_of(const struct shapes *w, const char *name)
{
    return rule_at(w, fixture_symbol(&w->elf, name));
}

#define SAME 0
#define LOST 999
/* CFA = this kind with this offset, rbp and rbx saved at CFA - n (SAME, LOST). */
static bool is(const struct shapes *w, const char *name, enum xp_cfa kind, s32 off, int rbp, int rbx)
{
    struct xp_rule r = rule_of(w, name);
    int got_rbp = XP_RULE_RBP(r.kind) == XP_RBP_LOST ? LOST : XP_RULE_RBP(r.kind) == XP_RBP_CFA ? -r.rbp_off : SAME;
    int got_rbx = XP_SYNTH_RBX(r.rbx) == XP_SYNTH_RBX_LOST ? LOST : 8 * XP_SYNTH_RBX(r.rbx);
    bool ok = XP_RULE_CFA(r.kind) == kind && r.cfa_off == off && got_rbp == rbp && got_rbx == rbx;
    if (!ok)
        printf("%s: kind %u, %d, rbp %d, rbx %d\n", name, XP_RULE_CFA(r.kind), r.cfa_off, got_rbp, got_rbx);
    return ok;
}
static bool is_unproven(const struct shapes *w, const char *name)
{
    return is(w, name, XP_CFA_UNPROVEN, 0, SAME, SAME);
}
static s32 pair(s32 at, s32 plus)
{
    return (s32)((u32)(u16)at | (u32)plus << 16);
}

TEST(synth_pushes_and_pops)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK_EQ(w.s.dropped, SYNTH_DROP_NOT);
    CHECK(is(&w, "pushes", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "pushes_rbp", XP_CFA_RSP, 16, SAME, SAME)); /* saved, but still there, too */
    CHECK(is(&w, "pushes_body", XP_CFA_RSP, 48, 16, 24));
    CHECK(is(&w, "pushes_clobbered", XP_CFA_RSP, 48, 16, 24));
    CHECK(is(&w, "pushes_ret", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "losing_body", XP_CFA_RSP, 8, SAME, LOST));
    CHECK(is(&w, "thunk_body", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "red_body", XP_CFA_RSP, 8, SAME, 16));
    CHECK(is(&w, "unsafe_body", XP_CFA_RSP, 8, SAME, LOST));
}

TEST(synth_rows_last_as_long_as_a_rule_does)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is(&w, "framed_body", XP_CFA_RBP, 16, 16, SAME));
    u64 from = fixture_symbol(&w.elf, "framed_body"), to = fixture_symbol(&w.elf, "framed_ret");
    unsigned rows = 0;
    for (size_t i = 0; i < w.s.rows.n; i++)
        rows += w.s.rows.v[i].offset > from && w.s.rows.v[i].offset < to;
    CHECK_EQ(rows, 0);
    CHECK(is(&w, "framed_ret", XP_CFA_RSP, 8, SAME, SAME));
}

TEST(synth_frames_whose_distance_is_on_the_stack)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is(&w, "aligned_leaf", XP_CFA_REG, XP_REG_RULE(0, 8), SAME, SAME));
    CHECK(is(&w, "aligned_body", XP_CFA_DEREF_RSP, pair(0x60, 8), SAME, SAME));
    CHECK(is(&w, "aligned_ret", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "sized_body", XP_CFA_RSP_DEREF, pair(64, 8), SAME, SAME));
    CHECK(is(&w, "sized_ret", XP_CFA_RSP, 8, SAME, SAME));
}

TEST(synth_says_nothing_without_proof)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is_unproven(&w, "nowhere_body"));
    CHECK(is_unproven(&w, "uneven_body"));
    CHECK(is_unproven(&w, "inside_body"));
    CHECK(is_unproven(&w, "tail_nowhere_body"));
    CHECK(is(&w, "tail_body", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(is(&w, "locked_body", XP_CFA_RSP, 8, SAME, SAME));
}

TEST(synth_knows_what_helpers_keep)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is(&w, "helped_body", XP_CFA_REG, XP_REG_RULE(2, 8), SAME, SAME));
    CHECK(is(&w, "helped_case", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is_unproven(&w, "betrayed_body"));
    CHECK(is_unproven(&w, "passed_on_body"));
    CHECK(is_unproven(&w, "passed_out_body"));
    CHECK(is(&w, "surprised_body", XP_CFA_RSP, 16, SAME, LOST));
}

TEST(synth_follows_each_of_a_few_targets)
{
    static const char *const ways[] = {"both_ways_body", "one_way", "other_way"};
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(is(&w, ways[i], XP_CFA_RSP, 32, SAME, SAME));
        CHECK(!(rule_of(&w, ways[i]).rbx & XP_RBX_INFERRED));
    }
    CHECK(is(&w, "other_way_body", XP_CFA_RSP, 40, SAME, SAME));
}

TEST(synth_two_layouts_at_one_place_are_none)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is_unproven(&w, "meeting_body"));
    CHECK(is_unproven(&w, "met")); /* nor elsewhere */
    CHECK(is_unproven(&w, "meeting_before"));
}

/* These labels are no functions' entries: they contradict the function that they are in. */
TEST(synth_drops_entries_that_are_labels)
{
    static const char *const files[] = {"shapes.so", "fixed"};
    for (unsigned i = 0; i < 2; i++) {
        AUTO_SHAPES w = {0};
        CHECK_EQ(read_shapes(&w, files[i]), 0);
        CHECK(is(&w, "labelled", XP_CFA_RSP, 8, SAME, SAME));
        CHECK(is(&w, "labelled_back", XP_CFA_RSP, 112, SAME, SAME));
        CHECK(is(&w, "labelled_fast", XP_CFA_RSP, 112, SAME, SAME));
        CHECK(is(&w, "labelled_slow", XP_CFA_RSP, 112, SAME, SAME));
        CHECK(is(&w, "labelled_far", XP_CFA_RSP, 112, SAME, SAME));
        CHECK(!(rule_of(&w, "labelled_slow").rbx & XP_RBX_INFERRED));
    }
}

TEST(synth_a_jump_proves_as_long_as_its_target_is_proven)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "tails.so"), 0);
    CHECK(is_unproven(&w, "target"));
    CHECK(is_unproven(&w, "jumping"));
    CHECK_EQ(w.s.n.claimed_bytes, 0);
}

TEST(synth_follows_switches)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is(&w, "case_0", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(is(&w, "case_0_body", XP_CFA_RSP, 24, SAME, SAME));
    CHECK(is(&w, "case_2", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(!(rule_of(&w, "case_2").rbx & XP_RBX_INFERRED));
    CHECK(is(&w, "late_1_body", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(!(rule_of(&w, "late_1_body").rbx & XP_RBX_INFERRED));
    CHECK(is(&w, "pushes_body", XP_CFA_RSP, 48, 16, 24));
    CHECK(w.s.n.tables > 1);
}

TEST(synth_infers_orphans_from_their_rets)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is(&w, "orphan_body", XP_CFA_RSP, 16, SAME, 16) || is(&w, "orphan_body", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(rule_of(&w, "orphan_body").rbx & XP_RBX_INFERRED);
    CHECK(is(&w, "rest", XP_CFA_RSP, 48, 16, 24));
    CHECK(is(&w, "rest_rbx", XP_CFA_RSP, 24, 16, 24));
    CHECK(is(&w, "rest_rbp", XP_CFA_RSP, 16, 16, SAME) || is(&w, "rest_rbp", XP_CFA_RSP, 16, 16, 24));
    CHECK(is(&w, "overwritten", XP_CFA_RSP, 24, SAME, LOST));
    CHECK(is(&w, "overwritten_rbp", XP_CFA_RSP, 24, LOST, SAME));
    CHECK(is(&w, "deadly_after", XP_CFA_RSP, 8, SAME, SAME)); /* as what begins there, not as what the call left */
    CHECK(rule_of(&w, "deadly_after").rbx & XP_RBX_INFERRED);
}

TEST(synth_infers_nothing_from_what_may_not_be_reached)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is_unproven(&w, "dying"));
    CHECK(is(&w, "living", XP_CFA_RSP, 48, SAME, SAME));
    CHECK(rule_of(&w, "living_after").rbx & XP_RBX_INFERRED);
    CHECK(is(&w, "joining", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(is_unproven(&w, "joining_unproven"));
    CHECK(is_unproven(&w, "joining_unsure"));
    CHECK(is_unproven(&w, "jumble_after"));
}

TEST(synth_knows_who_does_not_return_by_name)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK(is(&w, "given_up", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "given_up_body", XP_CFA_RSP, 16, SAME, SAME));
}

TEST(synth_believes_functions_that_never_return)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "endless.so"), 0);
    CHECK(is(&w, "serving_body", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(is(&w, "quitting_body", XP_CFA_RSP, 32, SAME, SAME));
    CHECK(is(&w, "listening_body", XP_CFA_RSP, 24, SAME, SAME));
    CHECK(is_unproven(&w, "doubting_body"));
    CHECK(is_unproven(&w, "label_body"));
    CHECK(is_unproven(&w, "rumour_body"));
    CHECK(is_unproven(&w, "cold_body"));
    CHECK(is_unproven(&w, "next_body"));
}

TEST(synth_follows_no_call_that_never_returns)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "endless.so"), 0);
    CHECK(is(&w, "quitting_after", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "leaving_after", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(rule_of(&w, "quitting_after").rbx & XP_RBX_INFERRED);
}

TEST(synth_knows_where_threads_begin)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "endless.so"), 0);
    CHECK(is(&w, "thread_body", XP_CFA_END, 0, SAME, SAME));
    CHECK(is(&w, "thread_after", XP_CFA_END, 0, SAME, SAME));
    CHECK(is(&w, "thread_exit", XP_CFA_END, 0, SAME, SAME)); /* where the pc is while the kernel ends it */
    CHECK(is_unproven(&w, "another_body"));
}

TEST(synth_follows_no_exit)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "endless.so"), 0);
    CHECK(is(&w, "giving_up_body", XP_CFA_RSP, 32, SAME, SAME));
    CHECK(!(rule_of(&w, "giving_up_body").rbx & XP_RBX_INFERRED));
}

TEST(synth_believes_what_passes_on_when_it_is_called)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "endless.so"), 0);
    CHECK(is(&w, "stub_body", XP_CFA_RSP, 8, SAME, SAME));
    CHECK(is(&w, "calling_stub_body", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(is_unproven(&w, "jumped_to_body"));
    CHECK(is_unproven(&w, "jumped_on_body"));
}

TEST(synth_finds_functions_without_symbols)
{
    static const char *const body[] = {"called_body", "pointed_body", "addressed_body"};
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(is(&w, body[i], XP_CFA_RSP, 16, SAME, SAME));
        CHECK(!(rule_of(&w, body[i]).rbx & XP_RBX_INFERRED));
    }
    shapes_free(&w);
    w = (struct shapes){0};
    CHECK_EQ(read_shapes(&w, "fixed"), 0);
    CHECK(is(&w, "pointed_body", XP_CFA_RSP, 16, SAME, SAME));
    CHECK(!(rule_of(&w, "pointed_body").rbx & XP_RBX_INFERRED));
}

TEST(synth_leaves_covered_code_alone)
{
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    u64 from = fixture_symbol(&w.elf, "covered"), to = fixture_symbol(&w.elf, "covered_end");
    CHECK(from != ~0ull && to > from);
    for (size_t i = 0; i < w.s.ranges.n; i++)
        CHECK(w.s.ranges.v[i].end <= from || w.s.ranges.v[i].start >= to);
}

TEST(synth_needs_no_section_headers)
{
    AUTO_SHAPES w = {0}, bare = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    CHECK_EQ(read_shapes(&bare, "bare.so"), 0);
    static const char *const places[] = {"pushes_body", "aligned_body", "case_2", "called_body", "pointed_body"};
    for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
        struct xp_rule a = rule_of(&w, places[i]), b = rule_at(&bare, fixture_symbol(&w.elf, places[i]));
        CHECK(!memcmp(&a, &b, sizeof(a)));
    }
}

/* ---- Code that is not as the psABI has it ---- */

static enum synth_drop why(const char *name)
{
    AUTO_SHAPES w = {0};
    int err = read_shapes(&w, name);
    return err ? SYNTH_DROP_COUNT : w.s.dropped;
}

TEST(synth_knows_foreign_code)
{
    CHECK_EQ(why("psabi.so"), SYNTH_DROP_NOT);
    CHECK_EQ(why("go.so"), SYNTH_DROP_GO);
    CHECK_EQ(why("go-note.so"), SYNTH_DROP_GO);
    CHECK_EQ(why("v8.so"), SYNTH_DROP_V8);
    CHECK_EQ(why("ocaml.so"), SYNTH_DROP_OCAML);
}

TEST(synth_refuses_spans_out_of_order)
{
    static const struct synth_span v[][2] = {{{8, 4}, {9, 10}}, {{4, 8}, {6, 10}}, {{4, 4}, {6, 10}}};
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    AUTO_SHAPES w = {0};
    CHECK_EQ(read_shapes(&w, "shapes.so"), 0);
    for (unsigned i = 0; i < 3; i++) {
        AUTO_SYNTH struct synth s = {0};
        CHECK_EQ(synth_read(&w.elf, v[i], 2, &limits, &s), -EINVAL);
    }
}
