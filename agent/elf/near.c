#include "elf/near.h"
#include <string.h>

static bool is_printable(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return true;
}

static bool is_alike(const char *name, const char *wanted)
{
    return strstr(name, wanted) || (3 * strlen(name) > 2 * strlen(wanted) && strstr(wanted, name)) ||
           !strcasecmp(name, wanted);
}

/* Some things have the same name, one after the other. */
static bool is_last(const struct near *near, const char *name)
{
    const char *last = strrchr(near->text, ' ');
    return !strcmp(last ? last + 1 : near->text, name);
}

void near_add(struct near *near, const char *name)
{
    size_t len = strlen(near->text), n = strlen(name);
    if (near->n == NEAR_MAX || len + n + 2 > NEAR_TEXT || !is_alike(name, near->wanted) || !is_printable(name) ||
        is_last(near, name))
        return;
    if (len)
        near->text[len++] = ' ';
    memcpy(near->text + len, name, n + 1);
    near->n++;
}

bool near_is_text(const char *text, size_t size)
{
    const char *end = memchr(text, 0, size);
    for (const char *c = text; end && c < end; c++)
        if (*c < ' ' || *c > '~')
            return false;
    return end != NULL;
}
