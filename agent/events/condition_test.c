/* Conditions are judged here as the eBPF program judges them, by a record of a crafted tracepoint. */
#include "base/test.h"
#include "events/condition.h"
#include <errno.h>
#include <string.h>

static const char FORMAT[] =
    "name: opened\n"
    "ID: 365\n"
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:int ret;\toffset:12;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned long flags;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:0;\n"
    "\tfield:const char * path;\toffset:40;\tsize:8;\tsigned:0;\n"
    "\tfield:u8 addr[4];\toffset:48;\tsize:4;\tsigned:0;\n"
    "\tfield:void * page;\toffset:56;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc u8[] raw;\toffset:64;\tsize:4;\tsigned:0;\n"
    "\n"
    "print fmt: \"%s\", __get_str(filename)\n";

static void read_fields(struct tracepoint *out)
{
    char text[sizeof(FORMAT)];
    memcpy(text, FORMAT, sizeof(text));
    CHECK_EQ(tracefs_format(text, out), 0);
}

TEST(tracefs_fields)
{
    static const struct {
        const char *name, *type;
        u32 offset;
        u16 size;
        u8 source;
    } fields[] = {
        {"filename", "__data_loc char[]", 8, 4, XP_TP_DATA}, {"ret", "int", 12, 4, XP_TP_SIGNED},
        {"flags", "unsigned long", 16, 8, XP_TP_UNSIGNED},   {"comm", "char [16]", 24, 16, XP_TP_ARRAY},
        {"path", "const char *", 40, 8, XP_TP_USER},         {"addr", "u8 [4]", 48, 4, XP_TP_NOTHING},
        {"page", "void *", 56, 8, XP_TP_UNSIGNED},           {"raw", "__data_loc u8[]", 64, 4, XP_TP_NOTHING},
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

/* A record with ret = -2, flags = 0x41, comm = "cat", filename = "/etc/passwd"; the process is 100, its thread 101. */
static bool holds(const struct xp_tp_term *t)
{
    const char *text = t->field.source == XP_TP_COMM || t->field.offset == 24 ? "cat" : "/etc/passwd";
    bool same = !strncmp(text, t->text, t->length), is_signed = t->field.source == XP_TP_SIGNED;
    u64 v = t->field.source == XP_TP_PID   ? 100
            : t->field.source == XP_TP_TID ? 101
            : t->field.offset == 12        ? (u64)-2
                                           : 0x41;
    if (t->field.source < XP_TP_ARRAY || t->field.source > XP_TP_COMM)
        same = t->test == XP_TP_LESS      ? (is_signed ? (s64)v < (s64)t->number : v < t->number)
               : t->test == XP_TP_GREATER ? (is_signed ? (s64)v > (s64)t->number : v > t->number)
               : t->test == XP_TP_BITS    ? (v & t->number) != 0
                                          : v == t->number;
    return same != t->negated;
}

static bool fulfils(const struct xp_tp *p)
{
    u8 held = 0;
    for (u32 i = 0; i < p->nterms; i++)
        held |= (u8)(holds(&p->terms[i]) << i);
    for (u32 i = 0; i < p->nways; i++)
        if ((held & p->ways[i]) == p->ways[i])
            return true;
    return false;
}

TEST(conditions_hold_or_not)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"ret < 0", true},
        {"ret<0&&ret>-3", true},
        {"ret >= -2", true},
        {"ret > -2", false},
        {"ret <= -3", false},
        {"ret == -2", true},
        {"ret != -2", false},
        {"flags & 0x40", true},
        {"flags & 0x3e", false},
        {"!(flags & 0x3e)", true},
        {"flags == 0101", true},
        {"filename == \"/etc/passwd\"", true},
        {"filename == '/etc/passw'", false},
        {"filename == '/etc/passw*'", true},
        {"filename != \"/etc/*\"", false},
        {"flags == '/etc/p*' && path != 'x'", true}, /* the address of a text */
        {"comm == \"cat\"", true},
        {"pid == 100 && tid == 101", true},
        {"pid == 101 || tid == 100", false},
        {"ret == 1 || flags == 65 && pid == 100", true},
        {"(ret == 1 || flags == 65) && pid == 1", false},
        {"!(ret == 1 || flags == 65)", false},
        {"!(ret == 1 && flags == 65)", true},
        {"!!(ret == -2)", true},
        {"!(ret == -2 && !(pid == 7 || tid == 101))", true},
        {"(ret == 1 || ret == -2) && (pid == 1 || pid == 100) && tid == 101", true},
        {"(ret == 1 || ret == -2) && (pid == 1 || pid == 100) && tid == 102", false},
    };
    struct tracepoint t;
    read_fields(&t);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct xp_tp p = {0};
        char why[256] = "";
        CHECK_EQ(condition_compile(cases[i].text, &t, &p, why, sizeof(why)), 0);
        CHECK_STR(fulfils(&p) == cases[i].holds ? cases[i].text : "", cases[i].text);
    }
}

TEST(conditions_that_are_none_say_where)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "expected the name of a field at: the end"},
        {"3 == ret", "expected the name of a field at: 3 == ret"},
        {"rets < 0", "there is no field rets; fields: filename ret flags comm path addr page raw comm pid tid"},
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
