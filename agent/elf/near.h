/* Names that are like one that a file does not have, for messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define NEAR_TEXT 256
#define NEAR_MAX  5

struct near {
    const char *wanted;   /* may be a pattern */
    char text[NEAR_TEXT]; /* with blanks between them */
    unsigned n;
};

/* Keeps a name that is alike: it has the wanted one in it, is a part of it and not much shorter, or differs by
 * capitals or by one slip of the fingers. Names with other than printable characters are left out. */
void near_add(struct near *near, const char *name);
/* Whether a text of another process ends within `size` bytes, and has printable characters only. */
bool near_is_text(const char *text, size_t size);
