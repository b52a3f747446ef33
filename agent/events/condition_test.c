/* What is read of tracepoints, and of conditions on them; bpf/conditions_test.c judges by these. */
#include "events/condition.h"
#include "events/opened_test.h"
#include <errno.h>
#include <string.h>

TEST(tracefs_fields)
{
    static const struct {
        const char *name, *type;
        u32 offset;
        u16 size;
        u8 source;
    } fields[] = {
        {"filename", "__data_loc char[]", 8, 4, XP_TP_DATA},
        {"ret", "int", 12, 4, XP_TP_SIGNED},
        {"flags", "unsigned long", 16, 8, XP_TP_UNSIGNED},
        {"comm", "char [16]", 24, 16, XP_TP_ARRAY},
        {"path", "const char *", 40, 8, XP_TP_USER},
        {"addr", "u8 [4]", 48, 4, XP_TP_NOTHING},
        {"page", "void *", 56, 8, XP_TP_UNSIGNED},
        {"raw", "__data_loc u8[]", 64, 4, XP_TP_NOTHING},
        {"fd", "int", 112, 4, XP_TP_SIGNED},
        {"uid", "const uid_t", 120, 4, XP_TP_UNSIGNED},
        {"wide", "loff_t", 128, 8, XP_TP_SIGNED},
    };
    struct tracepoint t;
    read_fields(&t);
    CHECK_EQ(t.id, 365);
    CHECK_EQ(t.nfields, sizeof(fields) / sizeof(*fields));
    for (size_t i = 0; i < t.nfields; i++) {
        CHECK_STR(t.fields[i].name, fields[i].name);
        CHECK_STR(t.fields[i].type, fields[i].type);
        CHECK_EQ(t.fields[i].place.offset, fields[i].offset);
        CHECK_EQ(t.fields[i].place.size, fields[i].size);
        CHECK_EQ(t.fields[i].place.source, fields[i].source);
    }
    CHECK(!tracepoint_field_find(&t, "common_pid"));
}

TEST(tracefs_text_that_is_no_format)
{
    struct tracepoint t;
    char none[] = "", id[] = "ID: 7\n\tfield:;\toffset:8;\n\tfield:int\n\tfield:int x\n\tnonsense\n";
    CHECK_EQ(tracefs_format(none, &t), -EBADMSG);
    CHECK_EQ(tracefs_format(id, &t), 0);
    CHECK_EQ(t.nfields, 0);
}

TEST(conditions_that_are_none_say_where)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "expected the name of a field at: the end"},
        {"3 == ret", "expected the name of a field at: 3 == ret"},
        {"rets < 0",
         "there is no field rets; fields: filename ret flags comm path addr page raw fd uid wide comm pid tid"},
        {"(int)comm == 3",
         "there is no field (int)comm; fields: filename ret flags comm path addr page raw fd uid wide "
         "comm pid tid"},
        {"(int) == 3", "expected the name of a field at: (int) == 3"},
        {"(long)ret == 3",
         "there is no field long; fields: filename ret flags comm path addr page raw fd uid wide comm pid tid"},
        {"addr == 3", "the field addr is neither a number nor a text"},
        {"ret 0", "expected one of == != < <= > >= & at: 0"},
        {"ret && flags", "expected one of == != < <= > >= & at: && flags"},
        {"ret < x", "ret is compared with a number, which this is not: x"},
        {"ret == 'x'", "ret is compared with a number, which this is not: 'x'"},
        {"ret < 3x", "ret is compared with a number, which this is not: 3x"},
        {"filename < \"x\"", "expected == or != at: < \"x\""},
        {"filename == x", "filename is compared with a text in quotes, which this is not: x"},
        {"filename == \"x", "filename is compared with a text in quotes, which this is not: \"x"},
        {"(ret < 0", "expected ) at: the end"},
        {"ret < 0)", "expected && or || at: )"},
        {"ret < 0 ret > 3", "expected && or || at: ret > 3"},
    };
    struct tracepoint t;
    read_fields(&t);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct xp_tp p = {0};
        char why[256] = "";
        CHECK_EQ(condition_compile(cases[i].text, &t, &p, why, sizeof(why)), -EINVAL);
        CHECK_STR(why, cases[i].why);
    }
}

TEST(conditions_have_limits)
{
    static const char *const cases[][2] = {
        {"ret==1||ret==2||ret==3||ret==4||ret==5||ret==6||ret==7||ret==8||ret==9", "more than 8 comparisons"},
        {"(ret==1||ret==2||ret==3)&&(pid==1||pid==2||pid==3)", "more than 8 ways to fulfil it"},
        {"((((((((((((((((((((((((((((((((ret==1))))))))))))))))))))))))))))))))", "more than 32 parentheses"},
        {"filename == \"0123456789012345678901234567890123456789012345678901234567890123\"",
         "only 63 characters of a text can be compared: end it with a *"},
    };
    struct tracepoint t;
    read_fields(&t);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct xp_tp p = {0};
        char why[256] = "";
        CHECK_EQ(condition_compile(cases[i][0], &t, &p, why, sizeof(why)), -EINVAL);
        CHECK_STR(why, cases[i][1]);
    }
}

TEST(conditions_on_names_of_threads_can_be_fulfilled)
{
    struct tracepoint none = {0};
    struct xp_tp p = {0};
    char why[256] = "";
    CHECK_EQ(condition_compile("comm == 'fifteen letters' || comm != 'fifteen letters*'", &none, &p, why, sizeof(why)),
             0);
    CHECK_EQ(condition_compile("pid > 1 && comm == 'sixteen letters!'", &none, &p, why, sizeof(why)), -EINVAL);
    CHECK_STR(why, "names of threads have 15 characters at most: 'sixteen letters!'");
}
