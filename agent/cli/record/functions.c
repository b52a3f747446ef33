#include "cli/record/functions.h"
#include "base/cleanup.h"
#include "cli/record/copies.h"
#include "parser/parser.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether no instruction of any begins there. */
static bool is_between(const struct functions *found)
{
    u32 between = 0;
    for (u32 i = 0; i < found->n; i++)
        between += (found->v[i].flags & FUNCTION_BETWEEN) != 0;
    return found->n && between == found->n;
}

/* Within a function, the place is where it is; otherwise, where a probe is cheapest. */
static int take(const struct functions *found, const u64 *more, struct probe_places *out)
{
    out->offsets = calloc(found->n + 1, sizeof(*out->offsets));
    if (!out->offsets)
        return -ENOMEM;
    out->n = functions_places(found, more, out->when != PROBE_CALLS, out->offsets);
    out->harmed = out->when == PROBE_CALLS ? 0 : functions_kept_off(found);
    for (u32 i = 0; i < found->n; i++)
        if (!(found->v[i].flags & FUNCTION_INDIRECT))
            out->stepped += more || !(found->v[i].flags & FUNCTION_CHEAP);
    out->stepped = out->stepped < out->n ? out->stepped : out->n;
    return 0;
}

/* Return probes take what is on top of the stack for the return address, which it is where a function begins. */
static bool may_return(const struct functions *found, u64 offset)
{
    for (u32 i = 0; i < found->n; i++)
        if (found->v[i].offset != offset || found->v[i].flags & FUNCTION_KEEPS_RETURN)
            return false;
    return true;
}

static int take_bare(u64 offset, const struct functions *found, struct probe_places *out)
{
    if (!found->code || is_between(found) || (out->when != PROBE_CALLS && !may_return(found, offset)))
        return 0;
    out->offsets = malloc(sizeof(*out->offsets));
    if (!out->offsets)
        return -ENOMEM;
    out->offsets[0] = offset;
    out->n = out->stepped = 1; /* it is not known */
    return 0;
}

/* Whether there are some, and not too many. */
static int judge(const struct functions *found, const char *file, const char *name, const struct probe_places *places,
                 char *why, size_t len)
{
    if (found->left_out || places->n > RECORD_MAX_PLACES)
        snprintf(why, len, "%s: %s are %zu%s functions, of which %d can be probed at once: give a narrower pattern",
                 file, name, places->n, found->left_out ? " and more" : "", RECORD_MAX_PLACES);
    else if (places->n)
        return 0;
    else if (is_between(found))
        snprintf(why, len, "%s: no instruction begins at %s: a probe there would change what the program does", file,
                 name);
    else if (functions_kept_off(found))
        snprintf(why, len, "%s: %s does not return as others do, and would crash: use uprobe:", file, name);
    else if (!strncmp(name, "0x", 2))
        snprintf(why, len, "%s: %s begins at %s", file, found->code ? "no function" : "no code", name);
    else if (found->n)
        snprintf(why, len,
                 "%s: which code is %s is chosen when a program starts: name what it is on this machine, or 0xOFFSET",
                 file, name);
    else if (!found->all)
        snprintf(why, len,
                 "%s: it is stripped, so that nothing is called %s: install its debug file, or use --debug-dir", file,
                 name);
    else
        snprintf(why, len, "%s: none of its %u functions with a name is %s%s%s", file, found->all, name,
                 found->near[0] ? "; near it: " : "", found->near);
    return -ENOENT;
}

/* Whether its functions can be seen to return. */
static int judge_returns(const struct probed_file *f, const char *file, const char *function, bool offset, char *why,
                         size_t len)
{
    if (offset) {
        snprintf(why, len, "%s: only functions return: name one without +OFFSET", function);
        return -EINVAL;
    }
    int rc = record_ask_returns(f);
    if (rc == -ENOTSUP)
        snprintf(why, len,
                 "%s is a Go program, which would crash: its stacks move, return addresses and all. Use uprobe:", file);
    else if (rc)
        snprintf(why, len, "%s: it cannot be read: %s", file, strerror(-rc));
    return rc;
}

static int find_in(const struct probed_where *where, const struct probed_file *f, const char *file,
                   const char *function, struct probe_places *out, char *why, size_t len)
{
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    struct functions_spot spot;
    int rc = functions_split(function, &spot);
    if (rc) {
        snprintf(why, len, "%s: expected FUNCTION, FUNCTION+OFFSET, or 0xOFFSET in the file", function);
        return rc;
    }
    rc = out->when == PROBE_CALLS ? 0 : judge_returns(f, file, function, spot.within && spot.offset, why, len);
    if (rc)
        return rc;
    rc = record_ask_functions(where, f, function, &found);
    if (rc) {
        snprintf(why, len, "%s: its symbols cannot be read: %s", file, strerror(-rc));
        return rc;
    }
    rc = spot.bare ? take_bare(spot.offset, found.data, out) : take(found.data, spot.within ? &spot.offset : NULL, out);
    snprintf(why, len, "%s: out of memory", file);
    return rc ? rc : judge(found.data, file, function, out, why, len);
}

struct wanted {
    const struct probed_where *where;
    const char *function;
};

static int find_in_copy(void *ctx, const struct probed_file *f, const char *file, struct probe_places *out, char *why,
                        size_t len)
{
    const struct wanted *w = ctx;
    return find_in(w->where, f, file, w->function, out, why, len);
}

int record_find_function(void *options, const char *file, const char *function, struct probe_places *out, char *why,
                         size_t len)
{
    struct probed_where where = record_probed_where(options);
    struct wanted wanted = {&where, function};
    where.running &= strncmp(function, "0x", 2) != 0; /* an offset is one of a certain file */
    return record_find_in_copies(&where, file, find_in_copy, &wanted, out, why, len);
}
