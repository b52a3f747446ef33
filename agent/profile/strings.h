/* Interns strings: equal strings have equal numbers, string 0 is "". What comes in are bytes out of binaries and
 * kernels; what goes out is UTF-8, each byte that is none replaced by U+FFFD. Texts stay where they are until
 * strings_free.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct strings;

int strings_new(struct strings **out); /* 0 or -ENOMEM */
void strings_free(struct strings **s);

/* The number of the text; 0 for "". Without memory 0 as well, and strings_failed says so from then on. */
u32 strings_add(struct strings *s, const char *text);
const char *strings_text(const struct strings *s, u32 string);
size_t strings_count(const struct strings *s);
bool strings_failed(const struct strings *s);
