/* Formats text for people: names that are safe to display, and quantities with a unit. */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"

/* Appends s (UTF-8) without characters that control a terminal: control characters become a space, marks for the
 * direction of writing become U+FFFD, and the character `reserved` becomes `instead`. */
void text_clean(struct buf *b, const char *s, char reserved, char instead);

/* Appends "1.23 s" or "45.6 ms" for nanoseconds; "1,234,567" for all other units. */
void text_quantity(struct buf *b, u64 value, const char *unit);

/* Appends at most n characters of s, cleaned, as text of XML and HTML; ".." marks truncation. */
void text_xml(struct buf *b, const char *s, size_t n);

/* Appends a decimal number; fast, for files with millions of them. */
void text_uint(struct buf *b, u64 v);

/* Shortens b to at most n characters; ".." marks truncation. */
void text_cut(struct buf *b, size_t n);

/* Returns the last component of a path. */
const char *text_base(const char *path);
/* Returns the number of characters, which for most scripts is the number of terminal columns. */
size_t text_width(const char *s);
