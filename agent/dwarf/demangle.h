/* Demangles names: Itanium C++, Rust (legacy, whose hash is dropped, and v0) and D. Other names are not changed.
 *
 * Mangled names can be crafted to expand exponentially. So length, depth and output are limited; a name beyond a limit
 * stays mangled.
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

/* Appends the readable form of `len` arbitrary bytes at `name` to `out`: always UTF-8 without NUL, not terminated.
 * True: it was demangled. */
bool demangle(const char *name, size_t len, enum demangle_style style, struct buf *out);
/* Appends the bytes as UTF-8; invalid bytes become U+FFFD. */
void append_utf8(struct buf *out, const char *s, size_t len);
/* Returns the length of a symbol's name without suffixes by the compiler: .cold, .part.0, .isra.0, .constprop.1,
 * .llvm.123 and similar, for clones and split-off parts. */
size_t demangle_base(const char *name, size_t len);
