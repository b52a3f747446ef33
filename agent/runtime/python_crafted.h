/* A process with a CPython, crafted for tests: bytes whose offsets are its addresses, and its mappings. It has a module
 * with the interpreter and two threads, each of which has a frame of its own code object below an outer one.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CRAFTED_THREADS 2
#define CRAFTED_CODE    20 /* bytes */
#define CRAFTED_FIRST   10 /* the first line of code */

enum crafted_libc { CRAFTED_GLIBC, CRAFTED_GLIBC_BLOCK, CRAFTED_MUSL };

/* Numbers of a version. Those of 3.13 and later are made up. */
struct crafted_version {
    const char *marker; /* a symbol that tells the version; Py_Version has the one below */
    u32 hex;
    u16 head, threads, next; /* _PyRuntimeState, PyInterpreterState */
    u16 thread, frame, cframe, cframe_frame, cframe_back;
    u16 frame_code, frame_back, frame_position, frame_owner;
    u16 code_names, code_first, code_start, code_copies;
    u16 header, ascii; /* sizes of PyObject and PyASCIIObject */
    u8 kind_shift;
    u8 owner; /* of the outermost frame */
};

#define CRAFTED_VERSIONS 9
enum {
    CRAFTED_3_8,
    CRAFTED_3_9,
    CRAFTED_3_10,
    CRAFTED_3_11,
    CRAFTED_3_12,
    CRAFTED_3_13,
    CRAFTED_3_14T,
    CRAFTED_3_15A,
    CRAFTED_3_15
};
static const struct crafted_version CRAFTED[CRAFTED_VERSIONS] = {
    {"PyCode_NewWithPosOnlyArgs", 0x03080000, 32, 8, 0, 176, 24, 0, 0, 0, 32, 24, 104, 0, 104, 40, 0, 0, 16, 48, 2, 0},
    {"PyObject_CallNoArgs", 0x03090000, 32, 8, 0, 176, 24, 0, 0, 0, 32, 24, 104, 0, 104, 40, 0, 0, 16, 48, 2, 0},
    {"PyIter_Send", 0x030a0000, 32, 8, 0, 176, 24, 48, 0, 8, 32, 24, 96, 0, 104, 40, 0, 0, 16, 48, 2, 0},
    {"Py_Version", 0x030b02f0, 40, 16, 0, 152, 0, 56, 8, 16, 32, 48, 56, 68, 112, 72, 184, 0, 16, 48, 2, 1},
    {"Py_Version", 0x030c01f0, 40, 72, 0, 136, 0, 56, 0, 8, 0, 8, 56, 70, 112, 68, 192, 0, 16, 40, 2, 3},
    {"Py_Version", 0x030d00c2, 648, 200, 208, 144, 64, 0, 0, 0, 16, 24, 32, 41, 120, 64, 192, 0, 16, 40, 2, 3},
    {"Py_Version", 0x030e03f0, 656, 216, 200, 160, 80, 0, 0, 0, 8, 0, 48, 62, 128, 80, 224, 216, 32, 56, 8, 4},
    {"Py_Version", 0x030f00a5, 656, 216, 200, 168, 80, 0, 0, 0, 8, 0, 48, 62, 128, 80, 208, 0, 16, 40, 2, 3},
    {"Py_Version", 0x030f00f0, 656, 216, 200, 176, 80, 0, 0, 0, 8, 0, 48, 62, 128, 80, 208, 0, 16, 40, 2, 3}};

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    const struct crafted_version *v;
    enum crafted_libc libc;
    u32 top; /* of what was given out */
    u32 nsymbols;
    u32 runtime, version, code_type, str_type, bytes_type;
    u32 interpreter;
    struct {
        u32 tls, state, frame, code, name;
    } thread[CRAFTED_THREADS];
};

#include "runtime/crafted_bytes.h"

static inline bool crafted_is_old(const struct crafted *c) /* frames are objects */
{
    return c->v->hex < 0x030b0000;
}

/* ---- Objects */

static inline u32 crafted_object(struct crafted *c, u32 type, u32 size)
{
    u32 at = crafted_alloc(c, size);
    crafted_put(c, at + c->v->header - 8, type, 8);
    return at;
}

static inline u32 crafted_bytes(struct crafted *c, const char *s, u32 n)
{
    u32 at = crafted_object(c, c->bytes_type, c->v->header + 17 + n);
    crafted_put(c, at + c->v->header, n, 8);
    memcpy(c->bytes + at + c->v->header + 16, s, n);
    return at;
}

