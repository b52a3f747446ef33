/* Profiles and trees are in one order only, down to the last thing in which two of their parts can differ. */
#include "base/cleanup.h"
#include "profile/calltree.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"
#include "profile/frames.h"
#include "profile/symbolize.h"
#include <errno.h>
#include <stdlib.h>

#define AUTO_PROFILE CLEANUP(profile_free) struct profile
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

/* ---- Processes and stacks ---------------------------------------------------------------------------------------- */

struct one {
    const char *comm;
    u32 tgid;
    u64 start, cgroup;
    u8 cause;
    u16 nkernel, nuser;
    u64 words[4];
};

/* In the order of the profile. A stack is compared from its root on; a longer one comes behind its own callers. */
static const struct one sorted[] = {
    {"a", 5, 9, 9, XP_CAUSE_END, 0, 1, {W(3, 9)}},
    {"b", 1, 9, 9, XP_CAUSE_END, 0, 1, {W(3, 9)}},
    {"b", 2, 1, 9, XP_CAUSE_END, 0, 1, {W(3, 9)}},
    {"b", 2, 2, 1, XP_CAUSE_END, 0, 1, {W(3, 9)}},
    {"b", 2, 2, 2, XP_CAUSE_END, 0, 0, {0}},
    {"b", 2, 2, 2, XP_CAUSE_END, 0, 1, {W(3, 0x10)}},
    {"b", 2, 2, 2, XP_CAUSE_NO_RULE, 0, 1, {W(3, 0x10)}},
    {"b", 2, 2, 2, XP_CAUSE_END, 0, 2, {W(2, 0x10), W(3, 0x10)}},
    {"b", 2, 2, 2, XP_CAUSE_END, 0, 2, {W(2, 0x20), W(3, 0x10)}},
    {"b", 2, 2, 2, XP_CAUSE_END, 1, 2, {W_KERNEL(1), W(2, 0x20), W(3, 0x10)}},
    {"b", 2, 2, 2, XP_CAUSE_END, 0, 1, {W(3, 0x20)}},
};

static int add(struct aggregate *a, const struct one *o, u64 weight)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + sizeof(o->words));
    if (!s)
        return -ENOMEM;
    *s = (struct xp_sample){.tgid = o->tgid,
                            .start = o->start,
                            .cgroup = o->cgroup,
                            .cause = o->cause,
                            .nkernel = o->nkernel,
                            .nuser = o->nuser,
                            .count = 1,
                            .weight = weight};
    snprintf(s->comm, sizeof(s->comm), "%s", o->comm);
    memcpy(s->words, o->words, sizeof(o->words));
    return aggregate_add(a, s);
}

TEST(symbolize_sorts_processes_and_stacks)
{
    for (size_t turn = 0; turn < COUNT(sorted); turn++) { /* whichever comes first */
        CLEANUP(aggregate_free) struct aggregate *a = NULL;
        AUTO_PROFILE p = {0};
        struct fixture_source f;
        fixture_source(&f);
        CHECK_EQ(aggregate_new(&a, 1, 1 << 20), 0);
        for (size_t i = 0; i < COUNT(sorted); i++) {
            size_t k = (i * 4 + turn) % COUNT(sorted);
            CHECK_EQ(add(a, &sorted[k], k + 1), 0);
        }
        CHECK_EQ(profile_init(&p), 0);
        CHECK_EQ(symbolize(a, &f.source, &p), 0);
        CHECK_EQ(p.stacks.n, COUNT(sorted));
        CHECK_EQ(p.processes.n, 5);
        for (size_t i = 0; i < COUNT(sorted); i++) {
            const struct prof_process *who = &p.processes.v[p.stacks.v[i].process];
            CHECK_EQ(p.stacks.v[i].value[0], i + 1);
            CHECK_EQ(p.stacks.v[i].process, i < 4 ? i : 4);
            CHECK_EQ(p.stacks.v[i].n, sorted[i].nkernel + sorted[i].nuser);
            CHECK(who->start == sorted[i].start && who->cgroup == sorted[i].cgroup && who->tgid == sorted[i].tgid);
        }
    }
}

