/* Demangles names: Itanium C++, Rust (legacy, whose hash is dropped, and v0) and D. Other names are not changed.
 *
 * Mangled names can be written so that they expand exponentially; length, depth and output are bounded, and a name that
 * goes beyond stays mangled.
 */
#pragma once
#include "base/buf.h"
#include <stddef.h>

#define DEMANGLE_MAX_IN  (16u << 10)
#define DEMANGLE_MAX_OUT (16u << 10)

enum demangle_style {
    DEMANGLE_FULL,  /* ns::f<int>(char const*) */
    DEMANGLE_SHORT, /* ns::f<int> */
};

/* Appends the readable form of `len` bytes at `name` (any bytes) to `out`: always UTF-8, without NULs inside, not
 * terminated. True: it was demangled. */
bool demangle(const char *name, size_t len, enum demangle_style style, struct buf *out);
/* Appends the bytes as UTF-8: what is not becomes U+FFFD. */
void append_utf8(struct buf *out, const char *s, size_t len);
/* How much of a symbol's name is the function's own: compilers add .cold, .part.0, .isra.0, .constprop.1, .llvm.123 and
 * the like to clones and to parts that they moved away. */
size_t demangle_base(const char *name, size_t len);
