#include "elf/function_names.h"
#include "base/test.h"

TEST(function_names_fit_patterns)
{
    static const struct {
        const char *pattern, *name;
        bool fits;
    } cases[] = {
        {"f", "f", true},
        {"f", "ff", false},
        {"", "", true},
        {"", "f", false},
        {"*", "", true},
        {"a*b?c", "a_bb_c", true},
        {"a*b?c", "abxc_", false},
        {"*ab*ab", "abaab", true},
        {"**a", "ba", true},
        {"f[abc]", "f[abc]", true},
        {"f[abc]", "fa", false},
        {"f\\*", "f\\x", true},
        {"main.Sum[...]", "main.Sum[go.shape.int]", true},
        {"main.Sum[...]", "main.Sum.func1", false},
        {"main.(*T).Get", "main.(*T).Get", true},
        {"main.(*T).Get", "main.(*OtherT).Get", false},
        {"main.(*Box[...]).Get", "main.(*Box[go.shape.int]).Get", true},
        {"main.(*Box[...]).Get", "main.(*OtherBox[go.shape.int]).Get", false},
        {"f(*)", "f(int, char)", true},
        {"main.(*).Get", "main.(*T).Get", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (function_name_fits(cases[i].pattern, cases[i].name) != cases[i].fits)
            test_fail(__FILE__, __LINE__, "%s and %s", cases[i].pattern, cases[i].name);
}

TEST(function_names_that_are_left_more_than_once)
{
    static const char *const keep[] = {"setjmp", "_setjmp",      "__sigsetjmp",       "__GI___sigsetjmp",
                                       "vfork",  "__restore_rt", "_Unwind_Backtrace", "_dl_runtime_resolve_xsavec"};
    static const char *const others[] = {"start", "longjmp", "setjmp_count", "fork", "main", "_dl_start", ""};
    for (size_t i = 0; i < sizeof(keep) / sizeof(*keep); i++)
        CHECK(function_keeps_return(keep[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CHECK(!function_keeps_return(others[i]));
}
