#include "pipeline/named_file.h"
#include <errno.h>
#include <string.h>

bool named_file_is(const struct probe_places *places, const char *path)
{
    size_t n = path ? strlen(path) : 0, wanted = strlen(places->file);
    if (n < wanted || memcmp(path + n - wanted, places->file, wanted) != 0)
        return false;
    return n == wanted || (places->file[0] != '/' && path[n - wanted - 1] == '/');
}

/* Stacks of Go move, with the return addresses on them. */
static int check_returns(struct parser *parser, int fd)
{
    struct facts facts;
    int rc = parser_facts(parser, fd, &facts);
    return rc ? rc : !strcmp(facts.language, "Go") ? -ENOTSUP : 0;
}

int named_file_read(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out)
{
    struct functions found;
    int rc = places->returns ? check_returns(parser, fd) : 0;
    if (!rc)
        rc = parser_functions(parser, fd, places->function, &found);
    if (rc)
        return rc;
    u64 what = places->returns ? XP_PLACE_RETURNS : XP_PLACE_CALLED;
    *out = (struct allocators){.magic = ALLOCATORS_MAGIC};
    for (; out->n < found.n && out->n < ALLOCATORS_MAX; out->n++)
        out->site[out->n] = (struct xp_heap_site){found.offset[out->n], what};
    out->left_out = found.left_out + found.n - out->n;
    return out->n ? 0 : -ENOENT;
}
