#include "runtime/python.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "runtime/python_crafted.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <stdlib.h>

static int attach(const struct crafted *c, struct buf *out)
{
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    return runtime_attach(mem, maps, out);
}

static int attach_alone(const struct crafted *c)
{
    AUTO_BUF struct buf out = {0};
    return attach(c, &out);
}

static struct python python_of(const struct buf *attached)
{
    struct python p = {0};
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == &runtime_python)
        memcpy(&p, bytes, sizeof(p));
    return p;
}

static int names_of(const struct crafted *c, const struct buf *attached, const u64 *words, size_t n, struct buf *out)
{
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    return runtime_names(mem, attached->data, attached->len, words, n, out);
}

/* "kind name file:line" of one pair of words. */
static const char *frame_of(const struct crafted *c, const struct buf *attached, u64 word, u64 more)
{
    static char text[8192];
    AUTO_BUF struct buf out = {0};
    struct names v;
    const u64 words[] = {word, more};
    if (names_of(c, attached, words, 2, &out) || names_view(out.data, out.len, 1, &v) || v.first[1] != 1)
        return "failed";
    const struct names_frame *f = v.frames;
    snprintf(text, sizeof(text), "%d %s %s:%u", (int)f->start, v.strings + f->name, v.strings + f->file, f->line);
    return f->name == f->system_name ? text : "names differ";
}

static u32 line_at(const struct crafted *c, const struct buf *attached, s32 position)
{
    u32 code = c->thread[0].code;
    const char *s = frame_of(c, attached, XP_PYTHON_WORD(code), XP_MORE_WORD(crafted_cookie(c, code), position));
    return strchr(s, ':') ? (u32)atoi(strchr(s, ':') + 1) : UINT32_MAX;
}

/* The name of the first thread's function, with another text instead. */
static const char *name_with(struct crafted *c, const struct buf *attached, u32 str)
{
    static char name[8192];
    bool is_old = c->v->hex < 0x030b0000;
    u32 code = c->thread[0].code;
    crafted_put(c, code + c->v->code_names + (is_old ? 8 : 16), str, 8);
    const char *s = frame_of(c, attached, XP_PYTHON_WORD(code), XP_MORE_WORD(crafted_cookie(c, code), 0));
    if (strncmp(s, "1 ", 2) != 0)
        return s;
    snprintf(name, sizeof(name), "%s", s + 2);
    if (strchr(name, ' '))
        *strchr(name, ' ') = 0;
    return name;
}

#define CRAFT(version, libc)                          \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, (version), (libc));               \
    CHECK_EQ(attach(c, &a), 0)

/* ---- Attaching */

TEST(python_says_where_its_frames_are)
{
    static const u8 shapes[] = {XP_PYTHON_EACH, XP_PYTHON_EACH, XP_PYTHON_CFRAME, XP_PYTHON_ENTRY, XP_PYTHON_SHIM,
                                XP_PYTHON_SHIM, XP_PYTHON_SHIM, XP_PYTHON_SHIM,   XP_PYTHON_SHIM};
    static const char *const versions[] = {"3.8",       "3.9",    "3.10",     "3.11.2", "3.12.1",
                                           "3.13.0rc2", "3.14.3", "3.15.0a5", "3.15.0"};
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC);
        struct python p = python_of(&a);
        const struct xp_python *x = &p.machine;
        CHECK_STR(p.version, versions[i]);
        CHECK_EQ(x->shape, shapes[i]);
        CHECK(x->tls == 0x318 + 16 * 3 && !x->slot);
        CHECK(x->shim == (x->shape == XP_PYTHON_SHIM ? 3 : 0) && x->names == (i < CRAFTED_3_11 ? 3 : 4));
        CHECK_EQ(x->tag_bits, i >= CRAFTED_3_14T ? 2 : 0);
        CHECK(x->state_thread == c->v->thread && x->state_frame == c->v->frame && x->state_cframe == c->v->cframe);
        CHECK(x->cframe_frame == c->v->cframe_frame && x->cframe_back == c->v->cframe_back);
        CHECK(x->frame_code == c->v->frame_code && x->frame_back == c->v->frame_back);
        CHECK(x->frame_position == c->v->frame_position && x->frame_owner == c->v->frame_owner);
        CHECK(x->code_names == c->v->code_names && x->code_start == c->v->code_start);
        CHECK(p.layout.free_threaded == (i == CRAFTED_3_14T) && p.layout.by_offsets == (i >= CRAFTED_3_13));
    }
}

