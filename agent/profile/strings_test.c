#include "base/test.h"
#include "profile/strings.h"
#include <stdint.h>
#include <stdio.h>

size_t __sanitizer_get_current_allocated_bytes(void); /* sanitizer/allocator_interface.h, which gcc does not have */

static size_t held_by(struct strings **s, unsigned n)
{
    size_t before = __sanitizer_get_current_allocated_bytes();
    if (strings_new(s))
        return SIZE_MAX;
    for (unsigned i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof(text), "a_function_%u", i);
        strings_add(*s, text);
    }
    return __sanitizer_get_current_allocated_bytes() - before;
}

/* Hundreds of profiles with a stack or two may wait at the same time. */
TEST(strings_of_few_texts_take_little)
{
    struct strings *s;
    CHECK(held_by(&s, 20) < 4096);
    CHECK_STR(strings_text(s, 20), "a_function_19");
    strings_free(&s);
}

/* As many as it takes to need several chunks of each size. */
TEST(strings_stay_where_they_are)
{
    struct strings *s;
    CHECK(held_by(&s, 20000) < 4 << 20);
    CHECK_STR(strings_text(s, 1), "a_function_0");
    CHECK_STR(strings_text(s, 20000), "a_function_19999");
    strings_free(&s);
}
