#include "runtime/v8_ask_test.h"
#include <errno.h>

static struct v8 without(unsigned version, const char *name)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    crafted_make(c, version);
    crafted_rename(c, name);
    return attached_v8(c);
}

static int outcome_without(unsigned version, const char *name)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    crafted_make(c, version);
    crafted_rename(c, name);
    return attach_alone(c);
}

/* A number is this one: that of the symbol at a place in the table of symbols. */
static void set_number(struct crafted *c, const char *name, s32 v)
{
    const u8 *strings = c->bytes + CRAFTED_MODULE + CRAFTED_MODULE_STRTAB;
    for (u32 i = 1; i <= c->nsymbols; i++) {
        Elf64_Sym s;
        memcpy(&s, c->bytes + CRAFTED_MODULE + CRAFTED_MODULE_SYMTAB + i * sizeof(s), sizeof(s));
        if (!strcmp((const char *)strings + s.st_name, name))
            crafted_put(c, CRAFTED_MODULE + s.st_value, (u32)v, 4);
    }
}

static int outcome_with(const char *name, s32 v)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    crafted_make(c, CRAFTED_18);
    set_number(c, name, v);
    return attach_alone(c);
}

/* ---- What is found */

TEST(v8_says_where_its_frames_have_what)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        struct v8 v = v8_of(&a);
        const struct xp_v8 *x = &v.machine;
        CHECK(x->frame_function == -16 && x->frame_context == -8);
        CHECK(x->frame_array == -32 && x->frame_position == -40);
        CHECK(x->function_shared == c->v->function_shared && x->shared_script == c->v->shared_script);
        CHECK(x->map_type == CRAFTED_MAP_TYPE && x->array_type == c->v->array_type);
        CHECK_EQ(x->array_data, i == CRAFTED_18 ? 56 : 54);
        struct xp_machine m = {0};
        CHECK(runtime_machine(a.data, a.len, &m) && m.kind == XP_MACHINE_V8 && !memcmp(&m.v8, x, sizeof(*x)));
    }
}

TEST(v8_says_how_its_objects_are_laid_out)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i);
        struct v8 v = v8_of(&a);
        const struct v8_layout *l = &v.layout;
        CHECK_STR(v.version, c->v->text);
        CHECK(l->shared_type == c->v->shared_type && l->script_type == c->v->script_type);
        CHECK_EQ(l->scope_type, c->v->scope_type);
        CHECK(l->shared_name == c->v->shared_name && l->shared_data == CRAFTED_SHARED_DATA);
        CHECK(l->script_name == CRAFTED_NAME && l->script_source == CRAFTED_SOURCE);
        CHECK_EQ(l->script_line_offset, CRAFTED_LINE_OFFSET);
        CHECK(l->array_positions == c->v->array_positions && l->scope_first == c->v->scope_first);
        CHECK(l->not_string == 0xff80 && l->string_length == CRAFTED_LENGTH && l->string_first == CRAFTED_FIRST);
        CHECK_EQ(l->positions, i == CRAFTED_26 ? V8_POSITIONS_BITS : V8_POSITIONS_SIGN);
    }
}

TEST(v8_needs_its_most_important_numbers)
{
    static const char *const needed[] = {"v8dbg_off_fp_context_or_frame_type",
                                         "v8dbg_class_JSFunction__shared__SharedFunctionInfo",
                                         "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
                                         "v8dbg_class_Map__instance_type__uint16_t",
                                         "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
                                         "v8dbg_type_Script__SCRIPT_TYPE",
                                         "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE",
                                         "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
                                         "v8dbg_class_Script__name__Object"};
    for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        CHECK_EQ(outcome_without(CRAFTED_18, needed[i]), -ENOTSUP);
}

TEST(processes_without_v8_are_told_apart)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++)
        CHECK_EQ(outcome_without(i, "v8dbg_off_fp_function"), -ENODATA);
}

/* Numbers that newer versions do not export have always been the same, so far. */
TEST(v8_may_leave_out_some_numbers)
{
    CHECK_EQ(without(CRAFTED_18, "v8dbg_off_fp_bytecode_array").machine.frame_array, -32);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_off_fp_bytecode_offset").machine.frame_position, -40);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_class_BytecodeArray__data__uintptr_t").machine.array_data, 54);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_class_SharedFunctionInfo__function_data__Object").layout.shared_data, 8);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_class_Script__source__Object").layout.script_source, 8);
    CHECK_EQ(without(CRAFTED_26, "v8dbg_scopeinfo_idx_first_vars").layout.scope_first, 3);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_IsNotStringMask").layout.not_string, 0xff80);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_class_String__length__int32_t").layout.string_length, 12);
    CHECK_EQ(without(CRAFTED_18, "v8dbg_class_SeqOneByteString__chars__char").layout.string_first, 16);
    struct v8 v = without(CRAFTED_18, "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE");
    CHECK(v.version[0] && !v.machine.array_type);
    v = without(CRAFTED_22, "v8dbg_class_BytecodeArray__length__SMI");
    CHECK_EQ(v.layout.array_positions, 32);
}

TEST(numbers_of_v8_may_be_nonsense)
{
    CHECK_EQ(outcome_with("v8dbg_off_fp_function", -16), 0);
    CHECK_EQ(outcome_with("v8dbg_off_fp_function", -12), -ENOTSUP);
    CHECK_EQ(outcome_with("v8dbg_off_fp_function", 512), -ENOTSUP);
    CHECK_EQ(outcome_with("v8dbg_off_fp_function", -40000), -ENOTSUP);
    CHECK_EQ(outcome_with("v8dbg_class_Script__name__Object", 65536 + 16), -ENOTSUP);
    CHECK_EQ(outcome_with("v8dbg_class_Script__name__Object", 9000), -ENOTSUP);
    CHECK_EQ(outcome_with("v8dbg_class_Script__name__Object", INT32_MIN), -ENOTSUP);
}