TEST(python_says_where_its_threads_have_their_state)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC_BLOCK);
        CHECK_EQ(python_of(&a).machine.tls, 0x518);
        CHECK_EQ(python_of(&a).machine.slot, 1 + 16 * 3 + 8);
        a.len = 0;
        crafted_make(c, i, CRAFTED_MUSL);
        CHECK_EQ(attach(c, &a), 0);
        CHECK_EQ(python_of(&a).machine.tls, 0x80);
        CHECK_EQ(python_of(&a).machine.slot, 1);
    }
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC); /* keys of others: of one thread, and of both */
    crafted_put(c, c->thread[0].tls + 0x318, c->thread[0].state, 8);
    crafted_put(c, c->thread[0].tls + 0x318 + 16 * 9, c->thread[0].state, 8);
    crafted_put(c, c->thread[1].tls + 0x318 + 16 * 9, c->thread[1].state, 8);
    a.len = 0;
    CHECK_EQ(attach(c, &a), 0);
    CHECK_EQ(python_of(&a).machine.tls, 0x318 + 16 * 3);
    for (unsigned i = 0; i < CRAFTED_THREADS; i++) { /* another C library */
        memset(c->bytes + c->thread[i].tls, 0, 0x900);
        crafted_put(c, c->thread[i].tls + 0x700, c->thread[i].state, 8);
    }
    a.len = 0;
    CHECK_EQ(attach(c, &a), 0);
    CHECK_EQ(python_of(&a).machine.tls, 0x700);
    crafted_put(c, c->thread[0].tls + 0x700, 0, 8); /* one of two */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(processes_without_a_python_that_runs_are_told_apart)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    crafted_make(c, CRAFTED_3_12, CRAFTED_GLIBC);
    c->bytes[CRAFTED_MODULE + CRAFTED_MODULE_STRTAB + 1] = 'x'; /* of _PyRuntime */
    CHECK_EQ(attach_alone(c), -ENODATA);
    crafted_make(c, CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_put(c, c->runtime + c->v->head, 0, 8);
    CHECK_EQ(attach_alone(c), -EAGAIN);
    crafted_make(c, CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_put(c, c->interpreter + c->v->threads, 0, 8);
    CHECK_EQ(attach_alone(c), -EAGAIN);
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) { /* threads without frames, and with other ones */
        crafted_make(c, i, CRAFTED_GLIBC);
        for (unsigned k = 0; k < CRAFTED_THREADS; k++)
            crafted_put(c,
                        c->v->frame ? c->thread[k].state + c->v->frame
                                    : crafted_get(c, c->thread[k].state + c->v->cframe) + c->v->cframe_frame,
                        0, 8);
        CHECK_EQ(attach_alone(c), -EAGAIN);
        crafted_make(c, i, CRAFTED_GLIBC);
        crafted_put(c, c->thread[1].code + c->v->header - 8, c->str_type, 8);
        CHECK_EQ(attach_alone(c), 0);
        crafted_put(c, c->thread[0].code + c->v->header - 8, c->str_type, 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
        crafted_make(c, i, CRAFTED_GLIBC);
        for (unsigned k = 0; k < CRAFTED_THREADS; k++)
            crafted_put(c, c->thread[k].name + c->v->header - 8, c->code_type, 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    crafted_make(c, CRAFTED_3_13, CRAFTED_GLIBC);
    c->bytes[c->runtime] = 'X'; /* of the cookie */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(versions_of_python_that_are_not_known_are_refused)
{
    static const u32 bad[] = {0x03070000, 0x03ff0000, 0x040c0000};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
        crafted_put(c, c->version, bad[i], 4);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    CRAFT(CRAFTED_3_8, CRAFTED_GLIBC);
    *(char *)memmem(c->bytes, 0x2000, "PyCode_NewWithPosOnlyArgs", 8) = 'x';
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(lists_of_threads_may_never_end)
{
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
    crafted_put(c, c->thread[0].state + 8, c->thread[1].state, 8);
    crafted_put(c, c->interpreter, c->interpreter, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->thread[1].frame + c->v->frame_owner, 3, 1); /* frames, too */
    crafted_put(c, c->thread[1].frame + c->v->frame_back, c->thread[1].frame, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->thread[0].frame + c->v->frame_owner, 3, 1);
    crafted_put(c, c->thread[0].frame + c->v->frame_back, c->thread[0].frame, 8);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(python_says_what_it_is)
{
    AUTO_BUF struct buf out = {0};
    CRAFT(CRAFTED_3_14T, CRAFTED_GLIBC);
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    CHECK_EQ(runtime_about(mem, maps, &out), 0);
    CHECK(runtime_about_sound(out.data, out.len));
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "machine\tCPython 3.14.3\nthreads\t2 in 1 interpreter\ngil\tnone (free-threaded build)\n"
              "layout\ttold by the interpreter\n");
}

/* ---- Names */

TEST(frames_of_python_have_names_and_lines)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC);
        u32 code = c->thread[1].code;
        u64 more = XP_MORE_WORD(crafted_cookie(c, code), i == CRAFTED_3_10 ? 2 : 4);
        CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code), more), "1 outer.<locals>.second dir/file.py:11");
        CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code) | XP_WORD_EXACT, more),
                  "1 outer.<locals>.second dir/file.py:11");
        bool none = i >= CRAFTED_3_10;
        unsigned unit = i == CRAFTED_3_10 ? 2 : 1;
        CHECK_EQ(line_at(c, &a, 0), 10);
        CHECK_EQ(line_at(c, &a, 2 / (int)unit), 10);
        CHECK_EQ(line_at(c, &a, (s32)(6 / unit)), 11);
        CHECK_EQ(line_at(c, &a, (s32)(10 / unit)), none ? 0 : 11);
        CHECK_EQ(line_at(c, &a, (s32)(12 / unit)), 111);
        CHECK_EQ(line_at(c, &a, (s32)(18 / unit)), 108);
        CHECK_EQ(line_at(c, &a, (s32)(20 / unit)), 10);
        CHECK_EQ(line_at(c, &a, -2), 10);
        CHECK_EQ(line_at(c, &a, INT32_MIN), 10);
        CHECK_EQ(line_at(c, &a, INT32_MAX), 10);
    }
}

