/* The numbers that V8 exports. Names of fields have had the type of what is in them added, which changes. */
#include "runtime/v8_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOL 96
#define SPELLINGS  3

struct number {
    const char *names[SPELLINGS]; /* any of these */
    s32 otherwise;                /* NEEDED: one of them must be there */
    size_t at;                    /* in struct v8: 16 bits */
};
#define NEEDED INT32_MIN

static const struct number NUMBERS[] = {
    {{"off_fp_function"}, NEEDED, offsetof(struct v8, machine.frame_function)},
    {{"off_fp_context_or_frame_type", "off_fp_context"}, NEEDED, offsetof(struct v8, machine.frame_context)},
    {{"off_fp_bytecode_array"}, -32, offsetof(struct v8, machine.frame_array)},
    {{"off_fp_bytecode_offset"}, -40, offsetof(struct v8, machine.frame_position)},
    {{"class_JSFunction__shared__SharedFunctionInfo", "class_JSFunction__shared__Tagged_SharedFunctionInfo_"},
     NEEDED,
     offsetof(struct v8, machine.function_shared)},
    {{"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
      "class_SharedFunctionInfo__script__Tagged_HeapObject_", "class_SharedFunctionInfo__raw_script__Tagged_Object_"},
     NEEDED,
     offsetof(struct v8, machine.shared_script)},
    {{"class_Map__instance_type__uint16_t"}, NEEDED, offsetof(struct v8, machine.map_type)},
    {{"type_BytecodeArray__BYTECODE_ARRAY_TYPE"}, 0, offsetof(struct v8, machine.array_type)},
    {{"class_BytecodeArray__data__uintptr_t"}, 54, offsetof(struct v8, machine.array_data)},
    {{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}, NEEDED, offsetof(struct v8, layout.shared_type)},
    {{"type_Script__SCRIPT_TYPE"}, NEEDED, offsetof(struct v8, layout.script_type)},
    {{"type_ScopeInfo__SCOPE_INFO_TYPE"}, NEEDED, offsetof(struct v8, layout.scope_type)},
    {{"class_SharedFunctionInfo__name_or_scope_info__Object",
      "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
      "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"},
     NEEDED,
     offsetof(struct v8, layout.shared_name)},
    {{"class_SharedFunctionInfo__function_data__Object"}, 8, offsetof(struct v8, layout.shared_data)},
    {{"class_Script__name__Object", "class_Script__name__Tagged_Object_"},
     NEEDED,
     offsetof(struct v8, layout.script_name)},
    {{"class_Script__source__Object", "class_Script__source__Tagged_Object_"},
     8,
     offsetof(struct v8, layout.script_source)},
    {{"scopeinfo_idx_first_vars"}, 3, offsetof(struct v8, layout.scope_first)},
    {{"IsNotStringMask"}, -128, offsetof(struct v8, layout.not_string)},
    {{"class_String__length__int32_t"}, 12, offsetof(struct v8, layout.string_length)},
    {{"DeoptimizationDataLiteralArrayIndex"}, 2, offsetof(struct v8, layout.deopt_literals)},
    {{"DeoptimizationDataInliningPositionsIndex"}, 7, offsetof(struct v8, layout.deopt_inlining)},
    {{"DeoptimizationDataSharedFunctionInfoIndex", "DeoptimizationDataWrappedSharedFunctionInfoIndex"},
     6,
     offsetof(struct v8, layout.deopt_shared)},
    {{"class_SeqOneByteString__chars__char"}, 16, offsetof(struct v8, layout.string_first)},
};

static bool number_of(struct memory *m, const struct module *mod, const char *name, s32 *out)
{
    char symbol[MAX_SYMBOL];
    snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
    u64 at = module_symbol(m, mod, symbol);
    return at && memory_near(m, at, out, sizeof(*out));
}

