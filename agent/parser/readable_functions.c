#include "parser/readable_functions.h"
#include "dwarf/demangle.h"
#include "elf/functions.h"
#include <string.h>

static bool readable(const char *name, bool parameters, struct buf *out)
{
    return demangle(name, strlen(name), parameters ? DEMANGLE_FULL : DEMANGLE_SHORT, out);
}

int readable_functions(int fd, const char *pattern, struct buf *out)
{
    return functions_find(fd, pattern, readable, out);
}