/* Without a GIL, each thread may run its own copy. */
TEST(lines_are_found_in_copies_of_code)
{
    CRAFT(CRAFTED_3_14T, CRAFTED_GLIBC);
    u32 code = c->thread[0].code, start = code + c->v->code_start;
    u32 list = crafted_alloc(c, 40), copies[] = {crafted_alloc(c, 32), crafted_alloc(c, 32)};
    const u64 words[] = {4, start, copies[0], 0, copies[1]};
    memcpy(c->bytes + list, words, sizeof(words));
    crafted_put(c, code + c->v->code_copies, list, 8);
    CHECK_EQ(line_at(c, &a, (s32)(copies[0] + 12 - start)), 111);
    CHECK_EQ(line_at(c, &a, (s32)(copies[1] + 6 - start)), 11);
    CHECK_EQ(line_at(c, &a, (s32)(copies[1] + 20 - start)), 10);
    crafted_put(c, list, UINT64_MAX, 8);
    CHECK_EQ(line_at(c, &a, (s32)(copies[1] + 20 - start)), 10);
}

TEST(tables_of_lines_may_be_bad)
{
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
    u32 at = c->thread[0].code + c->v->code_names + 24, table = (u32)crafted_get(c, at);
    crafted_put(c, at, c->thread[0].name, 8); /* no bytes */
    CHECK_EQ(line_at(c, &a, 12), 10);
    crafted_put(c, at, table, 8);
    crafted_put(c, table + c->v->header, (u64)1 << 30, 8); /* too long */
    CHECK_EQ(line_at(c, &a, 12), 10);
    crafted_put(c, table + c->v->header, 5, 8); /* too short */
    CHECK_EQ(line_at(c, &a, 4), 11);
    CHECK_EQ(line_at(c, &a, 12), 10);
    memset(c->bytes + table + c->v->header + 16, 0xff, 5); /* numbers without end */
    CHECK_EQ(line_at(c, &a, 12), 0);
    crafted_put(c, c->thread[0].code + c->v->code_first, UINT32_MAX, 4);
    CHECK_EQ(line_at(c, &a, -1), 0);
}

