#include "elf/near.h"
#include <string.h>

#define SLIP_MIN 4 /* characters of names that are alike but for a slip */

static bool is_printable(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return true;
}

/* Whether one character is too many, missing, or another one, or two have changed places. */
static bool is_slip(const char *name, const char *wanted)
{
    size_t n = strlen(name), m = strlen(wanted), same = 0;
    while (name[same] && name[same] == wanted[same])
        same++;
    const char *a = name + same, *b = wanted + same;
    if (n < SLIP_MIN || m < SLIP_MIN || !*a || !*b)
        return false; /* one begins with the other */
    bool turned = a[0] == b[1] && a[1] == b[0] && a[1] && !strcmp(a + 2, b + 2);
    return turned || !strcmp(a + 1, b + 1) || !strcmp(a + 1, b) || !strcmp(a, b + 1);
}

static bool is_alike(const char *name, const char *wanted)
{
    const char *colon = strrchr(name, ':'); /* what is before it may be left out */
    return is_slip(name, wanted) || (colon && is_slip(colon + 1, wanted)) || strstr(name, wanted) ||
           (3 * strlen(name) > 2 * strlen(wanted) && strstr(wanted, name)) || !strcasecmp(name, wanted);
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
