#include "profile/name_set.h"
#include "base/test.h"
#include <stdio.h>

#define PLACES 20000

/* Many places, of which pairs share a text: all are found again, and each text is there once. */
TEST(name_set_finds_places_and_keeps_texts_once)
{
    struct name_set s = {0};
    size_t bytes = 1;
    char strings[64];
    for (u32 i = 0; i < PLACES; i++) {
        int len = snprintf(strings, sizeof(strings), "%cC.method%u", 0, i / 2);
        struct names_frame f = {.start = i, .name = 1, .line = i};
        bytes += i % 2 ? 0 : (size_t)len;
        CHECK_EQ(name_set_cost(&s, &f, 1, strings) - 4 - sizeof(f) - sizeof(s.places.v[0]),
                 i % 2 ? 0 : (size_t)len + 4);
        CHECK_EQ(name_set_add(&s, 1 + i % 2, i / 2 * 8, &f, 1, strings), 0);
    }
    CHECK_EQ(s.strings.len, bytes);
    CHECK_EQ(s.string_of.n, PLACES / 2);
    CHECK(s.by_key.cap * sizeof(s.by_key.v[0]) <= 8 * PLACES);
    for (u32 i = 0; i < PLACES; i++) {
        const struct named_place *p = name_set_find(&s, 1 + i % 2, i / 2 * 8);
        CHECK(p && p->n == 1 && s.frames.v[p->first].line == i);
        snprintf(strings, sizeof(strings), "C.method%u", s.frames.v[p->first].line / 2);
        CHECK_STR(s.strings.data + s.frames.v[p->first].name, strings);
    }
    CHECK(!name_set_find(&s, 4, 0));
    CHECK(!name_set_find(&s, 1, 3));
    name_set_free(&s);
    CHECK(!name_set_find(&s, 1, 0));
}
