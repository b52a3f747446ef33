/* A process with a Java virtual machine, crafted for tests: bytes whose offsets are its addresses, and its mappings. It
 * has a module that exports tables as HotSpot does, one heap with code, and some methods. Structures have the fields
 * that are read and no others; their offsets are made up.
 */
#pragma once
#include "runtime/hotspot_crafted_tables.h"

/* ---- Methods */

/* A Symbol: a number at 0, 2 bytes of length at 4, text at 6. */
static inline u32 crafted_name(struct crafted *c, const char *s)
{
    u32 at = crafted_alloc(c, 6 + (u32)strlen(s));
    crafted_put(c, at, at * 0x9e3779b1u, 4);
    crafted_put(c, at + 4, strlen(s), 2);
    memcpy(c->bytes + at + 6, s, strlen(s));
    return at;
}

/* Method: _constMethod at 8. ConstMethod (48): pool 8, flags 28, code size 32, name 34, signature 36. ConstantPool
 * (72): holder 24, file 54, length 60. Class: name 24, pool 32, file 54. `code` bytes of code, then the lines. */
static inline u32 crafted_method(struct crafted *c, const char *klass, const char *name, const char *signature,
                                 u32 code, const char *lines)
{
    u32 method = crafted_alloc(c, 16), cm = crafted_alloc(c, 48 + code + (u32)strlen(lines) + 1);
    u32 pool = crafted_alloc(c, 72 + 8 * 4), holder = crafted_alloc(c, 64);
    crafted_put(c, method + 8, cm, 8);
    crafted_put(c, cm + 8, pool, 8);
    crafted_put(c, cm + 28, 1, 2);
    crafted_put(c, cm + 32, code, 2);
    crafted_put(c, cm + 34, 1, 2);
    crafted_put(c, cm + 36, 2, 2);
    memcpy(c->bytes + cm + 48 + code, lines, strlen(lines) + 1);
    crafted_put(c, pool + 24, holder, 8);
    crafted_put(c, pool + 54, 3, 2);
    crafted_put(c, pool + 60, 4, 4);
    crafted_put(c, pool + 72 + 8, crafted_name(c, name), 8);
    crafted_put(c, pool + 72 + 16, crafted_name(c, signature), 8);
    crafted_put(c, pool + 72 + 24, crafted_name(c, "File.java"), 8);
    crafted_put(c, holder + 24, crafted_name(c, klass), 8);
    crafted_put(c, holder + 32, pool, 8);
    crafted_put(c, holder + 54, 3, 2);
    return method;
}

/* The symbol with the name of a method's class. */
static inline u64 crafted_class(const struct crafted *c, u32 method)
{
    return crafted_get(c, crafted_get(c, crafted_get(c, crafted_get(c, method + 8) + 8) + 24) + 24);
}

static inline u32 crafted_cookie(const struct crafted *c, u32 method)
{
    u64 name = crafted_class(c, method), hash = crafted_get(c, name) >> (c->age == CRAFTED_8 ? 0 : 16);
    return XP_JAVA_COOKIE(crafted_get(c, method + 8), name, hash & 0xffff);
}

/* ---- Code */

/* The header of a CodeBlob has 160 bytes; code is behind it. `segment` is where its block begins. */
static inline u32 crafted_blob(struct crafted *c, u32 segment, const char *name, u32 size)
{
    u32 block = CRAFTED_HEAP + (segment << CRAFTED_SHIFT), at = block + 16;
    crafted_put(c, block, ((16 + size) >> CRAFTED_SHIFT) + 1, 4);
    crafted_put(c, block + 8, 1, 1);
    crafted_put(c, at + 16, crafted_text(c, name), 8);
    crafted_put(c, at + 24, size, 4);
    crafted_put(c, at + 32, 8, 4);
    crafted_put(c, at + 40, c->age == CRAFTED_17 ? at + 160 : 160, c->age == CRAFTED_17 ? 8 : 4);
    for (u32 i = 0; i <= (16 + size) >> CRAFTED_SHIFT; i++)
        c->bytes[CRAFTED_SEGMAP + segment + i] = (u8)i;
    return at;
}

