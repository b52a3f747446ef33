/* The environment of tests of code of HotSpot: a page of memory that has a code heap with three blobs, and a stack. */
#pragma once
#include "cfi/unwind_fixture.h"

#define HEAP     WORLD_MEMORY
#define STACK    (HEAP + 0xc00)
#define SEGMENTS (HEAP + 0xf00)
#define NAMES    (HEAP + 0xf40)
#define METHODS  (HEAP + 0xfa0) /* a Method, whose ConstMethod is at CONST */
#define CONST    (HEAP + 0xfb0)
#define SEGMENT  128
#define HEADER   16
#define ID       77
#define BYTECODE 48           /* sizeof(ConstMethod) */
#define CLASS    (CONST + 16) /* also its ConstantPool */
#define SYMBOL   (CONST + 40) /* its name */

enum { COMPILED = HEAP, INTERPRETER = HEAP + 4 * SEGMENT, STUB = HEAP + 8 * SEGMENT }; /* their first segments */
#define BLOB(first) ((first) + HEADER)
#define CODE(first) (BLOB(first) + 0x80)

static const struct xp_jvm LAYOUT = {
    .low = HEAP,
    .high = HEAP + 24 * SEGMENT,
    .heap = {{.low = HEAP, .high = HEAP + 24 * SEGMENT, .segmap = SEGMENTS, .shift = 7}},
    .block_header = HEADER,
    .blob_name = 8,
    .blob_frame_size = 28,
    .blob_code = 36,
    .blob_frame_complete = 54,
    .frame_complete_bytes = 2,
    .code_is_offset = 1,
    .deopt_is_offset = 1,
    .method_id = 64,
    .method_orig_pc = 68,
    .method_deopt = 72,
    .bytecodes = BYTECODE,
    .const_pool = 8,
    .pool_holder = 8,
    .klass_name = 16,
    .symbol_hash = 2,
    .bcp_slot = 8,
};

struct machine {
    struct world *w;
    struct xp_vma vmas[2];
    struct xp_machine machine;
    u64 root; /* native code: the outermost frame, called from root - 1 on */
};

static inline u8 *at(struct machine *m, u64 address)
{
    return (u8 *)m->w->memory + (address - WORLD_MEMORY);
}

static inline void set32(struct machine *m, u64 address, u32 v)
{
    memcpy(at(m, address), &v, sizeof(v));
}

static inline void make_blob(struct machine *m, u64 first, const char *name, u32 words, u64 names)
{
    u64 blob = BLOB(first);
    memcpy(at(m, names), name, strlen(name) + 1);
    world_set(m->w, blob + 8, names);
    set32(m, blob + 28, words);
    set32(m, blob + 36, 0x80);
    *(u16 *)at(m, blob + 54) = 16; /* the frame is complete from here on */
    set32(m, blob + 64, ID);
    set32(m, blob + 68, 8);
    set32(m, blob + 72, 0xf0);
    for (u32 i = 0; i < 4; i++) /* four segments each */
        *at(m, SEGMENTS + (first - HEAP) / SEGMENT + i) = (u8)i;
    for (u32 i = 5; i < 0x80; i += 8) /* calls everywhere: e8 and four bytes */
        *at(m, CODE(first) + i - 2) = 0xe8;
}

static inline void machine_free(struct machine **m)
{
    if (*m)
        world_free(&(*m)->w);
    free(*m);
}
#define AUTO_MACHINE CLEANUP(machine_free) struct machine *

/* All native code is calls. */
static inline int read_machine(void *ctx, void *to, u32 len, u64 from)
{
    if (from < WORLD_TEXT || from >= WORLD_TEXT + 0x1000)
        return world_read(ctx, to, len, from);
    memset(to, 0xe8, len);
    return 0;
}

static inline struct machine *machine_new(void)
{
    struct machine *m = calloc(1, sizeof(*m));
    m->w = world_new();
    m->machine = (struct xp_machine){.kind = XP_MACHINE_JVM, .jvm = LAYOUT};
    memset(at(m, SEGMENTS), 0xff, 24);
    make_blob(m, COMPILED, "nmethod", 4, NAMES);
    make_blob(m, INTERPRETER, "Interpreter", 0, NAMES + 16);
    make_blob(m, STUB, "StubRoutines", 0, NAMES + 32);
    world_set(m->w, METHODS, CONST);
    world_set(m->w, CONST + 8, CLASS);
    world_set(m->w, CLASS + 8, CLASS);
    world_set(m->w, CLASS + 16, SYMBOL);
    world_set(m->w, SYMBOL, 0x12345678);
    m->vmas[0] = m->w->vma;
    m->vmas[1] = (struct xp_vma){.start = HEAP, .end = HEAP + 24 * SEGMENT, .bias = HEAP, .file.state = XP_FILE_JVM};
    m->w->space.vmas = m->vmas;
    m->w->space.nvmas = 2;
    m->w->space.machine = &m->machine;
    m->w->space.read = read_machine;
    m->root = world_add(m->w, (struct xp_rule){.kind = XP_CFA_END}) + 4;
    return m;
}

/* A return address into a blob: behind one of its calls. */
static inline u64 ret(u64 first, u32 n)
{
    return CODE(first) + 8 * n;
}

static inline bool java_is(const struct machine *m, u32 word, u32 form, u64 address, u32 position, bool exact)
{
    const u64 *w = m->w->state->words + word;
    return word + 1 < m->w->state->sample.nuser && XP_WORD_KIND(w[0]) == XP_WORD_JAVA && XP_JAVA_FORM(w[0]) == form &&
           XP_JAVA_ADDRESS(w[0]) == address && XP_WORD_KIND(w[1]) == XP_WORD_MORE &&
           XP_MORE_POSITION(w[1]) == position && !(w[0] & XP_WORD_EXACT) == !exact;
}

/* A frame of four words whose caller is compiled, too; a stub called that, which has a frame pointer, and was called by
 * native code. Returns the number of words of the stack. */
static inline u32 unwind(struct machine *m, u64 ip, u64 sp)
{
    u64 leaf = STACK + 8 * 16, caller = leaf + 8 * 4;
    world_set(m->w, caller - 8, ret(COMPILED, 5));
    world_set(m->w, caller + 8 * 2, caller + 8 * 6); /* the stub's rbp */
    world_set(m->w, caller + 8 * 3, ret(STUB, 4));
    world_set(m->w, caller + 8 * 6, 0x1234);
    world_set(m->w, caller + 8 * 7, m->root);
    return world_unwind(m->w, ip, sp, 0x99);
}

static inline bool callers_are_right(const struct machine *m, u32 word)
{
    const struct xp_state *s = m->w->state;
    return s->cause == XP_CAUSE_END && s->sample.nuser == word + 5 && s->bp == 0x1234 &&
           java_is(m, word, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false) &&
           java_is(m, word + 2, XP_JAVA_STUB, BLOB(STUB), 0x80 + 32, false);
}

/* The interpreter's frame, whose caller's rsp is beyond its own end: i2c adapters move it. */
static inline u64 interpreted(struct machine *m, u64 bcp)
{
    u64 fp = STACK + 8 * 10;
    world_set(m->w, fp, 0x99);
    world_set(m->w, fp + 8, ret(COMPILED, 5));
    world_set(m->w, fp - 8, STACK + 8 * 20);
    world_set(m->w, fp - 8 * 3, METHODS);
    world_set(m->w, fp - 8 * 8, bcp);
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    return fp;
}
