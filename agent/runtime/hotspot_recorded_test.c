/* What six builds say of themselves, as it was recorded: OpenJDK 11.0.13 and 21.0.8 (Temurin), 17.0.15 (Debian),
 * 25.0.3 (Temurin), 8u504 and 26.0.2 (Debian), all x86-64.
 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "runtime/hotspot_internal.h"
#include <errno.h>

#define BUILDS 6
#define NO     (-1) /* there is no such field */
#define AT     (-2) /* a static one */

static const struct {
    s16 at[BUILDS]; /* offsets */
} FIELDS_OF[FIELDS] = {
    [FIELD_CACHE_HEAP] = {{NO, NO, NO, NO, AT, NO}},
    [FIELD_CACHE_HEAPS] = {{AT, AT, AT, AT, NO, AT}},
    [FIELD_ARRAY_LEN] = {{NO, 0, 0, 0, NO, 0}},
    [FIELD_ARRAY_LEN_9] = {{0, NO, NO, NO, 0, NO}},
    [FIELD_ARRAY_DATA] = {{24, 8, 8, 8, 24, 8}},
    [FIELD_HEAP_MEMORY] = {{8, 8, 0, 0, 0, 0}},
    [FIELD_HEAP_SEGMAP] = {{120, 120, 112, 112, 112, 112}},
    [FIELD_HEAP_SHIFT] = {{256, 256, 248, 248, 248, 248}},
    [FIELD_SPACE_LOW_BOUNDARY] = {{0, 0, 0, 0, 0, 0}},
    [FIELD_SPACE_HIGH_BOUNDARY] = {{8, 8, 8, 8, 8, 8}},
    [FIELD_SPACE_LOW] = {{16, 16, 16, 16, 16, 16}},
    [FIELD_SPACE_HIGH] = {{24, 24, 24, 24, 24, 24}},
    [FIELD_BLOCK_HEADER] = {{0, 0, 0, 0, 0, 0}},
    [FIELD_BLOCK_USED] = {{8, 8, 8, 4, 8, 4}},
    [FIELD_BLOB_NAME] = {{96, 96, 64, 8, 8, 8}},
    [FIELD_BLOB_SIZE] = {{12, 12, 72, 24, 16, 24}},
    [FIELD_BLOB_FRAME_SIZE] = {{28, 28, 88, 44, 44, 44}},
    [FIELD_BLOB_FRAME_COMPLETE] = {{20, 20, 80, 54, 36, 54}},
    [FIELD_BLOB_CODE_BEGIN] = {{32, 32, 8, NO, NO, NO}},
    [FIELD_BLOB_CODE_OFFSET] = {{NO, NO, NO, 36, 32, 36}},
    [FIELD_BLOB_DATA_OFFSET] = {{24, 24, 84, 40, 40, 40}},
    [FIELD_BLOB_MUTABLE] = {{NO, NO, NO, 16, NO, 16}},
    [FIELD_BLOB_RELOCATION] = {{NO, NO, NO, 28, 24, 28}},
    [FIELD_COMPILED_METHOD] = {{112, 112, 112, NO, NO, NO}},
    [FIELD_COMPILED_SCOPES] = {{120, 120, 120, NO, NO, NO}},
    [FIELD_COMPILED_DEOPT] = {{128, 128, 128, NO, NO, NO}},
    [FIELD_COMPILED_DEOPT_MH] = {{136, 136, 136, NO, NO, NO}},
    [FIELD_NMETHOD_METHOD] = {{NO, NO, NO, 80, 64, 80}},
    [FIELD_NMETHOD_ID] = {{324, 304, 308, 212, 204, 212}},
    [FIELD_NMETHOD_LEVEL] = {{328, 308, 328, 216, 208, 216}},
    [FIELD_NMETHOD_STATE] = {{335, 315, 332, 219, 217, 219}},
    [FIELD_NMETHOD_ORIG_PC] = {{320, 300, 304, 208, 200, 208}},
    [FIELD_NMETHOD_DEOPT_8] = {{NO, NO, NO, NO, 148, NO}},
    [FIELD_NMETHOD_DEOPT] = {{NO, NO, NO, 176, NO, NO}},
    [FIELD_NMETHOD_DEOPT_26] = {{NO, NO, NO, NO, NO, 176}},
    [FIELD_NMETHOD_DEOPT_MH] = {{NO, NO, NO, 180, NO, NO}},
    [FIELD_NMETHOD_DEOPT_MH_8] = {{NO, NO, NO, NO, 152, NO}},
    [FIELD_NMETHOD_METADATA] = {{292, 260, 268, NO, 172, NO}},
    [FIELD_NMETHOD_SCOPES] = {{NO, NO, NO, 200, 176, 196}},
    [FIELD_NMETHOD_PCS] = {{300, 268, 276, 196, 180, 192}},
    [FIELD_NMETHOD_DEPENDENCIES] = {{304, 272, 280, NO, 184, NO}},
    [FIELD_NMETHOD_IMMUTABLE] = {{NO, NO, NO, 96, NO, 96}},
    [FIELD_NMETHOD_IMMUTABLE_SIZE] = {{NO, NO, NO, 160, NO, 160}},
    [FIELD_PCDESC_PC] = {{0, 0, 0, 0, 0, 0}},
    [FIELD_PCDESC_SCOPE] = {{4, 4, 4, 4, 4, 4}},
    [FIELD_METHOD_CONST] = {{8, 8, 8, 8, 8, 8}},
    [FIELD_CONST_POOL] = {{8, 8, 8, 8, 8, 8}},
    [FIELD_CONST_NAME] = {{42, 34, 36, 36, 34, 36}},
    [FIELD_CONST_SIGNATURE] = {{44, 36, 38, 38, 36, 38}},
    [FIELD_CONST_CODE_SIZE] = {{40, 32, 34, 34, 32, 34}},
    [FIELD_CONST_FLAGS_8] = {{36, 28, NO, NO, 28, NO}},
    [FIELD_CONST_FLAGS] = {{NO, NO, 28, 28, NO, 28}},
    [FIELD_POOL_HOLDER] = {{24, 24, 24, 24, 24, 24}},
    [FIELD_POOL_LENGTH] = {{52, 60, 60, 60, 60, 68}},
    [FIELD_KLASS_POOL] = {{232, 232, 224, 224, 216, 224}},
    [FIELD_POOL_FILE] = {{NO, 54, 54, 54, NO, 62}},
    [FIELD_KLASS_FILE] = {{298, NO, NO, NO, 258, NO}},
    [FIELD_KLASS_NAME] = {{24, 24, 24, 24, 16, 24}},
    [FIELD_SYMBOL_LENGTH] = {{0, 4, 4, 4, 0, 4}},
    [FIELD_SYMBOL_LENGTH_12] = {{NO, NO, NO, NO, NO, NO}},
    [FIELD_SYMBOL_HASH] = {{NO, 0, 0, 0, NO, 0}},
    [FIELD_SYMBOL_HASH_8] = {{4, NO, NO, NO, 4, NO}},
    [FIELD_SYMBOL_BODY] = {{6, 6, 6, 6, 8, 6}},
    [FIELD_SYMBOL_BODY_0] = {{6, 6, 6, 6, NO, 6}},
    [FIELD_VM_RELEASE] = {{AT, AT, AT, AT, AT, AT}},
    [FIELD_VM_MAJOR] = {{AT, AT, AT, AT, AT, AT}},
    [FIELD_INTERPRETER] = {{AT, AT, AT, AT, AT, AT}},
    [FIELD_THREAD_ENTRY] = {{NO, NO, NO, 1560, NO, 1528}},
    [FIELD_ENTRY_RETURN] = {{NO, NO, NO, AT, NO, AT}},
};
static const u16 SIZES_OF[TYPES][BUILDS] = {
    [TYPE_BLOCK] = {16, 16, 16, 8, 16, 8},
    [TYPE_PCDESC] = {16, 16, 16, 16, 16, 16},
    [TYPE_CONST_METHOD] = {56, 48, 56, 56, 48, 56},
    [TYPE_POOL] = {64, 72, 72, 72, 80, 80},
    [TYPE_ENTRY] = {0, 0, 0, 64, 0, 56},
};
static const u16 CONSTANTS_OF[CONSTANTS][BUILDS] = {
    [CONSTANT_LINES_FLAG_8] = {1, 1, 0, 0, 1, 0},
    [CONSTANT_LINES_FLAG] = {0, 0, 1, 1, 0, 1},
};
static const u32 VERSIONS[BUILDS] = {11, 17, 21, 25, 8, 26};

