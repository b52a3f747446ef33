#include "profile/fixture_test.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "dwarf/names.h"
#include "runtime/kinds.h"
#include <errno.h>

int fixture_add(struct aggregate *a, const struct fixture_sample *s)
{
    size_t n = s->nkernel + s->nuser;
    AUTO_FREE struct xp_sample *raw = calloc(1, sizeof(*raw) + n * sizeof(u64));
    if (!raw)
        return -ENOMEM;
    raw->type = XP_RECORD_SAMPLE;
    raw->count = 1;
    raw->weight = s->weight;
    raw->start = s->tgid * 1000ull;
    raw->tgid = raw->tid = s->tgid;
    const char *at = strchrnul(s->comm, '@');
    snprintf(raw->comm, sizeof(raw->comm), "%.*s", (int)(at - s->comm), s->comm);
    snprintf(raw->thread, sizeof(raw->thread), "%s", *at ? at + 1 : "");
    raw->nkernel = (u16)s->nkernel;
    raw->nuser = (u16)s->nuser;
    raw->event = s->event;
    raw->cause = s->cause;
    memcpy(raw->words, s->words, n * sizeof(u64));
    return aggregate_add(a, raw);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static bool source_file(void *ctx, u32 file, const char **path, const char **build_id)
{
    static const char *const paths[] = {
        NULL, NULL, "/usr/bin/demo", "/usr/lib/libplain.so.1", "/tmp/broken", NULL, "/opt/hostile;dir/a\"b</script>"};
    if (file >= sizeof(paths) / sizeof(paths[0]) || !paths[file])
        return false;
    *path = paths[file];
    *build_id = file == 2 ? "00112233445566778899aabbccddeeff00112233" : "";
    return true;
}

struct reply {
    VEC(u32) first;
    VEC(struct names_frame) frames;
    struct buf strings;
};

static u32 reply_string(struct reply *r, const char *s)
{
    size_t at = r->strings.len;
    buf_add(&r->strings, s, strlen(s) + 1);
    return (u32)at;
}

static void reply_frame(struct reply *r, u64 start, const char *name, const char *file, u32 line)
{
    *VEC_PUSH(&r->frames) = (struct names_frame){.start = start,
                                                 .name = reply_string(r, name),
                                                 .system_name = reply_string(r, name),
                                                 .file = reply_string(r, file),
                                                 .line = line};
}

/* Hands it over and frees it. */
static void reply_use(struct reply *r, size_t n, void (*use)(void *arg, const struct names *names), void *arg)
{
    *VEC_PUSH(&r->first) = (u32)r->frames.n;
    use(arg, &(struct names){.first = r->first.v, .frames = r->frames.v, .strings = r->strings.data, .n = (u32)n});
    vec_free(&r->first);
    vec_free(&r->frames);
    buf_free(&r->strings);
}

static void demo_frames(struct reply *r, u64 offset)
{
    if (offset >= 0x5000)
        reply_frame(r, 0x5000, "take_gil", "", 0);
    else if (offset >= 0x4000)
        reply_frame(r, 0x4000, "pthread_cond_wait", "", 0);
    else if (offset >= 0x3000)
        reply_frame(r, 0x3000, "leaf", "", 0);
    else if (offset >= 0x2100)
        reply_frame(r, 0x2000, "inner", "demo.c", 10 + (u32)(offset & 0xff));
    if (offset >= 0x2000 && offset < 0x3000)
        reply_frame(r, 0x2000, "outer", "demo.c", 42);
    if (offset < 0x2000)
        reply_frame(r, 0x1000, "main", "", 0);
}

static void data_frame(struct reply *r, u32 file, u64 offset)
{
    bool table = offset >= 0x9100;
    if (file == 2)
        reply_frame(r, offset - (table ? 0x9100 : 0x9000), table ? "table" : "counter_lock", "", 0);
    else
        reply_frame(r, offset + 0x1000, "", "", 0);
}

static void hostile_frames(struct reply *r, u64 offset)
{
    static const char *const names[] = {
        "quote\"back\\slash'",
        "</script><script>alert(1)</script>",
        "semi;colon new\nline\r\ttab \x1b[31m",
        "bytes \xff\xfe\xc3(",
        "",
        "<b>&amp;]]>-->",
        "\xe2\x80\xae turned \xf0\x9f\x94\xa5",
    };
    size_t i = offset >> 12;
    if (i < sizeof(names) / sizeof(names[0])) {
        reply_frame(r, offset, names[i], "src/we\"ird\n.c", 7);
        return;
    }
    AUTO_FREE char *longest = calloc(1, 100001);
    memset(longest, 'L', 100000);
    reply_frame(r, offset, longest, "", 0);
}

static int source_names(void *ctx, u32 file, const u64 *offsets, size_t n,
                        void (*use)(void *arg, const struct names *names), void *arg)
{
    struct fixture_source *f = ctx;
    f->offsets += n;
    if (file == 4)
        return -ENOEXEC;
    if (file != 2 && file != 3 && file != 6)
        return -ENODATA;
    f->asked[file]++;
    struct reply r = {0};
    reply_string(&r, "");
    for (size_t i = 0; i < n; i++) {
        f->descending |= i && offsets[i] <= offsets[i - 1];
        *VEC_PUSH(&r.first) = (u32)r.frames.n;
        if (offsets[i] & NAMES_DATA)
            data_frame(&r, file, offsets[i] & ~NAMES_DATA);
        else if (file == 2)
            demo_frames(&r, offsets[i]);
        else if (file == 3)
            reply_frame(&r, offsets[i] & ~0xfffull, "", "", 0);
        else
            hostile_frames(&r, offsets[i]);
    }
    reply_use(&r, n, use, arg);
    return 0;
}

static u64 source_address(void *ctx, u32 file, u64 offset)
{
    return file == 2 ? offset + 0x400000 : offset;
}

static bool source_segment(void *ctx, u32 file, u64 offset, u64 *first, u64 *last, u64 *first_offset)
{
    *first = 0x401000;
    *last = 0x403fff;
    *first_offset = 0x1000;
    return file == 2;
}

static const char *source_kernel(void *ctx, u64 address, u64 *start, const char **module)
{
    u64 offset = address - W_KERNEL(0);
    *start = W_KERNEL(offset & ~0xfffull);
    *module = offset >= 0x100000 && offset < 0x200000 ? "ext4" : "";
    static const char *const names[] = {"entry_SYSCALL_64", "do_syscall_64", "ksys_read", "vfs_read"};
    static const char *const waits[] = {
        "schedule", "anon_pipe_read", "folio_wait_bit.isra.0", "some_driver_wait.part.0",
        "ep_poll",  "futex_do_wait",  "do_nanosleep",          "tty_read"};
    if (offset >= 0x200000)
        return waits[offset >> 12 & 7];
    if (offset >= 0x100000)
        return "ext4_file_read_iter";
    return offset >> 12 < 4 ? names[offset >> 12] : NULL;
}

/* Methods are named by the cookie of their frame, and interpreted if it is even; from position 100 on, another one is
 * inlined. */
static int source_runtime(void *ctx, u32 tgid, u64 start, const u64 *words, size_t n,
                          void (*use)(void *arg, const struct names *names), void *arg)
{
    struct reply r = {0};
    char name[64];
    reply_string(&r, "");
    for (size_t i = 0; i < n; i++) {
        u32 position = XP_MORE_POSITION(words[2 * i + 1]);
        *VEC_PUSH(&r.first) = (u32)r.frames.n;
        if (position >= 100)
            reply_frame(&r, RUNTIME_INLINED, "p.Small.get", "Small.java", 3);
        u32 cookie = XP_MORE_COOKIE(words[2 * i + 1]);
        snprintf(name, sizeof(name), "p.Demo.m%u", cookie);
        if (position)
            reply_frame(&r, cookie % 2 ? RUNTIME_C2 : RUNTIME_INTERPRETED, name, "Demo.java", position);
    }
    reply_use(&r, n, use, arg);
    return 0;
}

static int source_anonymous(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t n,
                            void (*use)(void *arg, const struct names *names), void *arg)
{
    struct reply r = {0};
    reply_string(&r, "");
    for (size_t i = 0; i < n; i++) {
        bool known = addresses[i] >= 0x7000 && addresses[i] < 0x8000;
        *VEC_PUSH(&r.first) = (u32)r.frames.n;
        const char *name = addresses[i] >> 12 == 6 ? "py::work:/work.py" /* code that Python calls it through */
                           : !known                ? ""
                           : tgid == 20            ? "jit::twenty"
                                                   : "jit::other";
        reply_frame(&r, addresses[i] & ~0xfffull, name, "", 0);
    }
    reply_use(&r, n, use, arg);
    return 0;
}

void fixture_source(struct fixture_source *f)
{
    *f = (struct fixture_source){.source = {.ctx = f,
                                            .file = source_file,
                                            .names = source_names,
                                            .address = source_address,
                                            .segment = source_segment,
                                            .kernel = source_kernel,
                                            .anonymous = source_anonymous,
                                            .runtime = source_runtime}};
}

/* ---- Profiles ---------------------------------------------------------------------------------------------------- */

static void about(struct profile *p)
{
    p->events[0] = event_kind_find("cpu");
    p->period[0] = 10000000;
    p->nevents = 1;
    p->time_ns = 1700000000ull * 1000000000;
    p->duration_ns = 2000000000;
    *VEC_PUSH(&p->comments) = profile_string(p, "command: demo --flag");
    *VEC_PUSH(&p->comments) = profile_string(p, "host: box");
}

int fixture_profile(const struct fixture_sample *s, size_t n, struct profile *out)
{
    struct aggregate *a __attribute__((cleanup(aggregate_free))) = NULL;
    struct fixture_source f;
    fixture_source(&f);
    int r = aggregate_new(&a, 2, 64 << 20);
    for (size_t i = 0; i < n && !r; i++)
        r = fixture_add(a, &s[i]);
    if (!r)
        r = profile_init(out);
    if (!r)
        r = symbolize(a, &f.source, out);
    if (!r)
        about(out);
    return r;
}

int fixture_hostile(struct profile *out)
{
    const u64 ms10 = 10000000;
    struct fixture_sample s[] = {
        {"evil;\"</script>",
         10,
         0,
         XP_CAUSE_END,
         3 * ms10,
         0,
         8,
         {W_LEAF(6, 0), W(6, 0x1001), W(6, 0x2001), W(6, 0x3001), W(6, 0x4001), W(6, 0x5001), W(6, 0x6001),
          W(6, 0x7001)}},
        {"\xff\xfe\n", 11, 0, XP_CAUSE_NO_RULE, ms10, 0, 2, {W_LEAF(6, 0x7000), W(6, 0x2001)}},
        {"", 12, 0, XP_CAUSE_KTHREAD, ms10, 2, 0, {W_KERNEL(0x2010), W_KERNEL(0x1010)}},
        {"none", 13, 0, XP_CAUSE_NO_MM, ms10, 0, 0, {0}},
        {"jit", 20, 0, XP_CAUSE_END_FP, 2 * ms10, 0, 3, {W_ANON(0x7123) | XP_WORD_EXACT, W_ANON(0x9123), W(5, 0x77)}},
    };
    return fixture_profile(s, sizeof(s) / sizeof(s[0]), out);
}
