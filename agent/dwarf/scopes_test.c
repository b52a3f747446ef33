/* Functions without a linkage name: the namespaces and classes around them are part of what they are called. */
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/craft_test.h"
#include "dwarf/crafted.h"
#include "dwarf/dwarf.h"
#include <dwarf.h>

enum { UNIT = 1, FUNCTION, LINKED, ANONYMOUS, NAMESPACE, CLASS, STRUCT, UNION, ENUM };
static const u16 unit_specs[] = {
    DW_AT_language, DW_FORM_data2, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0};
static const u16 function_specs[] = {
    DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0};
static const u16 linked_specs[] = {
    DW_AT_linkage_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0};
static const u16 name_specs[] = {DW_AT_name, DW_FORM_string, 0};
static const u16 nothing[] = {0};

static void abbreviations(struct buf *b)
{
    static const struct {
        unsigned code, tag;
    } named[] = {{NAMESPACE, DW_TAG_namespace},
                 {CLASS, DW_TAG_class_type},
                 {STRUCT, DW_TAG_structure_type},
                 {UNION, DW_TAG_union_type},
                 {ENUM, DW_TAG_enumeration_type}};
    craft_abbrev(b, UNIT, DW_TAG_compile_unit, true, unit_specs);
    craft_abbrev(b, FUNCTION, DW_TAG_subprogram, false, function_specs);
    craft_abbrev(b, LINKED, DW_TAG_subprogram, false, linked_specs);
    craft_abbrev(b, ANONYMOUS, DW_TAG_namespace, true, nothing);
    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
        craft_abbrev(b, named[i].code, named[i].tag, true, name_specs);
    craft_put(b, 0, 1);
}

static void text(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s) + 1);
}

static void begin_scope(struct buf *b, unsigned code, const char *name)
{
    craft_uleb(b, code);
    if (name)
        text(b, name);
}

/* One of 16 bytes. */
static void function(struct buf *b, unsigned code, const char *name, unsigned number)
{
    craft_uleb(b, code);
    text(b, name);
    craft_put(b, CRAFTED_TEXT + 16ull * number, 8);
    craft_put(b, 16, 4);
}

static void put_unit(struct buf *b, unsigned language, unsigned number)
{
    size_t at = craft_unit(b, 0);
    craft_uleb(b, UNIT);
    craft_put(b, language, 2);
    craft_put(b, CRAFTED_TEXT, 8);
    craft_put(b, CRAFTED_TEXT_SIZE, 4);
    function(b, FUNCTION, "first", number++);
    begin_scope(b, NAMESPACE, "a");
    function(b, FUNCTION, "in_a", number++);
    begin_scope(b, CLASS, "B");
    begin_scope(b, STRUCT, "C");
    function(b, FUNCTION, "in_c", number++);
    craft_put(b, 0, 1);
    function(b, FUNCTION, "in_b", number++);
    craft_put(b, 0, 1);
    begin_scope(b, ENUM, "E"); /* no scope of functions */
    function(b, FUNCTION, "in_e", number++);
    craft_put(b, 0, 1);
    function(b, FUNCTION, "in_a_again", number++);
    craft_put(b, 0, 1);
    begin_scope(b, ANONYMOUS, NULL);
    begin_scope(b, UNION, "U");
    function(b, FUNCTION, "in_u", number++);
    function(b, LINKED, "_Z6linked", number++);
    craft_put(b, 0, 2);
    function(b, FUNCTION, "last", number);
    craft_put(b, 0, 1);
    u32 len = (u32)(b->len - at - 4);
    memcpy(b->data + at, &len, 4);
}

#define NUMBERS 9 /* functions of a unit */

TEST(dwarf_names_have_scopes_in_languages_that_have_them)
{
    static const char *const scoped[NUMBERS] = {"first",
                                                "a::in_a",
                                                "a::B::C::in_c",
                                                "a::B::in_b",
                                                "a::in_e",
                                                "a::in_a_again",
                                                "(anonymous namespace)::U::in_u",
                                                "_Z6linked",
                                                "last"};
    static const char *const plain[NUMBERS] = {"first",      "in_a", "in_c",      "in_b", "in_e",
                                               "in_a_again", "in_u", "_Z6linked", "last"};
    static const struct {
        unsigned language;
        const char *const *names;
    } units[] = {{DW_LANG_C_plus_plus_14, scoped},
                 {DW_LANG_C99, plain},
                 {DW_LANG_Rust, scoped},
                 {DW_LANG_C89, plain},
                 {DW_LANG_C, plain},
                 {DW_LANG_C11, plain},
                 {DW_LANG_D, scoped},
                 {DW_LANG_Go, plain},
                 {DW_LANG_Mips_Assembler, plain},
                 {0, scoped}};
    const unsigned n = sizeof(units) / sizeof(*units);
    AUTO_CRAFT c = {.inflated = 0};
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE void *index = NULL;
    static const struct dwarf_limits limits = DWARF_LIMITS_DEFAULT;
    static struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    struct dwarf_index x;
    size_t len;
    abbreviations(&c.abbrev);
    for (unsigned u = 0; u < n; u++)
        put_unit(&c.info, units[u].language, u * NUMBERS);
    CHECK_EQ(craft_file(&c, "", &file), 0);
    CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
    CHECK_EQ(dwarf_index_build(&e, NULL, &limits, &index, &len), 0);
    CHECK_EQ(dwarf_index_open(&x, index, len), 0);
    CHECK_EQ(x.h->cuts, 0);
    for (unsigned i = 0; i < n * NUMBERS; i++) {
        struct dwarf_text name;
        CHECK_EQ(dwarf_index_find(&x, CRAFTED_TEXT + 16ull * i + 5, f), 1);
        dwarf_index_text(&x, f[0].name, &name);
        CHECK_STR(name.s, units[i / NUMBERS].names[i % NUMBERS]);
    }
}
