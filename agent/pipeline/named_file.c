#include "pipeline/named_file.h"
#include "base/cleanup.h"
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

/* Each function where a probe is cheapest. Which code some names mean is chosen when a program starts: not these. */
static void take(const struct functions *found, u64 what, struct allocators *out)
{
    *out = (struct allocators){.magic = ALLOCATORS_MAGIC, .left_out = found->left_out};
    for (u32 i = 0; i < found->n; i++) {
        const struct function *f = &found->v[i];
        if (f->flags & FUNCTION_INDIRECT)
            continue;
        if (out->n < ALLOCATORS_MAX)
            out->site[out->n++] = (struct xp_heap_site){f->offset + f->ahead, what};
        else
            out->left_out++;
    }
}

int named_file_read(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out)
{
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    bool returns = places->when == PROBE_RETURNS;
    int rc = returns ? check_returns(parser, fd) : 0;
    if (!rc)
        rc = parser_functions(parser, fd, places->function, &found);
    if (rc)
        return rc;
    take(found.data, returns ? XP_PLACE_RETURNS : XP_PLACE_CALLED, out);
    return out->n ? 0 : -ENOENT;
}