static inline void crafted_scopes(struct crafted *c, u32 at)
{
    u8 zero = c->age >= 20;
    const u8 numbers[] = {0, 1, 2 + 1, 0, 1, 2, 5 + 1, 0}; /* outer at bci 2; inner at bci 5, inlined at 1 */
    c->scopes = at;
    c->bytes[at] = 0xff;
    for (unsigned i = 0; i < sizeof(numbers); i++)
        c->bytes[at + 1 + i] = (u8)(numbers[i] + zero);
}

static inline void crafted_pcs(struct crafted *c, u32 at)
{
    static const u32 pcs[][2] = {{0xffffffff, 0}, {16, 5}, {32, 1}, {0x7fffffff, 0}};
    for (unsigned i = 0; i < 4; i++) {
        crafted_put(c, at + 16 * i, pcs[i][0], 4);
        crafted_put(c, at + 16 * i + 4, pcs[i][1], 4);
    }
}

static inline void crafted_nmethod(struct crafted *c)
{
    u32 at = c->nmethod = crafted_blob(c, 0, "nmethod", 320), apart = crafted_alloc(c, 128), metadata = at + 224;
    crafted_put(c, at + 72, c->outer, 8);
    crafted_put(c, at + 80, 77, 4);
    crafted_put(c, at + 84, 4, 1);
    if (c->age >= CRAFTED_23) { /* places, scopes */
        crafted_put(c, at + 128, 0, 4);
        crafted_put(c, at + 120, 64, 4);
        crafted_put(c, at + 136, apart, 8);
        crafted_put(c, at + 144, 80, 4);
        crafted_put(c, at + 48, 200, 4);
        crafted_put(c, at + 112, 24, 2);
    } else { /* scopes, places */
        crafted_put(c, at + 120, c->age == CRAFTED_17 ? at + 240 : 240, c->age == CRAFTED_17 ? 8 : 4);
        crafted_put(c, at + 128, 256, 4);
        crafted_put(c, at + 132, 320, 4);
        crafted_put(c, at + 112, 224, 4);
    }
    if (c->age >= CRAFTED_25) {
        crafted_put(c, at + 56, apart + 88, 8);
        crafted_put(c, at + 64, 8, 4);
        metadata = apart + 96;
    }
    crafted_put(c, metadata, c->outer, 8);
    crafted_put(c, metadata + 8, c->inner, 8);
    crafted_scopes(c, c->age >= CRAFTED_23 ? apart + 64 : at + 240);
    crafted_pcs(c, c->age >= CRAFTED_23 ? apart : at + 256);
}

/* A native method that calls the code of the stub, which has the barrier at its ninth byte. */
static inline void crafted_native(struct crafted *c)
{
    static const u8 leave[] = {0x48, 0x83, 0xc4, 0x40, 0x5d}, barrier[] = {0x49, 0x8b, 0xa7, 0x18, 6, 0, 0};
    u32 at = c->native = crafted_blob(c, 3, "native nmethod", 224);
    c->stub = crafted_blob(c, 5, "StubRoutines (continuation stubs)", 224);
    crafted_put(c, at + 72, c->outer, 8);
    crafted_put(c, at + 80, 78, 4);
    crafted_put(c, at + 160, 0xe8, 1);
    crafted_put(c, at + 161, c->stub + 160 - (at + 165), 4);
    memcpy(c->bytes + at + 170, leave, sizeof(leave));
    memcpy(c->bytes + c->stub + 160 + 8, barrier, sizeof(barrier));
}

/* ---- All of it */

