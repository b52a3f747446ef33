#include "cli/record/functions.h"
#include "base/cleanup.h"
#include "cli/record/probed_file.h"
#include "parser/parser.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits off "+OFFSET". Returns 0 or -EINVAL. */
static int split_offset(const char *function, char *name, size_t len, u64 *offset)
{
    const char *plus = strchr(function, '+');
    char *end = NULL;
    *offset = plus ? strtoull(plus + 1, &end, 0) : 0;
    if (plus && (end == plus + 1 || *end))
        return -EINVAL;
    size_t n = plus ? (size_t)(plus - function) : strlen(function);
    if (!n || n >= len)
        return -EINVAL;
    memcpy(name, function, n);
    name[n] = 0;
    return 0;
}

/* `name` NULL: only the facts. */
static int ask(int fd, const char *name, struct parser_reply *found, struct facts *facts)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    struct parser *p = NULL;
    int rc = parser_new(&p, &limits);
    if (!rc)
        rc = parser_facts(p, fd, facts);
    if (!rc && name)
        rc = parser_functions(p, fd, name, found);
    parser_free(&p);
    return rc;
}

static int compare(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return (x > y) - (x < y);
}

/* Each place once, whatever number of names it has. */
static size_t tidy(u64 *offsets, size_t n)
{
    size_t kept = 0;
    qsort(offsets, n, sizeof(*offsets), compare);
    for (size_t i = 0; i < n; i++)
        if (!kept || offsets[kept - 1] != offsets[i])
            offsets[kept++] = offsets[i];
    return kept;
}

/* Within a function, the place is where it is; otherwise, where a probe is cheapest. */
static int take(const struct functions *found, const u64 *more, struct probe_places *out)
{
    size_t n = 0;
    out->offsets = calloc(found->n, sizeof(*out->offsets));
    if (!out->offsets)
        return -ENOMEM;
    for (u32 i = 0; i < found->n; i++) {
        if (found->v[i].flags & FUNCTION_INDIRECT)
            continue;
        out->offsets[n++] = found->v[i].offset + (more ? *more : found->v[i].ahead);
        out->stepped += more || !(found->v[i].flags & FUNCTION_CHEAP);
    }
    out->n = tidy(out->offsets, n);
    out->stepped = out->stepped < out->n ? out->stepped : out->n;
    return 0;
}

static int take_bare(u64 offset, struct probe_places *out)
{
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
    else if (found->n)
        snprintf(why, len,
                 "%s: which code is %s is chosen when a program starts: name what it is on this machine, or 0xOFFSET",
                 file, name);
    else
        snprintf(why, len, "%s: none of its %u functions with a name is %s%s%s", file, found->all, name,
                 found->near[0] ? "; near it: " : "", found->near);
    return -ENOENT;
}

static int find_in(int fd, const char *file, const char *function, struct probe_places *out, char *why, size_t len)
{
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    char name[FUNCTIONS_NAME + 1], *end;
    struct facts facts;
    u64 more = 0, offset = strtoull(function, &end, 16);
    bool bare = !strncmp(function, "0x", 2) && !*end;
    int rc = bare ? 0 : split_offset(function, name, sizeof(name), &more);
    if (rc) {
        snprintf(why, len, "%s: expected FUNCTION, FUNCTION+OFFSET, or 0xOFFSET in the file", function);
        return rc;
    }
    rc = ask(fd, bare ? NULL : name, &found, &facts);
    if (rc) {
        snprintf(why, len, "%s: its symbols cannot be read: %s", file, strerror(-rc));
        return rc;
    }
    if (out->when != PROBE_CALLS && more) {
        snprintf(why, len, "%s: only functions return: name one without +OFFSET", function);
        return -EINVAL;
    }
    if (out->when != PROBE_CALLS && !strcmp(facts.language, "Go")) {
        snprintf(why, len,
                 "%s is a Go program, which would crash: its stacks move, return addresses and all. Use uprobe:", file);
        return -ENOTSUP;
    }
    rc = bare ? take_bare(offset, out) : take(found.data, strchr(function, '+') ? &more : NULL, out);
    snprintf(why, len, "%s: out of memory", file);
    return rc || bare ? rc : judge(found.data, file, name, out, why, len);
}

int record_find_function(void *options, const char *file, const char *function, struct probe_places *out, char *why,
                         size_t len)
{
    const struct record_options *o = options;
    struct probed_where where = {o->pids, o->cri_socket};
    AUTO_CLOSE int fd = record_open_probed(&where, file, why, len);
    int rc = fd < 0 ? fd : find_in(fd, file, function, out, why, len);
    if (!rc)
        out->fd = TAKE_FD(fd);
    return rc;
}
