#include "cli/record/functions.h"
#include "base/cleanup.h"
#include "cli/record/probed_file.h"
#include "parser/parser.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The function ------------------------------------------------------------------------------------------------ */

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
static int ask(int fd, const char *name, struct functions *found, struct facts *facts)
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

static int take(const u64 *offsets, size_t n, u64 more, int *fd, struct probe_places *out)
{
    out->offsets = calloc(n, sizeof(*out->offsets));
    if (!out->offsets)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        out->offsets[i] = offsets[i] + more;
    out->n = n;
    out->fd = TAKE_FD(*fd);
    return 0;
}

static int find_in(int *fd, const char *file, const char *function, struct probe_places *out, char *why, size_t len)
{
    char name[FUNCTIONS_NAME + 1], *end;
    struct functions found;
    struct facts facts;
    u64 more = 0, offset = strtoull(function, &end, 16);
    bool bare = !strncmp(function, "0x", 2) && !*end;
    int rc = bare ? 0 : split_offset(function, name, sizeof(name), &more);
    if (rc)
        snprintf(why, len, "%s: expected FUNCTION, FUNCTION+OFFSET, or 0xOFFSET in the file", function);
    else if ((rc = ask(*fd, bare ? NULL : name, &found, &facts)))
        snprintf(why, len, "%s: its symbols cannot be read: %s", file, strerror(-rc));
    else if (out->returns && !strcmp(facts.language, "Go"))
        snprintf(why, len,
                 "%s is a Go program, which would crash: its stacks move, return addresses and all. Use uprobe:", file);
    else if (bare)
        return take(&offset, 1, 0, fd, out);
    else if (!found.n && found.indirect)
        snprintf(why, len,
                 "%s: which code is %s is chosen when a program starts: name what it is on this machine, or 0xOFFSET",
                 file, name);
    else if (!found.n)
        snprintf(why, len, "%s: none of its %u functions with a name is %s%s%s", file, found.all, name,
                 found.near[0] ? "; near it: " : "", found.near);
    else if (found.left_out)
        snprintf(why, len, "%s: more than %d functions are %s", file, FUNCTIONS_MAX, name);
    else
        return take(found.offset, found.n, more, fd, out);
    return rc ? rc : -ENOENT;
}

int record_find_function(void *options, const char *file, const char *function, struct probe_places *out, char *why,
                         size_t len)
{
    AUTO_CLOSE int fd = record_open_probed(&((struct record_options *)options)->pids, file, why, len);
    return fd < 0 ? fd : find_in(&fd, file, function, out, why, len);
}
