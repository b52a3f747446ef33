/* The environment of tests of frames of JavaScript: a page of memory with functions, what they share, arrays of
 * bytecode, a stack, and some generated code. */
#pragma once
#include "cfi/unwind_fixture.h"

#define MAP_OF_ARRAYS  WORLD_MEMORY
#define MAP_OF_OTHERS  (WORLD_MEMORY + 0x20)
#define CONTEXT        (WORLD_MEMORY + 0x40)
#define ARRAY(n)       (WORLD_MEMORY + 0x60 + 0x20 * (n))
#define FUNCTION(n)    (WORLD_MEMORY + 0x100 + 0x40 * (n))
#define SHARED(n)      (WORLD_MEMORY + 0x300 + 0x40 * (n))
#define GENERATED      (WORLD_MEMORY + 0x500) /* code */
#define FRAME(n)       (WORLD_MEMORY + 0x800 + 0x80 * (n))
#define STACK          (FRAME(0) - 0x40)
#define NODE           0x600000ull /* the file with V8: the same code */
#define IN_NODE(at)    ((at)-WORLD_TEXT + NODE)
#define BUILTIN        IN_NODE(j->bare)
#define OBJECT(at)     ((at) + XP_V8_TAG)
#define NUMBER(v)      ((u64)(v) << 32)
#define POSITION(v)    NUMBER((v) + V8.array_data - XP_V8_TAG)
#define NOT_A_POSITION (~0u)

static const struct xp_v8 V8 = {.frame_function = -16,
                                .frame_context = -8,
                                .frame_array = -32,
                                .frame_position = -40,
                                .function_shared = 24,
                                .shared_script = 32,
                                .map_type = 12,
                                .array_type = 190,
                                .array_data = 56};

enum { PLAIN, ANONYMOUS, NODE_FILE, MAPPINGS };
struct js {
    struct world *w;
    struct xp_machine machine;
    struct xp_vma vmas[MAPPINGS];
    u64 root, bare, c; /* code: the outermost frame, one without rows, and one with them */
    u32 n;             /* frames so far */
};

static inline void js_free(struct js **j)
{
    if (*j)
        world_free(&(*j)->w);
    free(*j);
}
#define AUTO_JS CLEANUP(js_free) struct js *

static inline void add_function(struct js *j, u32 i)
{
    world_set(j->w, ARRAY(i), OBJECT(MAP_OF_ARRAYS));
    world_set(j->w, FUNCTION(i) + V8.function_shared, OBJECT(SHARED(i)));
    world_set(j->w, SHARED(i) + V8.shared_script, OBJECT(SHARED(7)));
    world_set(j->w, SHARED(i) + V8.shared_script + 8, 0x1234000000ull * (i + 1));
    world_set(j->w, SHARED(i) + V8.shared_script + 16, NUMBER(i + 1));
}

static inline struct js *js_new(void)
{
    struct js *j = calloc(1, sizeof(*j));
    struct world *w = j->w = world_new();
    j->machine = (struct xp_machine){.kind = XP_MACHINE_V8, .v8 = V8};
    j->vmas[PLAIN] = w->vma;
    j->vmas[ANONYMOUS] = (struct xp_vma){.start = GENERATED, .end = GENERATED + 0x100, .file.state = XP_FILE_FP};
    j->vmas[NODE_FILE] = (struct xp_vma){.start = NODE, .end = NODE + 0x1000, .bias = NODE, .file = w->vma.file};
    j->vmas[NODE_FILE].file.id++;
    j->vmas[NODE_FILE].file.flags = XP_TABLE_FP_OK | XP_TABLE_V8;
    w->space.machine = &j->machine;
    w->space.vmas = j->vmas;
    w->space.nvmas = MAPPINGS;
    j->root = world_add(w, (struct xp_rule){.kind = XP_CFA_END});
    j->bare = world_add(w, (struct xp_rule){.kind = XP_CFA_NONE});
    j->c = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 16});
    world_set(w, MAP_OF_ARRAYS + 8, NUMBER(V8.array_type));
    world_set(w, MAP_OF_OTHERS + 8, NUMBER(V8.array_type + 1));
    for (u32 i = 0; i < 4; i++)
        add_function(j, i);
    return j;
}

/* Adds a frame that returns to `caller`, the innermost one first: of function number n, at a position. */
static inline void add_frame(struct js *j, u32 n, u32 position, u64 caller)
{
    u64 at = FRAME(j->n++);
    world_set(j->w, at - 40, POSITION(position));
    world_set(j->w, at - 32, OBJECT(ARRAY(n)));
    world_set(j->w, at - 16, OBJECT(FUNCTION(n)));
    world_set(j->w, at - 8, OBJECT(CONTEXT));
    world_set(j->w, at, FRAME(j->n));
    world_set(j->w, at + 8, caller);
}

static inline u32 js_unwind(struct js *j, u64 ip)
{
    return world_unwind(j->w, ip, STACK, FRAME(0));
}

static inline u64 word(const struct js *j, u32 i)
{
    return j->w->state->words[i];
}

static inline bool frame_is(const struct js *j, u32 i, enum xp_v8_form form, u32 n, u64 more)
{
    return i + 1 < j->w->state->sample.nuser && XP_WORD_KIND(word(j, i)) == XP_WORD_V8 &&
           XP_V8_FORM(word(j, i)) == form && XP_WORD_ADDR(word(j, i)) == SHARED(n) && word(j, i + 1) == more;
}

static inline u32 cookie_of(const struct js *j, u32 n)
{
    u64 w[3];
    world_read(j->w, w, sizeof(w), SHARED(n) + V8.shared_script);
    return XP_V8_COOKIE(w);
}

/* Whether words i and i + 1 are a frame of function number n. */
static inline bool js_is(const struct js *j, u32 i, u32 n, u32 position)
{
    bool plain = position == NOT_A_POSITION;
    return frame_is(j, i, plain ? XP_V8_PLAIN : XP_V8_BYTECODE, n, XP_MORE_WORD(cookie_of(j, n), plain ? 0 : position));
}

/* The same of one that runs as machine code. */
static inline bool compiled_is(const struct js *j, u32 i, u32 n, u64 pc)
{
    return frame_is(j, i, XP_V8_COMPILED, n, XP_MORE_WORD(XP_V8_MACHINE_COOKIE(cookie_of(j, n), pc), pc));
}

static inline bool is_exact(const struct js *j, u32 i)
{
    return word(j, i) & XP_WORD_EXACT;
}

static inline bool native_is(const struct js *j, u32 i, u64 ip)
{
    u64 w = word(j, i);
    if (i >= j->w->state->sample.nuser)
        return false;
    if (ip < WORLD_TEXT)
        return XP_WORD_KIND(w) == XP_WORD_ANON && XP_WORD_ADDR(w) == ip;
    return XP_WORD_KIND(w) >= XP_WORD_CFI && XP_WORD_KIND(w) <= XP_WORD_SYNTH && XP_WORD_OFFSET(w) == (ip & 0xfff) &&
           XP_WORD_FILE(w) == (ip >= NODE ? XP_FILE_FIRST + 1 : XP_FILE_FIRST);
}

/* One frame, in generated code, which the root calls. */
static inline struct js *one_frame(void)
{
    struct js *j = js_new();
    add_frame(j, 1, 10, j->root + 2);
    return j;
}

static inline bool stays_native(struct js *j, u64 ip)
{
    return js_unwind(j, ip) == 2 && native_is(j, 0, ip) && native_is(j, 1, j->root + 2);
}
