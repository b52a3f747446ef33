/* Command lines as tests write them. */
#pragma once
#include <string.h>

#define MAX_ARGS 16
/* The arguments, split at blanks. */
static inline int split(char *line, char **argv)
{
    int n = 0;
    argv[n++] = (char *)"test";
    for (char *word; n < MAX_ARGS && (word = strsep(&line, " "));)
        if (*word)
            argv[n++] = word;
    argv[n] = NULL;
    return n;
}