static inline void crafted_fields_of_code(struct crafted *c)
{
    const char *m = c->age == CRAFTED_17 ? "CompiledMethod" : "nmethod";
    crafted_field(c, "CodeBlob", "_name", "const char*", 16);
    crafted_field(c, "CodeBlob", "_size", "int", 24);
    crafted_field(c, "CodeBlob", "_frame_size", "int", 28);
    crafted_field(c, "CodeBlob", "_frame_complete_offset", c->age >= CRAFTED_23 ? "int16_t" : "int", 32);
    crafted_field(c, "CodeBlob", c->age == CRAFTED_17 ? "_code_begin" : "_code_offset", "int", 40);
    crafted_field(c, "CodeBlob", "_data_offset", "int", 48);
    crafted_field(c, m, "_method", "Method*", 72);
    crafted_field(c, "nmethod", "_compile_id", "int", 80);
    crafted_field(c, "nmethod", "_comp_level", "int", 84);
    crafted_field(c, "nmethod", "_state", "signed char", 88);
    crafted_field(c, "nmethod", "_orig_pc_offset", "int", 92);
    crafted_field(c, m,
                  c->age == CRAFTED_17   ? "_deopt_handler_begin"
                  : c->age >= CRAFTED_23 ? "_deopt_handler_offset"
                                         : "_deoptimize_offset",
                  "int", 96);
    crafted_field(c, m, c->age == CRAFTED_17 ? "_scopes_data_begin" : "_scopes_data_offset", "int", 120);
    crafted_field(c, "nmethod", "_scopes_pcs_offset", "int", 128);
    if (c->age < CRAFTED_25)
        crafted_field(c, "nmethod", "_metadata_offset", c->age == CRAFTED_23 ? "u2" : "int", 112);
    if (c->age < CRAFTED_23)
        crafted_field(c, "nmethod", "_dependencies_offset", "int", 132);
    if (c->age >= CRAFTED_23) {
        crafted_field(c, "nmethod", "_immutable_data", "address", 136);
        crafted_field(c, "nmethod", "_immutable_data_size", "int", 144);
    }
    if (c->age >= CRAFTED_25) {
        crafted_field(c, "CodeBlob", "_mutable_data", "address", 56);
        crafted_field(c, "CodeBlob", "_relocation_size", "int", 64);
    }
    crafted_field(c, "PcDesc", "_pc_offset", "int", 0);
    crafted_field(c, "PcDesc", "_scope_decode_offset", "int", 4);
}

static inline void crafted_fields_of_methods(struct crafted *c)
{
    crafted_field(c, "Method", "_constMethod", "ConstMethod*", 8);
    crafted_field(c, "ConstMethod", "_constants", "ConstantPool*", 8);
    crafted_field(c, "ConstMethod", c->age >= 21 ? "_flags._flags" : "_flags", "u2", 28);
    crafted_field(c, "ConstMethod", "_code_size", "u2", 32);
    crafted_field(c, "ConstMethod", "_name_index", "u2", 34);
    crafted_field(c, "ConstMethod", "_signature_index", "u2", 36);
    crafted_field(c, "ConstantPool", "_pool_holder", "InstanceKlass*", 24);
    crafted_field(c, "ConstantPool", "_length", "int", 60);
    crafted_field(c, c->age == CRAFTED_8 ? "InstanceKlass" : "ConstantPool", "_source_file_name_index", "u2", 54);
    crafted_field(c, "InstanceKlass", "_constants", "ConstantPool*", 32);
    crafted_field(c, "Klass", "_name", "Symbol*", 24);
    crafted_field(c, "Symbol", "_length", "u2", 4);
    crafted_field(c, "Symbol", c->age == CRAFTED_8 ? "_identity_hash" : "_hash_and_refcount", "int", 0);
    crafted_field(c, "Symbol", c->age == CRAFTED_17 ? "_body[0]" : "_body", "u1", 6);
}

