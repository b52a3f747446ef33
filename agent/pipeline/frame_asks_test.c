#include "pipeline/frame_asks.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <stdlib.h>

struct stack {
    struct xp_sample s;
    u64 words[8];
};

static struct stack stack_of(u32 tgid, u64 method, u32 position)
{
    return (struct stack){.s = {.tgid = tgid, .start = 3, .cgroup = 4, .nkernel = 1, .nuser = 5},
                          .words = {~0ull, XP_JAVA_WORD(XP_JAVA_COMPILED, method), XP_MORE_WORD(1, position),
                                    XP_JAVA_WORD(XP_JAVA_FROZEN, 0), XP_MORE_WORD(0, 0), XP_WORD_ADDR(5)}};
}

static void note(struct frame_asks *a, u32 tgid, u64 method, u32 position)
{
    struct stack st = stack_of(tgid, method, position);
    st.s.nuser = 5;
    frame_asks_note(a, &st.s);
}

TEST(frame_asks_are_made_once_while_frames_go_on)
{
    CLEANUP(frame_asks_free) struct frame_asks a = {0};
    note(&a, 1, 16, 4);
    note(&a, 1, 16, 4);
    note(&a, 1, 16, 8);
    note(&a, 2, 16, 4);
    struct job *j = frame_asks_take(&a);
    CHECK(j && j->kind == JOB_NAMES && j->names.tgid == 2 && j->names.n == 1);
    job_free(j);
    j = frame_asks_take(&a);
    CHECK(j && j->names.tgid == 1);
    CHECK_EQ(j->names.n, 2); /* and none of frozen callers: there is nothing to ask for */
    CHECK_EQ(XP_MORE_POSITION(j->names.words[3]), 8);
    job_free(j);
    CHECK(!frame_asks_take(&a));
    for (int interval = 0; interval < 3; interval++) { /* its name is known, as long as each interval has it */
        frame_asks_age(&a);
        note(&a, 1, 16, 4);
        CHECK(!frame_asks_take(&a));
    }
    frame_asks_age(&a);
    frame_asks_age(&a);
    note(&a, 1, 16, 4);
    j = frame_asks_take(&a);
    CHECK(j && j->names.n == 1);
    job_free(j);
}

TEST(frame_asks_are_bounded)
{
    CLEANUP(frame_asks_free) struct frame_asks a = {0};
    for (u32 i = 0; i < FRAME_ASKS_MAX + 10; i++)
        note(&a, 1, 16, i);
    CHECK_EQ(a.lost, 10);
    struct job *j = frame_asks_take(&a);
    CHECK(j && j->names.n == FRAME_ASKS_MAX);
    job_free(j);
}

/* Texts may come without frames that are to be asked for. */
TEST(frame_asks_bring_texts_along)
{
    CLEANUP(frame_asks_free) struct frame_asks a = {0};
    struct xp_code_event e = {.tgid = 1, .start = 3, .cgroup = 4, .name_len = 1, .name = "f"};
    for (u32 i = 0; i < FRAME_CODES_MAX + 10; i++)
        frame_asks_code(&a, &e);
    struct job *j = frame_asks_take(&a);
    CHECK(j && j->names.n == 0 && j->names.ncodes == FRAME_CODES_MAX && j->names.cgroup == 4);
    CHECK(j && j->names.codes[FRAME_CODES_MAX - 1].name[0] == 'f');
    job_free(j);
    note(&a, 1, 16, 4);
    frame_asks_code(&a, &e);
    j = frame_asks_take(&a);
    CHECK(j && j->names.n == 1 && j->names.ncodes == 1);
    job_free(j);
    frame_asks_code(&a, &e); /* and what is left is freed */
}