TEST(frames_whose_code_is_another_one_are_gone)
{
    static const char gone[] = "7 [python: gone] :0";
    CRAFT(CRAFTED_3_11, CRAFTED_GLIBC);
    u32 code = c->thread[0].code, cookie = crafted_cookie(c, code);
    static const u64 unread[XP_PYTHON_NAMES];
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code), XP_MORE_WORD(cookie, 0)), "1 Class.first dir/file.py:10");
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code), XP_MORE_WORD(XP_PYTHON_COOKIE(unread), 0)),
              "1 Class.first dir/file.py:10");
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code), XP_MORE_WORD(cookie + 1, 0)), gone);
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(c->thread[0].name), XP_MORE_WORD(cookie, 0)), gone);
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(0), XP_MORE_WORD(XP_PYTHON_COOKIE(unread), 0)), gone);
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(1ull << 55), XP_MORE_WORD(cookie, 0)), gone);
    crafted_put(c, code + 8, c->str_type, 8);
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code), XP_MORE_WORD(cookie, 0)), gone);
}

TEST(words_of_others_get_no_name)
{
    CRAFT(CRAFTED_3_11, CRAFTED_GLIBC);
    u32 code = c->thread[0].code, cookie = crafted_cookie(c, code);
    CHECK_STR(frame_of(c, &a, XP_JAVA_WORD(0, code), XP_MORE_WORD(cookie, 0)), "1 [python] :0");
    CHECK_STR(frame_of(c, &a, XP_PYTHON_WORD(code), XP_PYTHON_WORD(code)), "1 [python] :0");
    CHECK_STR(name_with(c, &a, code), "[python]");
    CHECK_STR(name_with(c, &a, crafted_ascii(c, "")), "[python]");
}

TEST(texts_of_python_become_utf8)
{
    static const u16 wide[] = {0x6f22, 'x', 0xdc80, 0x7f0}; /* a byte that was no UTF-8 */
    static const u32 wider[] = {0x1f600, '.', 0x110000};
    static const char latin[] = {'d', (char)0xe9, 'f'};
    char many[5000];
    memset(many, 'm', sizeof(many));
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, CRAFTED_GLIBC);
        CHECK_STR(name_with(c, &a, crafted_str(c, latin, 3, 1, false)), "d\u00e9f");
        CHECK_STR(name_with(c, &a, crafted_str(c, wide, 4, 2, false)), "\u6f22x\ufffd\u07f0");
        CHECK_STR(name_with(c, &a, crafted_str(c, wider, 3, 4, false)), "\U0001f600.\ufffd\ufffd\ufffd\ufffd");
        CHECK_EQ(strlen(name_with(c, &a, crafted_str(c, many, 4096, 1, true))), 4096);
        const char *cut = name_with(c, &a, crafted_str(c, many, 4097, 1, true));
        CHECK(strlen(cut) == 4096 + 3 && !strcmp(cut + 4094, "mm..."));
        u32 huge = crafted_str(c, many, 4097, 1, true);
        crafted_put(c, huge + c->v->header, (u64)1 << 40, 8);
        CHECK_EQ(strlen(name_with(c, &a, huge)), 4096 + 3);
        u32 end = CRAFTED_SIZE - 128; /* it goes on beyond the memory */
        memcpy(c->bytes + end, c->bytes + huge, 128);
        CHECK_STR(name_with(c, &a, end), "[python]");
        u32 loose = crafted_ascii(c, "loose");
        crafted_put(c, loose + c->v->header + 16, 1 << c->v->kind_shift, 4);
        CHECK_STR(name_with(c, &a, loose), "[python]");
    }
}

