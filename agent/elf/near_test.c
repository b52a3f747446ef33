#include "elf/near.h"
#include "base/test.h"
#include <string.h>

TEST(near_names_are_alike)
{
    static const char *const names[] = {"open_file", "OPEN",      "ope",      "op",
                                        "close",     "open_file", "o\033pen", "open_file"};
    struct near near = {.wanted = "open"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        near_add(&near, names[i]);
    CHECK_STR(near.text, "open_file OPEN ope open_file");
    CHECK_EQ(near.n, 4);
}

TEST(near_names_differ_by_a_slip)
{
    static const struct {
        const char *name, *wanted;
        unsigned near;
    } cases[] = {
        {"plain", "plian", 1}, {"plain", "plxin", 1}, {"plain", "plaiin", 1}, {"plain", "plin", 1},
        {"plain", "lpain", 1}, {"plain", "plani", 1}, {"plain", "pxxin", 0},  {"plain", "palni", 0},
        {"for", "fro", 0},     {"ab:cd", "ab:dc", 1}, {"ab:open", "opne", 1}, {"plain", "xplaix", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct near near = {.wanted = cases[i].wanted};
        near_add(&near, cases[i].name);
        CHECK_EQ(near.n, cases[i].near);
    }
}

TEST(near_names_have_a_limit)
{
    struct near near = {.wanted = "x"}, full = {.wanted = "x"};
    char name[] = "xa", longest[NEAR_TEXT + 1];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[NEAR_TEXT] = 0;
    near_add(&near, longest);
    CHECK_STR(near.text, "");
    for (; name[1] < 'z'; name[1]++)
        near_add(&near, name);
    CHECK_STR(near.text, "xa xb xc xd xe");
    for (int i = 0; i < 4; i++) {
        longest[100] = 0;
        longest[0] = (char)('a' + i);
        near_add(&full, longest);
    }
    CHECK_EQ(full.n, 2);
}
