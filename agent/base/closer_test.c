#include "base/closer.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <unistd.h>

/* A pipe whose other end is closed has an end. */
TEST(closer_closes_all_that_it_was_given)
{
    CLEANUP(closer_free) struct closer *c = NULL;
    int ends[2], before = test_descriptors();
    char byte;
    CHECK_EQ(closer_new(&c), 0);
    CHECK_EQ(pipe(ends), 0);
    closer_put(c, -1);
    closer_put(c, ends[1]);
    CHECK_EQ(read(ends[0], &byte, 1), 0);
    for (int i = 0; i < 100; i++)
        closer_put(c, dup(ends[0]));
    closer_put(c, ends[0]);
    closer_free(&c);
    CHECK_EQ(test_descriptors(), before);
}

TEST(closer_that_was_given_nothing)
{
    CLEANUP(closer_free) struct closer *c = NULL;
    CHECK_EQ(closer_new(&c), 0);
    closer_free(&c);
    closer_free(&c); /* does nothing */
}