/* The only static field that is read is the version, which is at the start of the memory. */
static void recorded(unsigned build, struct hotspot_structs *out)
{
    *out = (struct hotspot_structs){0};
    for (unsigned i = 0; i < FIELDS; i++) {
        s16 at = FIELDS_OF[i].at[build];
        out->fields[i] =
            (struct hotspot_field){.found = at != NO, .is_static = at == AT, .value = at > 0 ? (u64)at : 0};
    }
    for (unsigned i = 0; i < TYPES; i++)
        out->sizes[i] = SIZES_OF[i][build];
    for (unsigned i = 0; i < CONSTANTS; i++)
        out->constants[i] = CONSTANTS_OF[i][build];
    out->fields[FIELD_BLOB_FRAME_COMPLETE].is_short = VERSIONS[build] >= 25;
}

static int layout_of(const struct hotspot_structs *s, unsigned build, struct hotspot *out)
{
    CLEANUP(memory_free) struct memory m = {0};
    const u64 bytes[] = {VERSIONS[build] == 8 ? 25 : VERSIONS[build], 0}; /* HotSpot 25.504 */
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", bytes, sizeof(bytes));
    int rc = memory_open(&m, mem, -1);
    return rc ? rc : hotspot_layout(&m, s, out);
}

TEST(layouts_of_recorded_virtual_machines)
{
    struct hotspot_structs s;
    struct hotspot h[BUILDS];
    for (unsigned i = 0; i < BUILDS; i++) {
        recorded(i, &s);
        CHECK_EQ(layout_of(&s, i, &h[i]), 0);
        u32 version = VERSIONS[i];
        bool is_new = version >= 25, by_offset = is_new || version == 8;
        CHECK(h[i].jvm.code_is_offset == by_offset && h[i].jvm.deopt_is_offset == by_offset);
        CHECK_EQ(h[i].jvm.frame_complete_bytes, is_new ? 2 : 4);
        CHECK_EQ(h[i].jvm.bcp_slot, version == 8 ? 7 : 8);
        CHECK_EQ(h[i].layout.byte_zero, version >= 20);
        CHECK_EQ(h[i].layout.scopes_is_pointer, !by_offset);
        CHECK(!h[i].layout.immutable == !is_new && !h[i].layout.blob_mutable == !is_new);
        CHECK(!h[i].layout.metadata == is_new && h[i].layout.lines_flag == 1);
        CHECK(h[i].layout.pcdesc_size == 16 && h[i].layout.dead_state == (version == 8 ? 2 : 3));
        CHECK(!h[i].layout.pool_file == (version < 15) && !h[i].layout.klass_file == (version >= 15));
        CHECK(!h[i].jvm.thread_entry == !is_new && !h[i].jvm.entry_size == !is_new);
    }
    CHECK(h[0].jvm.symbol_hash == 4 && h[1].jvm.symbol_hash == 2 && h[3].jvm.symbol_hash == 2);
    CHECK(h[0].layout.scopes_data == 120 && h[0].layout.pcs_end == 304 && h[0].layout.symbol_length == 0);
    CHECK(h[1].jvm.method_deopt == 128 && h[1].jvm.method_id == 304 && h[1].jvm.bytecodes == 48);
    CHECK(h[2].layout.const_flags == 28 && h[2].jvm.blob_frame_complete == 80);
    CHECK(h[3].jvm.method_deopt == 176 && h[3].layout.immutable == 96 && h[3].layout.blob_mutable == 16);
    CHECK(h[4].jvm.method_deopt == 148 && h[4].jvm.method_deopt_mh == 152 && h[4].layout.symbol_body == 8);
    CHECK(h[4].layout.scopes_data == 176 && h[4].layout.scopes_pcs == 180 && h[4].layout.pcs_end == 184);
    CHECK(h[3].jvm.entry_size == 64 && h[5].jvm.entry_size == 56);
    CHECK(h[5].jvm.method_deopt == 176 && !h[5].jvm.method_deopt_mh && h[5].layout.pool_file == 62);
}

/* A build that lacks a field is not understood, unless there is another one for it or it may be missing. */
TEST(layouts_need_their_fields)
{
    static const u8 optional[] = {FIELD_COMPILED_DEOPT_MH, FIELD_NMETHOD_DEOPT_MH, FIELD_SYMBOL_BODY,
                                  FIELD_SYMBOL_BODY_0,     FIELD_VM_RELEASE,       FIELD_POOL_FILE,
                                  FIELD_THREAD_ENTRY,      FIELD_ENTRY_RETURN,     FIELD_BLOB_DATA_OFFSET};
    struct hotspot_structs s;
    struct hotspot h;
    for (unsigned i = FIELD_BLOCK_HEADER; i < FIELD_INTERPRETER; i++) {
        bool may = false;
        for (unsigned k = 0; k < sizeof(optional); k++)
            may |= optional[k] == i;
        recorded(1, &s);
        if (may || !s.fields[i].found)
            continue;
        s.fields[i].found = false;
        CHECK_EQ(layout_of(&s, 1, &h), -ENOTSUP);
    }
}
