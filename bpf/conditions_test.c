/* Whether conditions hold, as the eBPF programs judge them: the same code, with a record in memory. */
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/tracepoint.h"
#include "events/condition.h"
#include "events/opened_test.h"

/* As in an object: settings, and helpers of the kernel. */
#define XP_INLINE   static inline
#define XP_NOINLINE static
static struct xp_tp xp_tp;
static u64 lost;
static bool paged_out; /* the memory of the process */

static void xp_lose(u32 why)
{
    lost += why == XP_LOSS_FIELD;
}
static u64 bpf_get_current_pid_tgid(void)
{
    return 100ull << 32 | 101;
}
static long bpf_get_current_comm(void *to, u32 size)
{
    strncpy(to, "cat", size);
    return 0;
}
static u32 bpf_get_prandom_u32(void)
{
    return 0;
}
static long bpf_probe_read_kernel(void *to, u32 size, const void *at)
{
    memcpy(to, at, size);
    return 0;
}
static long bpf_probe_read_kernel_str(void *to, u32 size, const void *at)
{
    size_t n = strnlen(at, size - 1);
    memcpy(to, at, n);
    ((char *)to)[n] = 0;
    return (long)n + 1;
}
static long bpf_probe_read_user_str(void *to, u32 size, const void *at)
{
    return paged_out ? -14 : bpf_probe_read_kernel_str(to, size, at);
}
struct xp_state {
    struct xp_amount amounts[XP_MAX_VALUES];
};
static void xp_no_amounts(struct xp_state *s)
{
    memset(s->amounts, 0, sizeof(s->amounts));
}
static u64 bpf_ktime_get_ns(void)
{
    return 1000;
}
#include "bpf/conditions.bpf.h"
#include "bpf/timed.bpf.h"

/* As opened_test.h has it. */
struct record {
    u64 own;
    u32 filename;
    s32 ret;
    u64 flags;
    char comm[16];
    const char *path;
    u8 rest[64];
    u64 fd, uid, wide;
};
/* Of fd and wide, the upper half is left over from something else. */
static const struct record RECORD = {.filename = 72,
                                     .ret = -2,
                                     .flags = 0x41,
                                     .comm = "cat",
                                     .path = "/etc/group",
                                     .fd = 0x1ffffff9c,
                                     .uid = 0xffffffff,
                                     .wide = 0x1fffffffb};

/* -1: it is none. */
static int counts(const char *text)
{
    struct tracepoint t;
    struct record r = RECORD;
    char why[256] = "";
    memcpy((char *)&r + r.filename, "/etc/passwd", 12);
    read_fields(&t);
    memset(&xp_tp, 0, sizeof(xp_tp));
    return condition_compile(text, &t, &xp_tp, why, sizeof(why)) ? -1 : xp_tp_counts(&r);
}

TEST(conditions_hold_or_not)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"ret < 0", true},
        {"ret<0&&ret>-3", true},
        {"ret >= -2", true},
        {"ret > -2", false},
        {"ret <= -3", false},
        {"ret == -2", true},
        {"ret != -2", false},
        {"flags & 0x40", true},
        {"flags & 0x3e", false},
        {"!(flags & 0x3e)", true},
        {"flags == 0101", true},
        {"filename == \"/etc/passwd\"", true},
        {"filename == '/etc/passw'", false},
        {"filename == '/etc/passw*'", true},
        {"filename != \"/etc/*\"", false},
        {"path == '/etc/group'", true},
        {"path == '/etc/passwd'", false},
        {"comm == \"cat\"", true},
        {"pid == 100 && tid == 101", true},
        {"pid == 101 || tid == 100", false},
        {"ret == 1 || flags == 65 && pid == 100", true},
        {"(ret == 1 || flags == 65) && pid == 1", false},
        {"!(ret == 1 || flags == 65)", false},
        {"!(ret == 1 && flags == 65)", true},
        {"!!(ret == -2)", true},
        {"!(ret == -2 && !(pid == 7 || tid == 101))", true},
        {"(ret == 1 || ret == -2) && (pid == 1 || pid == 100) && tid == 101", true},
        {"(ret == 1 || ret == -2) && (pid == 1 || pid == 100) && tid == 102", false},
        {"ret == 0xfffffffe", true},
        {"ret >= 0xfffffffe && ret <= 0xfffffffe", true},
        {"ret > 0xfffffffe || ret < 0xfffffffe", false},
        {"(unsigned)ret == -2 && (unsigned)ret > 2", true},
        {"fd == -100 && fd < 0", true},
        {"uid == -1 && uid > 0", true},
        {"(int)wide < 0 && (int)wide == -5 && wide > 0", true},
        {"(short) wide == -5 && (char)wide == -5", true},
        {"!((bool)wide == 251) || (int)flags == 0x42", false},
        {"((int)wide == -5)", true},
        {"wide < 0xffffffffffffffff && wide >= 0", true},
        {"wide >= 18446744073709551615", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(counts(cases[i].text) == cases[i].holds ? cases[i].text : "", cases[i].text);
}