static bool read_number(struct memory *m, const struct module *mod, const struct number *n, struct v8 *out)
{
    s32 v = n->otherwise;
    for (size_t i = 0; i < SPELLINGS && n->names[i]; i++)
        if (number_of(m, mod, n->names[i], &v))
            break;
    if (v < INT16_MIN || v > UINT16_MAX)
        return false;
    u16 narrow = (u16)v;
    memcpy((char *)out + n->at, &narrow, sizeof(narrow));
    return true;
}

/* Without it, it is taken for one of those that are older than all that is known of. */
static void read_version(struct memory *m, const struct module *mod, struct v8 *v)
{
    u64 at = module_symbol(m, mod, "_ZN2v88internal7Version15version_string_E"), text = 0;
    if (!at || !memory_near(m, at, &text, sizeof(text)))
        return;
    for (size_t i = 0; i + 1 < sizeof(v->version); i++)
        if (!memory_near(m, text + i, &v->version[i], 1) || v->version[i] <= ' ' || v->version[i] > '~') {
            v->version[i] = 0;
            break;
        }
}

/* ---- What is not exported --------------------------------------------------------------------------------------- */

/* Up to 10, Code has its instructions in itself. */
static void old_code(struct memory *m, const struct module *mod, struct v8_layout *l)
{
    s32 type, head;
    if (!number_of(m, mod, "type_Code__CODE_TYPE", &type) ||
        !number_of(m, mod, "class_Code__instruction_start__uintptr_t", &head))
        return;
    l->stream_type = (u16)type;
    l->stream_head = (u16)head;
    l->code_data = 16;
    l->code_places = 24;
    l->code_size = 40;
}

static void new_code(struct memory *m, const struct module *mod, unsigned major, struct v8_layout *l)
{
    s32 type, size = 56;
    if (!number_of(m, mod, "type_InstructionStream__INSTRUCTION_STREAM_TYPE", &type))
        return;
    number_of(m, mod, "class_Code__instruction_size__int", &size);
    l->stream_type = (u16)type;
    l->stream_head = major < 12 ? 16 : 32;
    l->stream_code = 8;
    l->code_data = major < 12 ? 16 : 8;
    l->code_places = l->code_data + 8;
    l->code_size = (u16)size;
}

/* For operands of 1, 2 and 4 bytes each (src/interpreter/bytecodes.h). From 13 on it is not exported. */
static void read_sizes(struct memory *m, const struct module *mod, struct v8_layout *l)
{
    u64 bytes, at = module_symbol_sized(m, mod, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", &bytes);
    if (!at || bytes % 3 || bytes / 3 > V8_MAX_BYTECODES)
        return;
    l->sizes = at;
    l->bytecodes = (u16)(bytes / 3);
}

/* Offsets of bytecode arrays are those of V8 9.4 to 11.3, and of what came after. */
static void derive(struct memory *m, const struct module *mod, struct v8 *v)
{
    struct v8_layout *l = &v->layout;
    unsigned major = (unsigned)strtoul(v->version, NULL, 10);
    s32 any;
    l->array_positions = number_of(m, mod, "class_BytecodeArray__length__SMI", &any) ? 24 : 32;
    l->script_line_offset = l->script_name + 8;
    l->positions = major >= 14 ? V8_POSITIONS_BITS : V8_POSITIONS_SIGN;
    l->old_scopes = major == 9;
    l->deopt_wrapped = number_of(m, mod, "DeoptimizationDataWrappedSharedFunctionInfoIndex", &any) ? 8 : 0;
    if (major && major <= 10)
        old_code(m, mod, l);
    else if (major)
        new_code(m, mod, major, l);
    read_sizes(m, mod, l);
    l->table = l->sizes ? 0 : (u16)v8_bytecodes_of(v->version);
}

int v8_layout(struct memory *m, const struct module *mod, struct v8 *out)
{
    s32 any;
    *out = (struct v8){0};
    if (!number_of(m, mod, "off_fp_function", &any))
        return -ENODATA;
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(*NUMBERS); i++)
        if (!read_number(m, mod, &NUMBERS[i], out))
            return -ENOTSUP;
    read_version(m, mod, out);
    derive(m, mod, out);
    return 0;
}
