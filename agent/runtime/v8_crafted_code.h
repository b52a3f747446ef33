/* Machine code of a crafted V8 (runtime/v8_crafted.h), for tests: of the baseline compiler, and optimised. */
#pragma once
#include "runtime/v8_crafted.h"

struct crafted_code_layout {
    u16 type, head; /* of what instructions are in, and its bytes before them */
    u16 code;       /* where that refers to its Code; 0: it is the Code */
    u16 data, places, size;
    u16 literals, inlining, shared; /* indexes */
    bool wrapped;
};
static const struct crafted_code_layout CRAFTED_CODE[CRAFTED_VERSIONS] = {{400, 128, 0, 16, 24, 40, 2, 7, 6, false},
                                                                          {401, 32, 8, 8, 16, 52, 2, 7, 6, false},
                                                                          {402, 32, 8, 8, 16, 56, 3, 8, 7, true}};

static inline const struct crafted_code_layout *crafted_code_layout(const struct crafted *c)
{
    return &CRAFTED_CODE[c->v - CRAFTED];
}

#define CRAFTED_BYTECODES 4
/* The bytes of a bytecode, for operands of 1, 2 and 4 bytes. Numbers 0 and 1 widen those of the next one. */
static const u8 CRAFTED_SIZES[3 * CRAFTED_BYTECODES] = {1, 1, 4, 2, 1, 1, 7, 3, 1, 1, 13, 5};

/* Call it once, before the engine is looked at. */
static inline void crafted_code_exports(struct crafted *c)
{
    const struct crafted_code_layout *l = crafted_code_layout(c);
    if (l->code) {
        crafted_export(c, "type_InstructionStream__INSTRUCTION_STREAM_TYPE", l->type);
        crafted_export(c, "class_Code__instruction_size__int", l->size);
    } else {
        crafted_export(c, "type_Code__CODE_TYPE", l->type);
        crafted_export(c, "class_Code__instruction_start__uintptr_t", l->head);
    }
    if (l->wrapped) {
        crafted_export(c, "DeoptimizationDataLiteralArrayIndex", l->literals);
        crafted_export(c, "DeoptimizationDataInliningPositionsIndex", l->inlining);
        crafted_export(c, "DeoptimizationDataWrappedSharedFunctionInfoIndex", l->shared);
    }
}

static inline void crafted_sizes_export(struct crafted *c)
{
    Elf64_Sym sizes;
    u32 at = crafted_alloc(c, sizeof(CRAFTED_SIZES));
    memcpy(c->bytes + at, CRAFTED_SIZES, sizeof(CRAFTED_SIZES));
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols,
                          "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", at);
    u8 *symbol = c->bytes + CRAFTED_MODULE + CRAFTED_MODULE_SYMTAB + c->nsymbols * sizeof(sizes);
    memcpy(&sizes, symbol, sizeof(sizes));
    sizes.st_size = sizeof(CRAFTED_SIZES);
    memcpy(symbol, &sizes, sizeof(sizes));
}

/* Code of `size` bytes. `data`: bytecode, or what optimised code has. Returns its first instruction. */
static inline u32 crafted_code(struct crafted *c, u32 size, u32 data, u32 places)
{
    const struct crafted_code_layout *l = crafted_code_layout(c);
    u32 map = crafted_map(c, l->type), code = l->code ? crafted_object(c, 410, 64) : 0;
    u32 start = (crafted_alloc(c, l->head + size + 64) + l->head + 31) & ~31u, head = start - l->head;
    crafted_put(c, head, crafted_pointer(map), 8);
    if (l->code)
        crafted_put(c, head + l->code, crafted_pointer(code), 8);
    code = code ? code : head;
    crafted_put(c, code + l->data, crafted_pointer(data), 8);
    crafted_put(c, code + l->places, crafted_pointer(places), 8);
    crafted_put(c, code + l->size, size, 4);
    return start;
}

static inline u32 crafted_bytes(struct crafted *c, const void *bytes, u32 n)
{
    u32 at = crafted_object(c, 150, 16 + n);
    crafted_put(c, at + 8, crafted_number((s32)n), 8);
    memcpy(c->bytes + at + 16, bytes, n);
    return at;
}

/* ---- Optimised code */

struct crafted_call {
    u32 at;       /* in the code; unused for inlined ones */
    u32 place;    /* in the source */
    s32 inlining; /* the inlined call that it is in; -1: none */
    u32 function; /* of an inlined one */
};

static inline u64 crafted_place(const struct crafted_call *call)
{
    return (u64)(call->inlining + 1) << 31 | 2 * (1 + (u64)call->place);
}

static inline u32 crafted_calls(struct crafted *c, const struct crafted_call *calls, u32 n)
{
    u8 bytes[256];
    u32 len = 0;
    s64 before = -1;
    u64 place = 0;
    for (u32 i = 0; i < n; i++) {
        s64 step = calls[i].at - before;
        len += crafted_base128(bytes + len, c->v->bits ? (u64)step << 2 : crafted_zigzag(step));
        len += crafted_base128(bytes + len, crafted_zigzag((s64)(crafted_place(&calls[i]) - place)));
        before = calls[i].at;
        place = crafted_place(&calls[i]);
    }
    return crafted_bytes(c, bytes, len);
}

static inline u32 crafted_inlined(struct crafted *c, const struct crafted_call *calls, u32 n)
{
    u8 bytes[16 * 16] = {0};
    for (u32 i = 0; i < n; i++) {
        u64 place = crafted_place(&calls[i]);
        memcpy(bytes + 16 * i, &place, 8);
        memcpy(bytes + 16 * i + 8, &calls[i].function, 4);
    }
    return crafted_bytes(c, bytes, 16 * n);
}

/* What code of a function has. `literals`: functions; every other one is a weak reference. */
static inline u32 crafted_deopt(struct crafted *c, u32 shared, u32 inlined, const u32 *literals, u32 n)
{
    const struct crafted_code_layout *l = crafted_code_layout(c);
    u32 at = crafted_object(c, 411, 16 + 16 * 8), list = crafted_object(c, 412, 16 + 8 * n);
    for (u32 i = 0; i < n; i++)
        crafted_put(c, list + 16 + 8 * i, crafted_pointer(literals[i]) | (i & 1 ? 2 : 0), 8);
    if (l->wrapped) {
        u32 wrapper = crafted_object(c, 413, 16);
        crafted_put(c, wrapper + 8, crafted_pointer(shared), 8);
        shared = wrapper;
    }
    crafted_put(c, at + 16 + 8u * l->literals, crafted_pointer(list), 8);
    crafted_put(c, at + 16 + 8u * l->inlining, crafted_pointer(inlined), 8);
    crafted_put(c, at + 16 + 8u * l->shared, crafted_pointer(shared), 8);
    return at;
}