/* `kind`: bytes of each of the n characters. */
static inline u32 crafted_str(struct crafted *c, const void *s, u32 n, u32 kind, bool ascii)
{
    u32 data = ascii ? c->v->ascii : c->v->ascii == 48 ? 72 : c->v->ascii + 16u;
    u32 at = crafted_object(c, c->str_type, data + n * kind);
    crafted_put(c, at + c->v->header, n, 8);
    crafted_put(c, at + c->v->header + 16, 1 | (kind | 8 | (ascii ? 16 : 0)) << c->v->kind_shift, 4);
    memcpy(c->bytes + at + data, s, (size_t)n * kind);
    return at;
}

static inline u32 crafted_ascii(struct crafted *c, const char *s)
{
    return crafted_str(c, s, (u32)strlen(s), 1, true);
}

/* Lines: 10 from byte 0 on; 11 from 4 on; none from 8 on; 111 from 12 on; 108 from 16 on. Up to 3.9 there is always
 * one, and one pair goes as far as 127 lines. */
static inline u32 crafted_lines(struct crafted *c)
{
    static const char pairs[] = {4, 1, 8, 100, 4, (char)-3};
    static const char ranges[] = {4, 0, 4, 1, 4, (char)-128, 4, 100, 4, (char)-3};
    static const char locations[] = {(char)0x81, 0, (char)0xd9, 0, 0, (char)0xf9, (char)0xf1,
                                     0x48,       3, 0,          1, 2, (char)0xe9, 7};
    if (c->v->hex < 0x030a0000)
        return crafted_bytes(c, pairs, sizeof(pairs));
    return crafted_is_old(c) ? crafted_bytes(c, ranges, sizeof(ranges))
                             : crafted_bytes(c, locations, sizeof(locations));
}

/* `name`: that of the function; before 3.11 without that of its class. */
static inline u32 crafted_code(struct crafted *c, u32 file, u32 name)
{
    u32 at = crafted_object(c, c->code_type, 256 + CRAFTED_CODE), names = at + c->v->code_names;
    crafted_put(c, at + c->v->code_first, CRAFTED_FIRST, 4);
    crafted_put(c, names, file, 8);
    crafted_put(c, names + 8, crafted_is_old(c) ? name : crafted_ascii(c, "plain"), 8);
    if (!crafted_is_old(c))
        crafted_put(c, names + 16, name, 8);
    crafted_put(c, names + (crafted_is_old(c) ? 16 : 24), crafted_lines(c), 8);
    if (crafted_is_old(c)) {
        static const char zeros[CRAFTED_CODE];
        crafted_put(c, at + 48, crafted_bytes(c, zeros, CRAFTED_CODE), 8);
    } else {
        crafted_put(c, at + c->v->header, CRAFTED_CODE / 2, 8);
    }
    return at;
}

static inline u32 crafted_cookie(const struct crafted *c, u32 code)
{
    u64 words[XP_PYTHON_NAMES] = {0}, mark = 0, head[3], tail[2], text = c->v->hex < 0x030c0000 ? c->v->header : 0;
    memcpy(words, c->bytes + code + c->v->code_names, crafted_is_old(c) ? 24 : 32);
    if (text && words[0] >= CRAFTED_SIZE - 4096)
        return 1; /* tests put anything there */
    if (text) {
        memcpy(head, c->bytes + words[0] + text, sizeof(head));
        u64 at = words[0] + text + XP_PYTHON_TAIL(head);
        if (at >= CRAFTED_SIZE - sizeof(tail))
            return 1;
        memcpy(tail, c->bytes + at, sizeof(tail));
        mark = XP_PYTHON_MARK(tail);
    } else {
        memcpy(&mark, c->bytes + code + c->v->code_names - XP_PYTHON_VERSION, 4);
    }
    return XP_PYTHON_COOKIE(words, mark);
}

/* ---- Threads */

static inline u32 crafted_frame(struct crafted *c, u32 code, u32 back)
{
    u32 at = crafted_alloc(c, 128);
    crafted_put(c, at + c->v->frame_code, code | (c->v->hex >= 0x030e0000), 8);
    crafted_put(c, at + c->v->frame_back, back, 8);
    return at;
}

/* What the C library has of a thread: key 3 of glibc, key 35 of glibc, key 0 of musl. */
static inline u32 crafted_tls(struct crafted *c, u32 state)
{
    u32 at = crafted_alloc(c, 0x900), block = crafted_alloc(c, 512);
    crafted_put(c, at + 0x10, at, 8);
    if (c->libc == CRAFTED_GLIBC) {
        crafted_put(c, at + 0x318 + 16 * 3, state, 8);
    } else if (c->libc == CRAFTED_GLIBC_BLOCK) {
        crafted_put(c, at + 0x510 + 8, block, 8);
        crafted_put(c, block + 16 * 3 + 8, state, 8);
    } else {
        crafted_put(c, at + 0x80, block, 8);
        crafted_put(c, block, state, 8);
    }
    return at;
}