static inline void crafted_fields_of_heaps(struct crafted *c)
{
    u32 heap = crafted_alloc(c, 72), list = crafted_alloc(c, 16), data = crafted_alloc(c, 8);
    const u64 spaces[] = {CRAFTED_HEAP,   CRAFTED_END, CRAFTED_HEAP,   CRAFTED_HEAP + (8 << CRAFTED_SHIFT),
                          CRAFTED_SEGMAP, 0,           CRAFTED_SEGMAP, 0,
                          CRAFTED_SHIFT};
    memcpy(c->bytes + heap, spaces, sizeof(spaces));
    crafted_put(c, list, 1, 4);
    crafted_put(c, list + 8, data, 8);
    crafted_put(c, data, heap, 8);
    c->heaps = c->age == CRAFTED_8 ? crafted_static(c, "CodeCache", "_heap", heap)
                                   : crafted_static(c, "CodeCache", "_heaps", list);
    crafted_field(c, "GrowableArrayBase", "_len", "int", 0);
    crafted_field(c, "GrowableArray<int>", "_data", "int*", 8);
    crafted_field(c, "CodeHeap", "_memory", "VirtualSpace", 0);
    crafted_field(c, "CodeHeap", "_segmap", "VirtualSpace", 32);
    crafted_field(c, "CodeHeap", "_log2_segment_size", "int", 64);
    crafted_field(c, "VirtualSpace", "_low_boundary", "char*", 0);
    crafted_field(c, "VirtualSpace", "_high_boundary", "char*", 8);
    crafted_field(c, "VirtualSpace", "_low", "char*", 16);
    crafted_field(c, "VirtualSpace", "_high", "char*", 24);
    crafted_field(c, "HeapBlock", "_header", "HeapBlock::Header", 0);
    crafted_field(c, "HeapBlock::Header", "_length", "uint32_t", 0);
    crafted_field(c, "HeapBlock::Header", "_used", "bool", 8);
}

/* Two flags, which choose the collector. */
static inline void crafted_flags(struct crafted *c)
{
    u32 flags = crafted_alloc(c, 2 * 24), values = crafted_alloc(c, 8);
    const char *type = c->age == CRAFTED_8 ? "Flag" : "JVMFlag";
    for (u32 i = 0; i < 2; i++) {
        crafted_put(c, flags + 24 * i, values + i, 8);
        crafted_put(c, flags + 24 * i + 8, crafted_text(c, i ? "UseSerialGC" : "UseZGC"), 8);
        crafted_put(c, values + i, i, 1);
    }
    crafted_static(c, type, "flags", flags);
    crafted_static(c, type, "numFlags", 2);
    crafted_field(c, type, "_addr", "void*", 0);
    crafted_field(c, type, "_name", "const char*", 8);
    crafted_size(c, type, 24);
}

static inline void crafted_methods(struct crafted *c)
{
    const char zero = c->age >= 20, far[] = {(char)0xff, (char)(2 + zero), (char)(100 + zero), 0};
    c->outer = crafted_method(c, "a/b/C$D", "outer", "(I)V", 10, "\x07\x13");
    c->inner = crafted_method(c, "a/Inner", "<init>", "()V", 10, "\x05\x21");
    c->lambda = crafted_method(c, "x/Foo$$Lambda$14+0x00000000deadbeef", "run", "()V", 10, far);
}

static inline void crafted_make(struct crafted *c, enum crafted_age age)
{
    *c = (struct crafted){.age = age, .top = 0x2000};
    crafted_module(c->bytes, CRAFTED_MODULE);
    crafted_tables(c);
    c->top = CRAFTED_END;
    u32 fields = c->fields, types = c->types, constants = c->constants;
    crafted_fields_of_heaps(c);
    crafted_fields_of_code(c);
    crafted_fields_of_methods(c);
    crafted_static(c, "Abstract_VM_Version", "_vm_major_version", age == CRAFTED_8 ? 25 : (u64)age);
    crafted_static(c, "Abstract_VM_Version", "_s_vm_release", crafted_text(c, "1.2+3"));
    crafted_size(c, "HeapBlock", 16);
    crafted_size(c, "PcDesc", 16);
    crafted_size(c, "ConstMethod", 48);
    crafted_size(c, "ConstantPool", 72);
    crafted_flags(c);
    crafted_put(c, crafted_row(c, &c->constants, "ConstMethod::_has_linenumber_table") + 8, 1, 4);
    c->fields = fields;
    c->types = types;
    c->constants = constants;
    memset(c->bytes + CRAFTED_SEGMAP, 0xff, 0x100);
    crafted_methods(c);
    crafted_nmethod(c);
    crafted_native(c);
}
