/* Functions of a file by the names that they have in it, or in the language that they are written in. */
#pragma once
#include "base/buf.h"

/* functions_find with readable names of C++, Rust and D: "ns::f", "ns::f(int)". All that are found have theirs, as far
 * as FUNCTIONS_BYTES allows. A breakpoint in the middle of an instruction would change what the program does: of
 * NAME+OFFSET, functions are marked FUNCTION_BETWEEN if none of their instructions begins there; of 0xOFFSET, those are
 * found that have it, marked likewise. Names are in the file itself, its MiniDebugInfo, and `debug`, its debug file
 * (-1: none). Runs in the parser process. */
int readable_functions(int fd, int debug, const char *text, struct buf *out);
