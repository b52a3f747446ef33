/* A walk that ends outside of all mappings: it went astray if a call led to its last frame, else that frame is where
 * the thread began.
 */
#include "pipeline/rig_test.h"

struct two_words {
    struct xp_sample s;
    u64 words[2];
};

/* Code without a call, whatever compilers add to functions. */
__asm__(".pushsection .text\nreclassify_nops: .fill 16, 1, 0x90\n.popsection");
extern const char reclassify_nops[];

__attribute__((noinline)) static u64 behind_a_call(void)
{
    return (u64)(uintptr_t)__builtin_return_address(0);
}

/* The cause, in the end, of a stack whose outermost frame is that word. */
static int cause_of(struct rig *r, u64 word, u16 nuser)
{
    struct two_words s = {.s = sample_of(r, 0, XP_CAUSE_NO_MAPPING).s,
                          .words = {word_of(r, (u64)(uintptr_t)pipeline_leaf + 1), word}};
    struct pipeline_report report;
    struct profile p;
    char why[256];
    s.s.nuser = nuser;
    if (nuser == 1)
        s.words[0] = word;
    if (rig_begin(r, false) || pipeline_start(r->pipeline, why, sizeof(why)) || profile_init(&p))
        return -1;
    push_file(r);
    POLL_UNTIL(*r, fake_file(r->probe, &r->key).state == XP_FILE_READY);
    fake_push(r->probe, &s, sizeof(s.s) + 8ul * nuser);
    pipeline_poll(r->pipeline, 1);
    pipeline_stop(r->pipeline);
    int rc = pipeline_profile(r->pipeline, &p);
    pipeline_report(r->pipeline, &report);
    int cause = rc || p.stacks.n != 1 || report.cause[p.stacks.v[0].cause] != 1 ? -1 : p.stacks.v[0].cause;
    profile_free(&p);
    rig_end(r);
    return cause;
}

TEST(reclassify_stacks_that_end_outside_of_mappings)
{
    AUTO_RIG r = {0};
    BEGIN(r, false); /* or else it is skipped; it also finds out where the program lies */
    const u64 call = word_of(&r, behind_a_call()) & ~XP_WORD_EXACT,
              none = word_of(&r, (u64)(uintptr_t)reclassify_nops + 12) & ~XP_WORD_EXACT;
    rig_end(&r);
    CHECK_EQ(cause_of(&r, none, 2), XP_CAUSE_END);
    CHECK_EQ(cause_of(&r, call, 2), XP_CAUSE_NO_MAPPING);
    CHECK_EQ(cause_of(&r, none | XP_WORD_EXACT, 2), XP_CAUSE_NO_MAPPING); /* it was interrupted, not called */
    CHECK_EQ(cause_of(&r, none, 1), XP_CAUSE_NO_MAPPING);
    CHECK_EQ(cause_of(&r, XP_FILE_WORD(XP_WORD_CFI, FILE_ID, 7), 2), XP_CAUSE_NO_MAPPING); /* no room for a call */
    CHECK_EQ(cause_of(&r, XP_FILE_WORD(XP_WORD_CFI, 4711, 0x1000), 2), XP_CAUSE_NO_MAPPING);
    CHECK_EQ(cause_of(&r, 0x123460, 2), XP_CAUSE_NO_MAPPING); /* of no file */
}
