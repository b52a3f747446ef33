#include "pipeline/named_file.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool named_file_is(const struct probe_places *places, const char *path)
{
    size_t n = path ? strlen(path) : 0, wanted = strlen(places->file);
    if (n < wanted || memcmp(path + n - wanted, places->file, wanted) != 0)
        return false;
    return n == wanted || (places->file[0] != '/' && path[n - wanted - 1] == '/');
}

int named_file_check_returns(struct parser *parser, int fd)
{
    struct facts facts;
    int rc = parser_facts(parser, fd, &facts);
    return rc ? rc : !strcmp(facts.language, "Go") ? -ENOTSUP : 0;
}

static int take(const struct functions *found, enum xp_place what, struct allocators *out)
{
    AUTO_FREE u64 *places = calloc(found->n + 1, sizeof(*places));
    if (!places)
        return -ENOMEM;
    size_t n = functions_places(found, NULL, what != XP_PLACE_CALLED, places);
    *out = (struct allocators){.magic = ALLOCATORS_MAGIC, .left_out = found->left_out};
    for (; out->n < n && out->n < ALLOCATORS_MAX; out->n++)
        out->site[out->n] = (struct xp_heap_site){places[out->n], what};
    out->left_out += (u32)n - out->n;
    return out->n ? 0 : -ENOENT;
}

static int read_functions(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out)
{
    static const enum xp_place what[] = {
        [PROBE_CALLS] = XP_PLACE_CALLED, [PROBE_RETURNS] = XP_PLACE_RETURNS, [PROBE_BOTH] = XP_PLACE_TIMED};
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    int rc = places->when != PROBE_CALLS ? named_file_check_returns(parser, fd) : 0;
    if (!rc)
        rc = parser_functions(parser, fd, -1, places->function, &found);
    return rc ? rc : take(found.data, what[places->when], out);
}

/* Sites without what conditions ask for are not followed. */
static int take_usdt(const struct usdt *found, u32 arguments, struct allocators *out, struct named_usdt *usdt)
{
    AUTO_FREE const struct usdt_site **sites = calloc(found->n + 1, sizeof(*sites));
    if (!sites)
        return -ENOMEM;
    size_t n = usdt_places(found, arguments, sites);
    *out = (struct allocators){.magic = ALLOCATORS_MAGIC, .left_out = found->left_out};
    for (; out->n < n && out->n < ALLOCATORS_MAX; out->n++) {
        out->site[out->n] = (struct xp_heap_site){sites[out->n]->offset, XP_PLACE_USDT};
        usdt->counters[out->n] = sites[out->n]->semaphore;
        usdt->sites[out->n] = sites[out->n]->at;
    }
    usdt->n = out->n;
    out->left_out += found->n - out->n;
    return out->n ? 0 : -ENOENT;
}

static int read_usdt(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out,
                     struct named_usdt **usdt)
{
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    AUTO_FREE struct named_usdt *taken = calloc(1, sizeof(*taken));
    int rc = taken ? parser_usdt(parser, fd, places->function, &found) : -ENOMEM;
    if (!rc)
        rc = take_usdt(found.data, places->arguments, out, taken);
    if (!rc)
        *usdt = TAKE_PTR(taken);
    return rc;
}

int named_file_read(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out,
                    struct named_usdt **usdt)
{
    *usdt = NULL;
    return places->usdt ? read_usdt(parser, fd, places, out, usdt) : read_functions(parser, fd, places, out);
}
