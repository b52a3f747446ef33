#include "profile/greenlet_frames.h"
#include "base/test.h"

enum { PYTHON, LOOP, LIBRARY, OTHER, WAKER }; /* what a frame is */

static void begin(struct profile *p, const char *library)
{
    const char *const names[] = {"[python]", "/usr/bin/python3", library, "/lib/libev.so", "[waker]"};
    CHECK_EQ(profile_init(p), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        *VEC_PUSH(&p->mappings) = (struct prof_mapping){.name = profile_string(p, names[i])};
        *VEC_PUSH(&p->locations) = (struct prof_location){.mapping = (u32)i,
                                                          .word_kind = i == PYTHON ? XP_WORD_SCRIPT : XP_WORD_CFI,
                                                          .origin = i == WAKER ? FRAME_WAIT : FRAME_NATIVE};
    }
}

/* A stack of these, leaf first. */
static void stack(struct profile *p, const u32 *frames, u32 n)
{
    *VEC_PUSH(&p->stacks) =
        (struct prof_stack){.first = (u32)p->stack_locations.n, .n = n, .cause = XP_CAUSE_NO_MAPPING};
    for (u32 i = 0; i < n; i++)
        *VEC_PUSH(&p->stack_locations) = frames[i];
}

#define STACK(p, ...) stack(p, (const u32[]){__VA_ARGS__}, sizeof((const u32[]){__VA_ARGS__}) / sizeof(u32))

static const char *root_of(const struct profile *p, size_t i)
{
    const struct prof_stack *s = &p->stacks.v[i];
    return profile_function(p, &p->locations.v[p->stack_locations.v[s->first + s->n - 1]]);
}

TEST(greenlets_have_stacks_of_their_own)
{
    struct profile p;
    begin(&p, "/v/lib/greenlet/_greenlet.cpython-311-x86_64-linux-gnu.so");
    STACK(&p, PYTHON, PYTHON, LOOP, LIBRARY, LIBRARY, OTHER, LIBRARY, LOOP);
    STACK(&p, LIBRARY, PYTHON, OTHER, LIBRARY, LOOP); /* it switches to another one */
    STACK(&p, LIBRARY, OTHER, PYTHON, LOOP);          /* the thread's own stack does so */
    STACK(&p, OTHER, LIBRARY, LOOP);                  /* nothing of Python is in it */
    STACK(&p, PYTHON, LIBRARY, LOOP, WAKER, OTHER);
    CHECK_EQ(greenlet_frames_trim(&p), 0);
    CHECK_EQ(p.stacks.v[0].n, 4);
    CHECK_EQ(p.stacks.v[0].cause, XP_CAUSE_END);
    CHECK_STR(root_of(&p, 0), "[greenlet]");
    CHECK_EQ(p.stacks.v[1].n, 4);
    CHECK_STR(root_of(&p, 1), "[greenlet]");
    CHECK_EQ(p.stacks.v[2].n, 4);
    CHECK_EQ(p.stacks.v[2].cause, XP_CAUSE_NO_MAPPING);
    CHECK_EQ(p.stacks.v[3].n, 3);
    CHECK_EQ(p.stacks.v[4].n, 5);
    profile_free(&p);
}

TEST(other_libraries_are_no_greenlets)
{
    static const char *const others[] = {"/v/_greenlets.so", "/v/greenlet.py", "/v/my_greenlet.cpython-311.so"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct profile p;
        begin(&p, others[i]);
        STACK(&p, PYTHON, LIBRARY, LOOP);
        CHECK_EQ(greenlet_frames_trim(&p), 0);
        CHECK_EQ(p.stacks.v[0].n, 3);
        profile_free(&p);
    }
}
