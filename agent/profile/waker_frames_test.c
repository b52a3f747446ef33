/* Wakers that are interrupts show nothing of the task that they interrupted. */
#include "profile/waker_frames.h"
#include "base/test.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))

TEST(wakers_are_told_by_kernel_functions)
{
    CHECK_EQ(waker_function("bpf_prog_92b430a8ac7a4a85_xp_on_waking"), WAKER_TRACING);
    CHECK_EQ(waker_function("__traceiter_sched_waking"), WAKER_TRACING);
    CHECK_EQ(waker_function("asm_sysvec_apic_timer_interrupt"), WAKER_INTERRUPT);
    CHECK_EQ(waker_function("common_interrupt"), WAKER_INTERRUPT);
    CHECK_EQ(waker_function("asm_exc_page_fault"), WAKER_OTHER);
    CHECK_EQ(waker_function("entry_SYSCALL_64_after_hwframe"), WAKER_OTHER);
    CHECK_EQ(waker_function("handle_softirqs"), WAKER_OTHER); /* the sender's own, on the loopback device */
}

/* A profile of stacks of single letters, leaf first; capitals are kernel functions: T tracing, I and J of an interrupt.
 */
static u32 location_of(struct profile *p, char letter)
{
    char name[64];
    snprintf(name, sizeof(name), "%s",
             letter == 'T'   ? "bpf_prog_1_xp"
             : letter == 'I' ? "asm_common_interrupt"
             : letter == 'J' ? "common_interrupt"
                             : (char[]){letter, 0});
    u32 row = (u32)p->locations.n, text = profile_string(p, name);
    *VEC_PUSH(&p->functions) = (struct prof_function){.name = text, .system_name = text};
    *VEC_PUSH(&p->lines) = (struct prof_line){.function = row};
    *VEC_PUSH(&p->locations) =
        (struct prof_location){.first_line = row, .nlines = 1, .origin = letter < 'a' ? FRAME_KERNEL : FRAME_NATIVE};
    return row;
}

struct trimmed {
    struct profile p;
    u32 rows[128]; /* by letter: location + 1 */
    VEC(struct waker_place) places;
};

/* `waker` letters of the waker, then those of the sleeper. */
static void add(struct trimmed *t, const char *letters, u32 waker, u64 value)
{
    *VEC_PUSH(&t->p.stacks) = (struct prof_stack){
        .first = (u32)t->p.stack_locations.n, .n = (u32)strlen(letters), .count = {1}, .value = {value}};
    if (waker)
        *VEC_PUSH(&t->places) = (struct waker_place){(u32)t->p.stacks.n - 1, waker};
    for (const char *c = letters; *c; c++) {
        u32 *row = &t->rows[(unsigned char)*c];
        if (!*row)
            *row = location_of(&t->p, *c) + 1;
        *VEC_PUSH(&t->p.stack_locations) = *row - 1;
    }
}

static const char *letters_of(const struct trimmed *t, size_t stack, char *out)
{
    const struct prof_stack *s = &t->p.stacks.v[stack];
    for (u32 i = 0; i < s->n; i++)
        for (char c = '!'; c < '~'; c++)
            if (t->rows[(unsigned char)c] == t->p.stack_locations.v[s->first + i] + 1)
                *out++ = c;
    *out = 0;
    return out - s->n;
}

TEST(wakers_are_trimmed)
{
    static const struct {
        const char *before;
        u32 waker;
        const char *after;
    } cases[] = {
        {"nabKW.s", 5, "nabKW.s"},         {"nabKWTT.s", 7, "nabKW.s"}, {"nabIJW.s", 6, "*IJW.s"},
        {"nabIJWTT.s", 8, "*IJW.s"},       {"IJW.s", 3, "IJW.s"},       {"nIWT.s", 4, "*IW.s"},
        {"nabIJKIW.s", 8, "*IW.s"},        {"TIJ.s", 0, "TIJ.s"},       {"nTT.s", 3, "n.s"},
        {"nabIJKWTT.IJs", 9, "*IJKW.IJs"},
    };
    struct trimmed t = {0};
    char text[64];
    CHECK_EQ(profile_init(&t.p), 0);
    t.rows['*'] = location_of(&t.p, '*') + 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add(&t, cases[i].before, cases[i].waker, 1);
        t.p.stacks.v[i].cause = (u8)i; /* all stay apart */
    }
    CHECK_EQ(waker_frames_trim(&t.p, t.places.v, t.places.n, t.rows['*'] - 1), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_STR(letters_of(&t, i, text), cases[i].after);
    vec_free(&t.places);
    profile_free(&t.p);
}

TEST(wakers_that_are_one_interrupt_become_one_stack)
{
    struct trimmed t = {0};
    char text[64];
    CHECK_EQ(profile_init(&t.p), 0);
    t.rows['*'] = location_of(&t.p, '*') + 1;
    add(&t, "nabIJW.s", 6, 5);
    add(&t, "ncIJW.s", 5, 6);
    add(&t, "ncIJW.r", 5, 7);
    CHECK_EQ(waker_frames_trim(&t.p, t.places.v, t.places.n, t.rows['*'] - 1), 0);
    CHECK_EQ(t.p.stacks.n, 2);
    CHECK_EQ(t.p.stacks.v[0].value[0], 11);
    CHECK_EQ(t.p.stacks.v[0].count[0], 2);
    CHECK_STR(letters_of(&t, 0, text), "*IJW.s");
    CHECK_STR(letters_of(&t, 1, text), "*IJW.r");
    vec_free(&t.places);
    profile_free(&t.p);
}
