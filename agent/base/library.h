/* Loads shared libraries when they are first needed. libcurl and libmicrohttpd bring 25 others, which takes 7 ms and a
 * megabyte: the agent's child processes never need them, nor do most commands.
 */
#pragma once
#include <stddef.h>

struct library_function {
    const char *name;
    size_t place; /* of its address in the table */
};

/* Loads `file` for good, and writes the addresses of its functions, up to one without a name, into `table`. Returns 0;
 * -ELIBACC: it is not there, or cannot be loaded; -ELIBBAD: it lacks a function. */
int library_load(const char *file, const struct library_function functions[], void *table);
