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

static int take(const struct functions *found, u64 what, struct allocators *out)
{
    AUTO_FREE u64 *places = calloc(found->n + 1, sizeof(*places));
    if (!places)
        return -ENOMEM;
    size_t n = functions_places(found, NULL, what == XP_PLACE_RETURNS, places);
    *out = (struct allocators){.magic = ALLOCATORS_MAGIC, .left_out = found->left_out};
    for (; out->n < n && out->n < ALLOCATORS_MAX; out->n++)
        out->site[out->n] = (struct xp_heap_site){places[out->n], what};
    out->left_out += (u32)n - out->n;
    return out->n ? 0 : -ENOENT;
}

int named_file_read(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out)
{
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    bool returns = places->when == PROBE_RETURNS;
    int rc = returns ? named_file_check_returns(parser, fd) : 0;
    if (!rc)
        rc = parser_functions(parser, fd, places->function, &found);
    if (rc)
        return rc;
    return take(found.data, returns ? XP_PLACE_RETURNS : XP_PLACE_CALLED, out);
}