TEST(versions_of_v8_may_be_long_or_missing)
{
    CRAFT(CRAFTED_26);
    char *text = (char *)c->bytes + c->version + 8;
    strcpy(text, "14.6.202.33-node.12-with-patches");
    CHECK_STR(attached_v8(c).version, "14.6.202.33-node.12-wit");
    strcpy(text, "14.6\n.202");
    CHECK_STR(attached_v8(c).version, "14.6");
    CHECK_EQ(attached_v8(c).layout.positions, V8_POSITIONS_BITS);
    strcpy(text, "13.9");
    CHECK_EQ(attached_v8(c).layout.positions, V8_POSITIONS_SIGN);
    crafted_put(c, c->version, UINT64_MAX - 2, 8);
    CHECK_STR(attached_v8(c).version, "");
    crafted_put(c, c->version, CRAFTED_SIZE - 1, 8); /* it goes on beyond the memory */
    c->bytes[CRAFTED_SIZE - 1] = '9';
    CHECK_STR(attached_v8(c).version, "9");
    CHECK_STR(without(CRAFTED_26, "_ZN2v88internal7Version15version_string_E").version, "");
}

TEST(v8_says_what_it_is)
{
    CRAFT(CRAFTED_18);
    CHECK_STR(crafted_about(c), "machine\tV8 10.2.154.26-node.36\nlines\tof bytecode\n");
    crafted_make(c, CRAFTED_22);
    CHECK_STR(crafted_about(c), "machine\tV8 12.4.254.21-node.33\nlines\tof bytecode\n");
    crafted_make(c, CRAFTED_26);
    CHECK_STR(crafted_about(c), "machine\tV8 14.6.202.33-node.12\nlines\tof bytecode\n");
    crafted_rename(c, "_ZN2v88internal7Version15version_string_E");
    crafted_rename(c, "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE");
    CHECK_STR(crafted_about(c), "machine\tV8 of an unknown version\nlines\twhere functions begin\n");
    crafted_rename(c, "v8dbg_type_Script__SCRIPT_TYPE");
    CHECK_STR(crafted_about(c), "not understood");
    crafted_rename(c, "v8dbg_off_fp_function");
    CHECK_STR(crafted_about(c), "nothing");
}

/* ---- Hostile input */

#define REFUSES(change) CHECK_REFUSED(v8_check, sound, change)

TEST(v8_checks_what_it_is_told)
{
    CRAFT(CRAFTED_22);
    struct v8 sound = v8_of(&a);
    CHECK_EQ(v8_check(&sound, sizeof(sound)), 0);
    CHECK_EQ(v8_check(&sound, sizeof(sound) - 1), -EBADMSG);
    REFUSES(machine.frame_function = 264);
    REFUSES(machine.frame_function = -264);
    REFUSES(machine.frame_function = -12);
    REFUSES(machine.frame_context = 264);
    REFUSES(machine.frame_context = 4);
    REFUSES(machine.frame_array = -264);
    REFUSES(machine.frame_array = 4);
    REFUSES(machine.frame_position = -264);
    REFUSES(machine.frame_position = 4);
    REFUSES(machine.function_shared = 8193);
    REFUSES(machine.shared_script = 8193);
    REFUSES(machine.map_type = 8193);
    REFUSES(machine.array_data = 8193);
    REFUSES(machine.array_data = 0);
    REFUSES(machine.pad[0] = 1);
    REFUSES(machine.pad[2] = 1);
    REFUSES(layout.shared_name = 8193);
    REFUSES(layout.shared_data = 8193);
    REFUSES(layout.script_name = 8193);
    REFUSES(layout.script_source = 8193);
    REFUSES(layout.script_line_offset = 8193);
    REFUSES(layout.array_positions = 8193);
    REFUSES(layout.scope_first = 8193);
    REFUSES(layout.string_length = 8193);
    REFUSES(layout.string_first = 8193);
    REFUSES(layout.positions = 2);
    REFUSES(layout.old_scopes = 2);
    REFUSES(layout.pad[1] = 1);
    REFUSES(layout.bytecodes = 257);
    REFUSES(layout.sizes = 1ull << 56);
    REFUSES(layout.stream_head = 8193);
    REFUSES(layout.stream_code = 8193);
    REFUSES(layout.code_data = 8193);
    REFUSES(layout.code_places = 8193);
    REFUSES(layout.code_size = 8193);
    REFUSES(layout.deopt_literals = 8193);
    REFUSES(layout.deopt_inlining = 8193);
    REFUSES(layout.deopt_shared = 8193);
    REFUSES(layout.deopt_wrapped = 8193);
    REFUSES(version[0] = '\n');
    struct v8 v = sound;
    v.machine.array_type = v.machine.array_data = 0; /* lines are those where functions begin */
    CHECK_EQ(v8_check(&v, sizeof(v)), 0);
    memset(sound.version, 'x', sizeof(sound.version));
    CHECK_EQ(v8_check(&sound, sizeof(sound)), -EBADMSG);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_VERSIONS);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    crafted_ask(out, XP_V8_WORD(XP_V8_BYTECODE, c->work), XP_MORE_WORD(crafted_cookie(c, c->work), 4));
    crafted_ask(out, XP_V8_WORD(XP_V8_BYTECODE, c->work), XP_MORE_WORD(0, 300));
    crafted_ask(out, XP_V8_WORD(XP_V8_BYTECODE, c->builtin), XP_MORE_WORD(crafted_cookie(bad, c->builtin), 0));
    crafted_ask(out, XP_V8_WORD(XP_V8_BYTECODE, any), any);
}

TEST(crafted_engines_do_no_harm)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
