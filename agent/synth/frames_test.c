/* Rows of code that keeps frame pointers, from crafted bytes. */
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/rows.h"
#include "synth/crafted.h"
#include <errno.h>

/* ---- Code, put together from functions that begin at multiples of 16 ---- */

struct text {
    u8 bytes[3 * SYNTH_STRETCH];
    size_t n;
};

static size_t put(struct text *t, const char *bytes, size_t n)
{
    size_t at = t->n;
    memcpy(t->bytes + at, bytes, n);
    t->n += n;
    return at;
}
#define PUT(t, bytes) put((t), (bytes), sizeof(bytes) - 1)

static size_t begin(struct text *t)
{
    while (t->n & 15)
        t->bytes[t->n++] = 0xcc;
    return t->n;
}

#define PROLOGUE "\x55\x48\x89\xe5"     /* push rbp; mov rbp, rsp */
#define BODY     "\x53\x50\x8b\x45\xf0" /* push rbx; push rax; mov eax, [rbp - 16] */
#define CALL     "\xff\xd0"             /* call rax */
#define EPILOGUE "\x59\x5b\x5d\xc3"     /* pop rcx; pop rbx; pop rbp; ret */
#define NORMAL   PROLOGUE BODY CALL EPILOGUE

/* `n` functions that keep frame pointers. */
static void put_normal(struct text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        begin(t);
        PUT(t, NORMAL);
    }
}

static int read_within(unsigned ms, const struct text *t, const u32 *wanted, size_t n, struct synth *out)
{
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    AUTO_FREE u8 *file = malloc(CRAFTED_BASE + t->n);
    AUTO_ELF struct elf_file e = {0};
    limits.max_cpu_ms = ms;
    crafted_file(file, t->bytes, t->n);
    int err = elf_open_memory(&e, file, CRAFTED_BASE + t->n);
    if (!err)
        err = synth_read_stretches(&e, NULL, 0, wanted, n, &limits, out);
    return err ? err : crafted_is_sound(out) ? 0 : -EBADMSG;
}

static int read_wanted(const struct text *t, const u32 *wanted, size_t n, struct synth *out)
{
    return read_within(60000, t, wanted, n, out);
}

static int read_text(const struct text *t, struct synth *out)
{
    static const u32 all[] = {0, 1, 2, 3, 4};
    return read_wanted(t, all, 5, out);
}

/* The rule at byte `at` of the code, as a letter: (O)ut, (S)aved, (I)n, (R)eturn address in rcx, (-) unproven, (.) no
 * row; a digit: so many words above the return address. */
static char rule_at(const struct synth *s, size_t at)
{
    u64 offset = CRAFTED_BASE + at;
    const struct xp_rule *r = NULL;
    bool inside = false;
    for (size_t i = 0; i < s->ranges.n; i++)
        inside |= offset >= s->ranges.v[i].start && offset < s->ranges.v[i].end;
    for (size_t i = 0; inside && i < s->rows.n && s->rows.v[i].offset <= offset; i++)
        r = &s->rows.v[i].rule;
    if (!r)
        return '.';
    if (XP_RULE_CFA(r->kind) == XP_CFA_UNPROVEN)
        return '-';
    if (XP_RULE_CFA(r->kind) == XP_CFA_RA_REG)
        return r->rbp_off == 2 && !r->cfa_off ? 'R' : '?';
    if (!(r->rbx & XP_RBX_INFERRED))
        return '?';
    if (XP_RULE_CFA(r->kind) == XP_CFA_RBP)
        return r->cfa_off == 16 && r->rbp_off == -16 && XP_RULE_RBP(r->kind) == XP_RBP_CFA ? 'I' : '?';
    bool saved = XP_RULE_RBP(r->kind) == XP_RBP_CFA && r->rbp_off == -16;
    if (XP_RULE_RBP(r->kind) == XP_RBP_SAME)
        return r->cfa_off == 8 ? 'O' : (char)('0' + (r->cfa_off - 8) / 8);
    return r->cfa_off == 16 && saved ? 'S' : '?';
}

static const char *rules_of(const struct synth *s, size_t at, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = rule_at(s, at + i);
    to[n] = 0;
    return to;
}

