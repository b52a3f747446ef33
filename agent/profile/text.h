/* Text for people: names that cannot harm what shows them, and quantities with a unit. */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"

/* Appends s (UTF-8) without what a terminal would obey: control characters become a space, marks that turn the
 * direction of writing U+FFFD; and the character `reserved` becomes `instead`. */
void text_clean(struct buf *b, const char *s, char reserved, char instead);

/* "1.23 s", "45.6 ms" for nanoseconds; "1,234,567" for all else. */
void text_quantity(struct buf *b, u64 value, const char *unit);

/* The last part of a path. */
const char *text_base(const char *path);
/* Characters, which for most scripts is columns of a terminal. */
size_t text_width(const char *s);
