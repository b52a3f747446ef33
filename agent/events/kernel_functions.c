/* Which functions of the kernel a pattern names. */
#include "base/cleanup.h"
#include "base/vec.h"
#include "events/made_internal.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct names { /* sorted */
    VEC(char *) v;
};

static void names_free(struct names *n)
{
    for (size_t i = 0; i < n->v.n; i++)
        free(n->v.v[i]);
    vec_free(&n->v);
}

static int compare(const void *one, const void *two)
{
    return strcmp(*(char *const *)one, *(char *const *)two);
}

/* Of the list of those that can be traced, "NAME" or "NAME [MODULE]" per line, those that a pattern names. */
static int read_names(FILE *list, const char *pattern, struct names *out)
{
    char name[256];
    while (list && fscanf(list, "%255s%*[^\n]", name) == 1) {
        if (fnmatch(pattern, name, 0) != 0)
            continue;
        char **place = VEC_PUSH(&out->v);
        if (!place || !(*place = strdup(name)))
            return -ENOMEM;
    }
    if (out->v.n)
        qsort(out->v.v, out->v.n, sizeof(*out->v.v), compare);
    return 0;
}

static bool has(const struct names *names, const char *name)
{
    return names->v.n && bsearch(&name, names->v.v, names->v.n, sizeof(*names->v.v), compare);
}

/* What compilers put in front of functions, and what they split off, are none. */
static bool is_function(const char *symbol)
{
    size_t n = strlen(symbol);
    return strncmp(symbol, "__pfx_", 6) != 0 && strncmp(symbol, "__cfi_", 6) != 0 &&
           (n < 5 || strcmp(symbol + n - 5, ".cold") != 0);
}

static bool is_there(const struct probe_places *places, u64 address)
{
    for (size_t i = 0; i < places->n; i++)
        if (places->offsets[i] == address)
            return true;
    return false;
}

/* Goes through the symbols. *all: how many there are, however many places have room. */
static int match(FILE *symbols, const char *pattern, const struct names *traced, struct probe_places *out, size_t *all)
{
    unsigned long long address;
    char kind, symbol[256];
    while (fscanf(symbols, "%llx %c %255s%*[^\n]", &address, &kind, symbol) == 3) {
        if ((kind != 't' && kind != 'T') || fnmatch(pattern, symbol, 0) != 0 || !is_function(symbol))
            continue;
        if (!address) /* they are kept from us */
            return -EACCES;
        bool kept = !traced || has(traced, symbol);
        if (kept && is_there(out, address))
            continue;
        out->left_out += !kept;
        *all += kept;
        if (kept && out->n < KERNEL_FUNCTIONS)
            out->offsets[out->n++] = address;
    }
    return 0;
}

int kernel_functions(FILE *symbols, FILE *traceable, const char *pattern, struct probe_places *out, size_t *all)
{
    CLEANUP(names_free) struct names names = {0};
    int rc = read_names(traceable, pattern, &names);
    out->offsets = rc ? NULL : calloc(KERNEL_FUNCTIONS, sizeof(*out->offsets));
    *all = 0;
    if (!rc && !out->offsets)
        rc = -ENOMEM;
    if (!rc)
        rc = match(symbols, pattern, traceable ? &names : NULL, out, all);
    return rc || out->n ? rc : -ENOENT;
}
