/* Functions of a file by the names that they have in it, or in the language that they are written in. */
#pragma once
#include "base/buf.h"

/* functions_find with readable names of C++, Rust and D: "ns::f", "ns::f(int)". Runs in the parser process. */
int readable_functions(int fd, const char *pattern, struct buf *out);