/* ---- Hostile input */

#define REFUSES(change)                         \
    do {                                        \
        p = sound;                              \
        p.change;                               \
        CHECK(python_check(&p, sizeof(p)) < 0); \
    } while (0)

TEST(python_checks_what_it_is_told)
{
    CRAFT(CRAFTED_3_12, CRAFTED_GLIBC);
    struct python sound = python_of(&a), p = sound;
    CHECK_EQ(python_check(&p, sizeof(p)), 0);
    CHECK(python_check(&p, sizeof(p) - 1) < 0);
    REFUSES(machine.tls = 8193);
    REFUSES(machine.tls = -8193);
    REFUSES(machine.slot = 1u << 17);
    REFUSES(machine.shape = 4);
    REFUSES(machine.names = 2);
    REFUSES(machine.names = 5);
    REFUSES(machine.tag_bits = 4);
    REFUSES(machine.state_thread = 8193);
    REFUSES(machine.state_cframe = 0);
    REFUSES(machine.cframe_back = 8193);
    REFUSES(machine.frame_code = 121);
    REFUSES(machine.frame_back = 121);
    REFUSES(machine.frame_position = 121);
    REFUSES(machine.frame_owner = 128);
    REFUSES(machine.code_start = 8193);
    REFUSES(machine.code_names = 8193);
    REFUSES(machine.pad = 1);
    REFUSES(layout.code_type = 1ull << 56);
    REFUSES(layout.type = 8193);
    REFUSES(layout.code_copies = 8193);
    REFUSES(layout.kind_shift = 17);
    REFUSES(layout.lines = 3);
    REFUSES(layout.unit = 0);
    REFUSES(layout.unit = 3);
    REFUSES(layout.free_threaded = 2);
    REFUSES(layout.by_offsets = 2);
    REFUSES(layout.pad[0] = 1);
    REFUSES(version[0] = '\n');
    memset(p.version, 'x', sizeof(p.version));
    CHECK(python_check(&p, sizeof(p)) < 0);
}

/* Whatever bytes change: no reply that is not sound, and none that is not one. */
TEST(crafted_interpreters_do_no_harm)
{
    AUTO_FREE struct crafted *bad = malloc(sizeof(*bad));
    u64 seed = 1;
    for (unsigned i = 0; i < 400; i++) {
        AUTO_BUF struct buf b = {0};
        AUTO_BUF struct buf out = {0};
        struct names v;
        CRAFT(i % CRAFTED_VERSIONS, i % 3);
        *bad = *c;
        for (unsigned k = 0; k < 1 + i % 32; k++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            bad->bytes[CRAFTED_MODULE + (seed >> 40) % (c->top - CRAFTED_MODULE)] = (u8)(seed >> 32);
        }
        const u64 words[] = {XP_PYTHON_WORD(c->thread[0].code),
                             XP_MORE_WORD(crafted_cookie(c, c->thread[0].code), 12),
                             XP_PYTHON_WORD(c->thread[1].code),
                             XP_MORE_WORD(crafted_cookie(bad, c->thread[1].code), 16),
                             XP_PYTHON_WORD(seed),
                             seed};
        attach(bad, &b);
        CHECK_EQ(names_of(bad, &a, words, 6, &out), 0);
        CHECK_EQ(names_view(out.data, out.len, 3, &v), 0);
    }
}