/* What has one name and one build ID is one mapping, however many places of it were seen. */
TEST(symbolize_makes_one_mapping_of_each)
{
    static const struct fixture_sample s[] = {
        {"demo", 20, 0, XP_CAUSE_END, 1, 2, 3, {W_KERNEL(0x10), W_KERNEL(0x2010), W_ANON(0x70), W(2, 0x10), W(3, 1)}},
        {"demo", 21, 0, XP_CAUSE_END, 1, 2, 2, {W_KERNEL(0x100010), W_KERNEL(0x100020), W_ANON(0x90), W(2, 0x20)}}};
    AUTO_PROFILE p = {0};
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    CHECK_EQ(p.mappings.n, 5); /* the program, the library, [anon], the kernel, [ext4] */
    for (size_t i = 0; i < p.mappings.n; i++)
        CHECK(p.mappings.v[i].lo <= p.mappings.v[i].hi && p.mappings.v[i].lo != UINT64_MAX);
}

static const char *kernel_of_modules(void *ctx, u64 address, u64 *start, const char **module)
{
    static const char *const modules[] = {"", "ext4", "[bpf]"};
    u64 i = address - W_KERNEL(0);
    *module = i < 3 ? modules[i] : "lost";
    *start = address;
    return i < 3 ? "named" : i == 3 ? "" : NULL;
}

TEST(symbolize_names_modules_in_brackets)
{
    static const char *const mappings[] = {"[kernel.kallsyms]", "[ext4]", "[bpf]", "[lost]", "[kernel.kallsyms]"};
    for (size_t i = 0; i < COUNT(mappings); i++) {
        const struct one o = {"k", 1, 1, 1, XP_CAUSE_KTHREAD, 1, 0, {W_KERNEL(i)}};
        const struct name_source source = {.kernel = kernel_of_modules};
        CLEANUP(aggregate_free) struct aggregate *a = NULL;
        AUTO_PROFILE p = {0};
        CHECK(!aggregate_new(&a, 1, 1 << 20) && !add(a, &o, 1) && !profile_init(&p) && !symbolize(a, &source, &p));
        CHECK_STR(profile_text(&p, p.mappings.v[0].name), mappings[i]);
        CHECK_EQ(p.mappings.v[0].has_functions, i < 4);
        CHECK_STR(profile_text(&p, p.functions.v[0].name), i < 3 ? "named" : "[kernel]");
        CHECK_EQ(p.locations.v[0].address, W_KERNEL(i));
    }
}

/* ---- Trees ------------------------------------------------------------------------------------------------------- */

/* A frame of a profile that is made by hand, and of the stack that consists of it. */
struct hand {
    const char *name, *module, *file;
    u32 pid;
    u8 origin;
    bool inlined; /* into a function that is called "z" */
};

static void add_hand(struct profile *p, const struct hand *h, u64 value)
{
    u32 mapping = (u32)p->mappings.n, function = (u32)p->functions.n, line = (u32)p->lines.n;
    *VEC_PUSH(&p->mappings) = (struct prof_mapping){.name = profile_string(p, h->module)};
    *VEC_PUSH(&p->functions) =
        (struct prof_function){.name = profile_string(p, h->name), .file = profile_string(p, h->file)};
    *VEC_PUSH(&p->functions) = (struct prof_function){.name = profile_string(p, "z")};
    *VEC_PUSH(&p->lines) = (struct prof_line){.function = function};
    *VEC_PUSH(&p->lines) = (struct prof_line){.function = function + 1};
    *VEC_PUSH(&p->locations) = (struct prof_location){.mapping = mapping,
                                                      .first_line = line,
                                                      .nlines = 1 + h->inlined,
                                                      .origin = h->origin,
                                                      .word_kind = XP_WORD_CFI};
    *VEC_PUSH(&p->processes) = (struct prof_process){.name = profile_string(p, "process"), .tgid = h->pid};
    *VEC_PUSH(&p->stack_locations) = (u32)p->locations.n - 1;
    *VEC_PUSH(&p->stacks) = (struct prof_stack){.process = (u32)p->processes.n - 1,
                                                .first = (u32)p->stack_locations.n - 1,
                                                .n = 1,
                                                .count = {1},
                                                .value = {value}};
}

static int by_hand(const struct hand *h, size_t n, size_t turn, struct profile *p)
{
    int r = profile_init(p);
    p->events[0] = event_kind_find("cpu");
    p->period[0] = p->nevents = 1;
    for (size_t i = 0; i < n && !r; i++)
        add_hand(p, &h[(i + turn) % n], (i + turn) % n + 1);
    return r;
}