#define CHECK_CODE(t, code, want)                                              \
    do {                                                                       \
        AUTO_SYNTH struct synth found_ = {0};                                  \
        char got_[256];                                                        \
        begin(t);                                                              \
        size_t at_ = PUT((t), code), n_ = sizeof(code) - 1;                    \
        put_normal((t), 60);                                                   \
        CHECK_EQ(read_text((t), &found_), 0);                                  \
        CHECK_STR(rules_of(&found_, at_, n_, got_), want);                     \
        CHECK_STR(rules_of(&found_, n_ + at_ + 16 - (n_ & 15), 1, got_), "O"); \
    } while (0)

static struct text *new_text(void)
{
    struct text *t = calloc(1, sizeof(*t));
    put_normal(t, 60);
    return t;
}

TEST(frames_prologue_body_and_epilogue)
{
    AUTO_FREE struct text *t = new_text();
    CHECK_CODE(t, NORMAL, "OSSSIIIIIIIIIIO");
    CHECK_CODE(t, "\xf3\x0f\x1e\xfa" NORMAL, "OOOOOSSSIIIIIIIIIIO");
    CHECK_CODE(t, "\x55\x89\xf8\x48\x89\xe5\xc9\xc3", "OSSSSSIO"); /* scheduled; leave */
    CHECK_CODE(t, "\x8d\x04\x37\xc3", "OOOO");                     /* a leaf without frame */
}

TEST(frames_behind_a_return_the_function_goes_on)
{
    AUTO_FREE struct text *t = new_text();
    /* je +4; pop rcx; pop rbx; pop rbp; ret; call rax; jmp back to the pops */
    CHECK_CODE(t, PROLOGUE "\x53\x50\x74\x04\x59\x5b\x5d\xc3\xff\xd0\xeb\xf8", "OSSSIIIIIIIOIIII");
    /* A tail jump with the frame given back: what follows is another function. */
    CHECK_CODE(t, PROLOGUE "\x5d\xeb\xf9", "OSSSIOO");
    /* The frame is not made on the short way: test edi, edi; je ret; prologue, call, pop, ret */
    CHECK_CODE(t, "\x85\xff\x74\x08" PROLOGUE "\xff\xd0\x5d\xc3\xc3", "OOOOOSSSIIIOO");
}

/* The call before does not return, and the next function begins right behind it. */
TEST(frames_functions_behind_a_call)
{
    AUTO_FREE struct text *t = new_text();
    CHECK_CODE(t, PROLOGUE "\xff\xd0" PROLOGUE "\x5d\xc3", "OSSSIIOSSSIO");
    CHECK_CODE(t, PROLOGUE "\xff\xd0\x66\x90\x8b\x45\xf0\x5d\xc3", "OSSSIIIIIIIIO"); /* no: nop, and it goes on */
}

/* Functions that do other things with rbp or rsp have no rows, whatever else they look like. */
TEST(frames_of_functions_without_discipline)
{
    AUTO_FREE struct text *t = new_text();
    CHECK_CODE(t, "\x55\x89\xfd\xff\xd0\x5d\xc3", "-------");                   /* rbp as a register */
    CHECK_CODE(t, "\x53\xff\xd0\x5b\xc3", "-----");                             /* pushes without frame */
    CHECK_CODE(t, PROLOGUE "\xff\xd0\x31\xed\x5d\xc3", "----------");           /* xor ebp, ebp */
    CHECK_CODE(t, PROLOGUE "\xff\xd0\xc3", "-------");                          /* ret in a frame */
    CHECK_CODE(t, PROLOGUE "\xff\xd0\x5d\x58\xc3", "----III--");                /* pops behind it */
    CHECK_CODE(t, PROLOGUE "\x74\x01\x48\x8b\x45\xf0\x5d\xc3", "------------"); /* into an instruction */
}

/* What is wrong in one part of a function is so in parts that only a jump leads to. */
TEST(frames_parts_of_a_function_are_one)
{
    AUTO_FREE struct text *t = new_text();
    AUTO_SYNTH struct synth s = {0};
    size_t cold = PUT(t, "\xff\xd0\x0f\x0b"); /* call rax; ud2 */
    size_t at = (begin(t), PUT(t, PROLOGUE "\x0f\x84\0\0\0\0\x31\xed\x5d\xc3"));
    s32 back = (s32)cold - (s32)(at + 10);
    memcpy(t->bytes + at + 6, &back, 4);
    put_normal(t, 60);
    CHECK_EQ(read_text(t, &s), 0);
    CHECK_EQ(rule_at(&s, cold), '-');
    CHECK_EQ(rule_at(&s, at + 4), '-');
}