static inline void crafted_thread(struct crafted *c, unsigned i, u32 next)
{
    static const char *const names[] = {"Class.first", "outer.<locals>.second"};
    u32 state = c->thread[i].state = crafted_alloc(c, 256), cframe = crafted_alloc(c, 32);
    u32 name = c->thread[i].name = crafted_ascii(c, names[i]);
    u32 code = c->thread[i].code = crafted_code(c, crafted_ascii(c, "dir/file.py"), name);
    u32 outer = crafted_frame(c, code, 0), frame = c->thread[i].frame = crafted_frame(c, code, outer);
    crafted_put(c, state + 8, next, 8);
    crafted_put(c, state + 16, c->interpreter, 8);
    c->thread[i].tls = crafted_tls(c, state);
    crafted_put(c, state + c->v->thread, c->thread[i].tls, 8);
    crafted_put(c, outer + c->v->frame_owner, c->v->owner, c->v->owner ? 1 : 0);
    if (c->v->frame)
        crafted_put(c, state + c->v->frame, frame, 8);
    if (c->v->cframe)
        crafted_put(c, state + c->v->cframe, cframe, 8);
    if (!c->v->frame)
        crafted_put(c, cframe + c->v->cframe_frame, frame, 8);
}

/* ---- All of it */

/* _Py_DebugOffsets: groups of words, the first of which is a size that nobody reads, but that of objects. The numbers
 * of words before the groups of thread states, frames, code objects and objects; and of the thread's ID. */
static inline void crafted_offsets(struct crafted *c)
{
    static const u8 groups[][5] = {
        {19, 28, 34, 44, 24}, {22, 31, 39, 50, 27}, {22, 38, 46, 57, 29}, {22, 39, 47, 58, 30}};
    const struct crafted_version *v = c->v;
    const u8 *group = groups[v - CRAFTED - CRAFTED_3_13];
    u64 at = c->runtime, state = at + 8 * group[0], frame = at + 8 * group[1], code = at + 8 * group[2];
    const u64 states[] = {256, 0, 8, 16, v->frame};
    const u64 frames[] = {88, v->frame_back, v->frame_code, v->frame_position, 80, v->frame_owner};
    const u64 codes[] = {
        256, v->code_names, v->code_names + 8u, v->code_names + 16u, v->code_names + 24u, v->code_first, 0, 0,
        0,   v->code_start};
    memcpy(c->bytes + at, "xdebugpy", 8);
    crafted_put(c, at + 8, v->hex, 8);
    crafted_put(c, at + 16, v->header == 32, 8);
    crafted_put(c, at + 40, v->head, 8);
    crafted_put(c, at + 64, v->next, 8);
    crafted_put(c, at + 72, v->threads, 8);
    memcpy(c->bytes + state, states, sizeof(states));
    memcpy(c->bytes + frame, frames, sizeof(frames));
    memcpy(c->bytes + code, codes, sizeof(codes));
    crafted_put(c, at + 8 * group[4], v->thread, 8);
    crafted_put(c, code + 80, v->code_copies, v->hex >= 0x030e0000 ? 8 : 0);
    crafted_put(c, at + 8 * group[3], v->header, 8);
    crafted_put(c, at + 8 * group[3] + 8, v->header - 8, 8);
}

static inline u32 crafted_export(struct crafted *c, const char *name, u32 size)
{
    u32 at = crafted_alloc(c, size);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, name, at);
    return at;
}

static inline void crafted_make(struct crafted *c, unsigned version, enum crafted_libc libc)
{
    *c = (struct crafted){.v = &CRAFTED[version], .libc = libc, .top = 0x2000};
    crafted_module(c->bytes, CRAFTED_MODULE);
    c->runtime = crafted_export(c, "_PyRuntime", 1024);
    c->code_type = crafted_export(c, "PyCode_Type", 16);
    c->str_type = crafted_export(c, "PyUnicode_Type", 16);
    c->bytes_type = crafted_export(c, "PyBytes_Type", 16);
    c->version = crafted_export(c, c->v->marker, 16);
    crafted_put(c, c->version, c->v->hex, 4);
    if (c->v->hex >= 0x030d0000)
        crafted_offsets(c);
    c->interpreter = crafted_alloc(c, 256);
    crafted_put(c, c->runtime + c->v->head, c->interpreter, 8);
    for (unsigned i = 0; i < CRAFTED_THREADS; i++)
        crafted_thread(c, i, i ? c->thread[i - 1].state : 0);
    crafted_put(c, c->interpreter + c->v->threads, c->thread[CRAFTED_THREADS - 1].state, 8);
}
