/* Formats text for people: names that are safe to display, and quantities with a unit. */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"

/* Appends s (UTF-8) without what a terminal would obey: control characters become a space, marks that turn the
 * direction of writing U+FFFD; and the character `reserved` becomes `instead`. */
void text_clean(struct buf *b, const char *s, char reserved, char instead);

/* "1.23 s", "45.6 ms" for nanoseconds; "1,234,567" for all else. */
void text_quantity(struct buf *b, u64 value, const char *unit);

/* At most n characters of s, cleaned, as text of XML and HTML; ".." says that there were more. */
void text_xml(struct buf *b, const char *s, size_t n);

/* A decimal number: for files that hold millions of them. */
void text_uint(struct buf *b, u64 v);

/* Shortens b to at most n characters; ".." says that there were more. */
void text_cut(struct buf *b, size_t n);

/* The last part of a path. */
const char *text_base(const char *path);
/* Characters, which for most scripts is columns of a terminal. */
size_t text_width(const char *s);