/* Without functions with frames around it, nothing is believed; nor where most of them break the discipline. */
TEST(frames_need_evidence)
{
    AUTO_FREE struct text *t = calloc(1, sizeof(*t));
    AUTO_SYNTH struct synth leaves = {0}, mixed = {0}, empty = {0};
    for (unsigned i = 0; i < 50; i++) {
        begin(t);
        PUT(t, "\x8d\x04\x37\xc3");
    }
    CHECK_EQ(read_text(t, &leaves), 0);
    CHECK_EQ(rule_at(&leaves, 0), '-');
    CHECK_EQ(leaves.n.claimed_bytes, 0);
    t->n = 0;
    for (unsigned i = 0; i < 50; i++) {
        put_normal(t, 1);
        begin(t);
        PUT(t, "\x55\x89\xfd\xff\xd0\x5d\xc3");
    }
    CHECK_EQ(read_text(t, &mixed), 0);
    CHECK_EQ(rule_at(&mixed, 8), '-');
    CHECK_EQ(read_wanted(t, NULL, 0, &empty), 0);
    CHECK(!empty.rows.n && !empty.ranges.n);
}

/* Code that keeps rbp, but not the discipline: callers in a frame are known, and what uses the frame. */
TEST(frames_of_other_compilers)
{
    AUTO_FREE struct text *t = calloc(1, sizeof(*t));
    AUTO_SYNTH struct synth s = {0};
    char got[64];
    for (unsigned i = 0; i < 100; i++) {
        begin(t); /* pop rcx; prologue; call rax; jmp 1f; 1: xor eax, eax; call rax; ud2 */
        PUT(t, "\x59" PROLOGUE "\xff\xd0\xeb\x00\x31\xc0\xff\xd0\x0f\x0b");
        begin(t); /* the same, but another way leads to 1: from where there is no frame yet */
        PUT(t, "\x59\x74\x08" PROLOGUE "\xff\xd0\xeb\x00\x31\xc0\xff\xd0\x0f\x0b");
        begin(t);
        PUT(t, "\x31\xc0\xff\xd0\x0f\x0b"); /* no frame, so no row */
    }
    CHECK_EQ(read_text(t, &s), 0);
    CHECK_STR(rules_of(&s, 64, 15, got), "ORRRRIIIIIIIIII");
    CHECK_STR(rules_of(&s, 80, 17, got), "ORRRRRRIIII---I--");
    CHECK_STR(rules_of(&s, 112, 6, got), "OOOOOO");
    CHECK(s.n.claimed_bytes < s.n.code_bytes);
}

/* ---- The stack pointer is followed where rbp is kept, but not the discipline ---- */

/* The rules of `code` in a stretch full of functions that take their return address away. */
#define CHECK_FLOW(code, want)                                           \
    do {                                                                 \
        AUTO_FREE struct text *t_ = calloc(1, sizeof(*t_));              \
        AUTO_SYNTH struct synth found_ = {0};                            \
        char got_[256];                                                  \
        put_foreign(t_, 60);                                             \
        size_t at_ = (begin(t_), PUT(t_, code));                         \
        put_foreign(t_, 60);                                             \
        CHECK_EQ(read_text(t_, &found_), 0);                             \
        CHECK_STR(rules_of(&found_, at_, sizeof(code) - 1, got_), want); \
    } while (0)

static void put_foreign(struct text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        begin(t); /* pop rcx; prologue; call rax; ud2 */
        PUT(t, "\x59" PROLOGUE "\xff\xd0\x0f\x0b");
        PUT(t, "\xcc\xcc");
    }
}

