/* Interns strings: equal strings have equal numbers, string 0 is "". The input is bytes from binaries and kernels. The
 * output is UTF-8, with each invalid byte replaced by U+FFFD. Texts stay valid until strings_free.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct strings;

int strings_new(struct strings **out); /* 0 or -ENOMEM */
void strings_free(struct strings **s);

/* Returns the number of the text; 0 for "". If memory runs out, returns 0, and strings_failed returns true from then
 * on. */
u32 strings_add(struct strings *s, const char *text);
const char *strings_text(const struct strings *s, u32 string);
size_t strings_count(const struct strings *s);
bool strings_failed(const struct strings *s);