/* A number that is compared with a text is its address. */
TEST(conditions_on_what_numbers_point_to)
{
    struct tracepoint t;
    struct record r = RECORD;
    char why[256] = "";
    read_fields(&t);
    memset(&xp_tp, 0, sizeof(xp_tp));
    r.flags = (uintptr_t) "hello";
    CHECK_EQ(condition_compile("flags == 'hel*' && flags != 'hell'", &t, &xp_tp, why, sizeof(why)), 0);
    CHECK(xp_tp_counts(&r));
}

/* A text that is not in memory makes a difference, or does not. */
TEST(conditions_that_cannot_be_judged_are_counted)
{
    paged_out = true;
    lost = 0;
    CHECK_EQ(counts("path == '/etc/group'"), 0);
    CHECK_EQ(counts("path != '/etc/group' || ret == 3"), 0);
    CHECK_EQ(lost, 2);
    CHECK_EQ(counts("path == '/etc/group' && ret == 3"), 0);
    CHECK_EQ(counts("path == '/etc/group' || ret == -2"), 1);
    CHECK_EQ(lost, 2);
    paged_out = false;
}

TEST(values_of_occurrences)
{
    static const struct {
        u32 offset, period;
        u16 size;
        u8 source;
        u64 count, value;
    } cases[] = {
        {0, 0, 0, XP_TP_NOTHING, 1, 1},
        {0, 7, 0, XP_TP_NOTHING, 7, 7},
        {16, 0, 8, XP_TP_UNSIGNED, 1, 0x41},
        {16, 3, 1, XP_TP_SIGNED, 3, 0xc3},
        {12, 0, 4, XP_TP_SIGNED, 1, 0}, /* an error */
        {12, 0, 4, XP_TP_UNSIGNED, 1, 0xfffffffe},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct record r = RECORD;
        struct xp_state s;
        xp_tp = (struct xp_tp){.period = cases[i].period};
        xp_tp.value = (struct xp_tp_field){.offset = cases[i].offset, .size = cases[i].size, .source = cases[i].source};
        CHECK(xp_tp_counts(&r));
        xp_tp_amounts(&r, &s);
        CHECK_EQ(s.amounts[0].count, cases[i].count);
        CHECK_EQ(s.amounts[0].value, cases[i].value);
    }
}

/* Of a call that begins with flags, and ends with ret. -1: it is over before it begins; 0: it does not count. */
static int timed(const char *text, u64 elapsed)
{
    struct tracepoint t;
    struct record r = RECORD;
    struct xp_timed c = {0};
    char why[256] = "";
    read_fields(&t);
    t.fields[1].place.late = 1;
    t.fields[t.nfields++] =
        (struct tracepoint_field){"latency", "u64", {.size = 8, .source = XP_TP_ELAPSED, .late = 1}};
    memset(&xp_tp, 0, sizeof(xp_tp));
    if (condition_compile(text, &t, &xp_tp, why, sizeof(why)))
        return -2;
    r.ret = 0;
    bool begins = xp_timed_begins(&r, &c) && c.began == 1000;
    r.ret = -2;
    r.flags = 0;
    return begins ? xp_timed_counts(&r, &c, elapsed) : -1;
}

/* What is known at the beginning is judged there, by what is there then. */
TEST(conditions_of_calls_that_are_timed)
{
    CHECK_EQ(timed("flags == 0x41", 5), 1);
    CHECK_EQ(timed("flags == 0", 5), -1);
    CHECK_EQ(timed("ret == -2", 5), 1);
    CHECK_EQ(timed("ret == 0", 5), 0);
    CHECK_EQ(timed("ret == -2 && flags == 0x41 && latency > 4", 5), 1);
    CHECK_EQ(timed("ret == -2 && flags == 0x41 && latency > 4", 4), 0);
    CHECK_EQ(timed("latency > 4 && flags == 0", 5), -1);
    CHECK_EQ(timed("latency > 4 || flags == 0x41", 4), 1);
    CHECK_EQ(timed("!(latency > 4) && !(ret == 0)", 4), 1);
    paged_out = true;
    lost = 0;
    CHECK_EQ(timed("path == '/etc/group' && ret == -2", 4), -1);
    CHECK_EQ(lost, 1);
    CHECK_EQ(timed("path == '/etc/group' || ret == -2", 4), 1);
    CHECK_EQ(lost, 1);
    paged_out = false;
}

TEST(amounts_of_calls_that_are_timed)
{
    struct xp_state s;
    xp_tp = (struct xp_tp){.period = 3};
    xp_timed_amounts(&s, 70);
    CHECK(s.amounts[0].count == 3 && s.amounts[0].value == 210);
}