TEST(frames_follow_pushes_and_pops)
{
    CHECK_FLOW("\x8b\x45\xf8\xc3", "OOOO"); /* a leaf that looks into its caller's frame */
    /* push rax; sub rsp, 16; call rax; add rsp, 16; pop rax; ret */
    CHECK_FLOW("\x50\x48\x83\xec\x10\xff\xd0\x48\x83\xc4\x10\x58\xc3", "O11113333331O");
    /* pop rcx; lea rsp, [rsp + 8 * rax]; push rcx; ret: arguments are dropped below the return address */
    CHECK_FLOW("\x59\x48\x8d\x24\xc4\x51\xc3", "ORRRRRO");
    /* pop rcx; mov ecx, 1; push rcx; ret: nobody knows where that goes */
    CHECK_FLOW("\x59\xb9\1\0\0\0\x51\xc3", "ORRRRR--");
    /* push rdi; push rdx; push [rsp + 16]; jmp to itself: a copy of the return address on top */
    CHECK_FLOW("\x57\x52\xff\x74\x24\x10\xeb\xf8", "O12222OO");
    CHECK_FLOW(PROLOGUE "\x50\xff\xd0\x48\x89\xec\x5d\xc3", "OSSSIIIIIIIO");
    CHECK_FLOW("\x50\x74\x01\x50\xff\xd0\x0f\x0b", "O111----"); /* push rax; je over push rax; ... */
}

/* What contradicts itself is not believed anywhere in the function. */
TEST(frames_forget_what_is_refuted)
{
    CHECK_FLOW("\x31\xc0\x50\xc3", "----");           /* returns to what it pushed */
    CHECK_FLOW("\x31\xc0\xff\xd0\xc9\xc3", "---I--"); /* leaves a frame that it never made; calls in it */
    CHECK_FLOW(PROLOGUE "\x50\xc3", "------");        /* returns out of its frame */
}

/* Traps and an aligned loop in the middle of a function look like the start of one; the jump back says that it is none.
 */
TEST(frames_do_not_begin_within_a_function)
{
    /* prologue; push rax; jmp to the loop; 0: leave; ret; int3, int3; loop: dec eax; jne 0; ud2 */
    CHECK_FLOW(PROLOGUE "\x50\xeb\x09\xc9\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xff\xc8\x75\xf3\x0f\x0b",
               "OSSSIIIIOOOOOOOOIIIIII");
}

/* A stretch has the same rows, whatever else is wanted; functions that lie across its ends are whole. */
TEST(frames_of_one_stretch)
{
    AUTO_FREE struct text *t = calloc(1, sizeof(*t));
    AUTO_SYNTH struct synth all = {0}, one = {0};
    static const u32 second = 1, twice[] = {1, 1};
    put_normal(t, (unsigned)(sizeof(t->bytes) / 16 - 1));
    CHECK_EQ(read_text(t, &all), 0);
    CHECK_EQ(read_wanted(t, &second, 1, &one), 0);
    CHECK(one.rows.n > 0 && one.rows.n < all.rows.n);
    CHECK_EQ(rule_at(&one, 0), '.');
    for (size_t at = SYNTH_STRETCH - CRAFTED_BASE; at < 2 * SYNTH_STRETCH - CRAFTED_BASE; at++)
        if (rule_at(&one, at) != rule_at(&all, at)) {
            CHECK_EQ(at, 0);
            break;
        }
    CHECK_EQ(rule_at(&one, 3 * SYNTH_STRETCH - CRAFTED_BASE - 32), '.');
    CHECK_EQ(read_wanted(t, twice, 2, &one), -EINVAL);
}

/* At least one is read, so that it goes on. */
TEST(frames_that_time_does_not_suffice_for)
{
    AUTO_FREE struct text *t = calloc(1, sizeof(*t));
    AUTO_SYNTH struct synth both = {0}, part = {0};
    static const u32 wanted[] = {0, 2};
    put_normal(t, (unsigned)(sizeof(t->bytes) / 16 - 1));
    CHECK_EQ(read_wanted(t, wanted, 2, &both), 0);
    CHECK_EQ(both.unread, 0);
    CHECK_EQ(read_within(0, t, wanted, 2, &part), 0);
    CHECK_EQ(part.unread, 1);
    CHECK_EQ(rule_at(&part, 2 * SYNTH_STRETCH + 64), '.');
    CHECK_EQ(read_within(0, t, wanted + 1, 1, &part), 0);
    CHECK_EQ(part.unread, 0);
    CHECK_EQ(part.rows.n, both.rows.n);
}

TEST(frames_of_bytes_that_are_no_code)
{
    AUTO_FREE struct text *t = new_text();
    u64 seed = 7;
    for (size_t i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        t->bytes[t->n++] = (u8)(seed >> 56);
    }
    put_normal(t, 60);
    AUTO_SYNTH struct synth s = {0};
    CHECK_EQ(read_text(t, &s), 0);
    CHECK_EQ(s.n.claimed_bytes, 0);
}
