#include "profile/told_stacks.h"
#include "base/test.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "profile/strings.h"

/* A stack of these functions, leaf first; ends with NULL. */
static void stack(struct profile *p, enum xp_word kind, const char *const *names)
{
    struct prof_stack *s = VEC_PUSH(&p->stacks);
    *s = (struct prof_stack){.first = (u32)p->stack_locations.n};
    for (; *names; names++, s->n++) {
        *VEC_PUSH(&p->functions) = (struct prof_function){.name = profile_string(p, *names)};
        *VEC_PUSH(&p->lines) = (struct prof_line){.function = (u32)p->functions.n - 1};
        *VEC_PUSH(&p->locations) =
            (struct prof_location){.first_line = (u32)p->lines.n - 1, .nlines = 1, .word_kind = (u8)kind};
        *VEC_PUSH(&p->stack_locations) = (u32)p->locations.n - 1;
    }
}

static const char *leaf_of(const struct profile *p, size_t i)
{
    return profile_function(p, &p->locations.v[p->stack_locations.v[p->stacks.v[i].first]]);
}

TEST(told_stacks_are_shown_without_the_runtime)
{
    struct profile p;
    CHECK_EQ(profile_init(&p), 0);
    stack(&p, XP_WORD_TOLD,
          (const char *const[]){"runtime.mallocgc", "internal/runtime/maps.newobject", "main.f", "runtime.main",
                                "runtime.goexit", NULL});
    stack(&p, XP_WORD_TOLD, (const char *const[]){"runtime.malg", "runtime.newproc1", NULL});
    stack(&p, XP_WORD_CFI, (const char *const[]){"runtime.mallocgc", "main.f", "runtime.goexit", NULL});
    stack(&p, XP_WORD_TOLD, (const char *const[]){"main.runtime.f", NULL});
    told_stacks_trim(&p);
    CHECK_STR(leaf_of(&p, 0), "main.f");
    CHECK_EQ(p.stacks.v[0].n, 2);
    CHECK_STR(leaf_of(&p, 1), "runtime.malg"); /* there is nothing else */
    CHECK_EQ(p.stacks.v[1].n, 2);
    CHECK_EQ(p.stacks.v[2].n, 3); /* we took this one */
    CHECK_EQ(p.stacks.v[3].n, 1);
    profile_free(&p);
}