/* In the order of the tree; the value of each is its number. */
static const struct hand frames[] = {
    {"a", "/m", "x.c", 7, FRAME_NATIVE, false}, {"b", "/l", "x.c", 7, FRAME_NATIVE, false},
    {"b", "/m", "w.c", 7, FRAME_NATIVE, false}, {"b", "/m", "x.c", 7, FRAME_NATIVE, false},
    {"b", "/m", "x.c", 7, FRAME_KERNEL, false}, {"b", "/m", "x.c", 7, FRAME_JIT, false},
    {"b", "/m", "x.c", 7, FRAME_JIT, true},     {"a", "/m", "x.c", 8, FRAME_NATIVE, false},
};

TEST(calltree_sorts_frames)
{
    for (size_t turn = 0; turn < COUNT(frames); turn++) {
        CLEANUP(calltree_free) struct calltree t = {0};
        AUTO_PROFILE p = {0};
        u64 last = 0;
        CHECK_EQ(by_hand(frames, COUNT(frames), turn, &p), 0);
        CHECK_EQ(calltree_build(&p, true, &t), 0);
        CHECK_EQ(t.n, 1 + 2 + COUNT(frames) + 1);
        for (size_t i = 1; i < t.n; i++) {
            u64 self = calltree_self(&t, i, 0)[1];
            CHECK(!self || self == last + 1);
            last = self ? self : last;
            CHECK(t.nodes[i].parent < i && t.nodes[i].end > i && t.nodes[i].end <= t.n);
        }
        CHECK_EQ(last, COUNT(frames));
        CHECK_EQ(calltree_total(&t, 0, 0)[1], 36);
        CHECK_EQ(t.frames.rows.v[t.nodes[1].frame].pid, 7);
        CHECK_EQ(calltree_total(&t, 1, 0)[1], 28);
        CHECK_EQ(t.nodes[1].end, t.n - 2);
        CHECK_EQ(t.nodes[0].end, t.n);
    }
}

/* Functions with equal shares are in the order of the stacks, those with more of their own first. */
TEST(top_sorts_functions)
{
    static const struct hand equal[] = {{"one", "/m", "", 1, FRAME_NATIVE, false},
                                        {"two", "/m", "", 1, FRAME_NATIVE, false},
                                        {"three", "/m", "", 1, FRAME_NATIVE, false},
                                        {"most", "/m", "", 1, FRAME_NATIVE, true}};
    AUTO_PROFILE p = {0};
    AUTO_BUF struct buf out = {0};
    const char *at[5];
    CHECK_EQ(by_hand(equal, COUNT(equal), 0, &p), 0);
    for (size_t i = 0; i < p.stacks.n; i++)
        p.stacks.v[i].value[0] = i < 3 ? 10 : 40;
    CHECK_EQ(encode_top(&p, 5, &out), 0);
    buf_char(&out, 0);
    static const char *const order[] = {"  most", "  one", "  two", "  three", "  z"};
    for (size_t i = 0; i < COUNT(order); i++) {
        at[i] = strstr(out.data, order[i]);
        CHECK(at[i]);
        CHECK(!i || at[i] > at[i - 1]);
    }
    out.len = 0;
    CHECK_EQ(encode_top(&p, 2, &out), 0);
    buf_char(&out, 0);
    CHECK(strstr(out.data, "  one") && !strstr(out.data, "  two"));
}

/* ---- Budgets ----------------------------------------------------------------------------------------------------- */

/* Whatever room there is: what was taken is found again, and the rest is counted. */
TEST(aggregate_is_sound_with_any_budget)
{
    enum { STACKS = 150, PASSES = 3 };
    for (size_t budget = 0; budget < 400000; budget += 1301) {
        CLEANUP(aggregate_free) struct aggregate *a = NULL;
        u64 taken = 0, kept = 0;
        unsigned seen[STACKS] = {0};
        size_t n;
        CHECK_EQ(aggregate_new(&a, 1, budget), 0);
        for (u32 i = 0; i < STACKS * PASSES; i++) {
            const struct one o = {"p", i % 50, 1, 1, XP_CAUSE_END, 0, 1, {W(2, i % STACKS)}};
            int rc = add(a, &o, 1);
            CHECK(!rc || rc == -ENOSPC);
            taken += !rc;
            CHECK(aggregate_bytes(a) <= budget);
        }
        const struct agg_stack *s = aggregate_stacks(a, &n);
        for (size_t i = 0; i < n; i++) {
            kept += s[i].values[0].count;
            seen[XP_WORD_OFFSET(s[i].words[0])]++;
        }
        for (size_t i = 0; i < STACKS; i++)
            CHECK(seen[i] <= 1);
        CHECK_EQ(kept, taken);
        CHECK_EQ(aggregate_dropped(a), STACKS * PASSES - taken);
    }
}
