#include "cli/record/functions.h"
#include "base/cleanup.h"
#include "cli/record/probed_file.h"
#include "pipeline/named_file.h"
#include "parser/parser.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the name, "+OFFSET"; NULL: there is none. operator+ has none. */
static const char *offset_of(const char *function)
{
    const char *plus = strrchr(function, '+');
    return plus && plus[1] >= '0' && plus[1] <= '9' ? plus : NULL;
}

/* Splits off "+OFFSET". Returns 0 or -EINVAL. */
static int split_offset(const char *function, char *name, size_t len, u64 *offset)
{
    const char *plus = offset_of(function);
    char *end = NULL;
    *offset = plus ? strtoull(plus + 1, &end, 0) : 0;
    if (plus && *end)
        return -EINVAL;
    size_t n = plus ? (size_t)(plus - function) : strlen(function);
    if (!n || n >= len)
        return -EINVAL;
    memcpy(name, function, n);
    name[n] = 0;
    return 0;
}

/* named_file_check_returns as a probed_request, of which there is no reply. */
static int check_returns(struct parser *p, int fd, const char *pattern, struct parser_reply *out)
{
    (void)pattern, (void)out;
    return named_file_check_returns(p, fd);
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
    else if (functions_kept_off(found))
        snprintf(why, len, "%s: %s does not return as others do, and would crash: use uprobe:", file, name);
    else if (found->n)
        snprintf(why, len,
                 "%s: which code is %s is chosen when a program starts: name what it is on this machine, or 0xOFFSET",
                 file, name);
    else
        snprintf(why, len, "%s: none of its %u functions with a name is %s%s%s", file, found->all, name,
                 found->near[0] ? "; near it: " : "", found->near);
    return -ENOENT;
}

/* Whether its functions can be seen to return. */
static int judge_returns(int fd, const char *file, const char *function, bool offset, char *why, size_t len)
{
    if (offset) {
        snprintf(why, len, "%s: only functions return: name one without +OFFSET", function);
        return -EINVAL;
    }
    int rc = record_ask_probed(check_returns, fd, NULL, NULL);
    if (rc == -ENOTSUP)
        snprintf(why, len,
                 "%s is a Go program, which would crash: its stacks move, return addresses and all. Use uprobe:", file);
    else if (rc)
        snprintf(why, len, "%s: it cannot be read: %s", file, strerror(-rc));
    return rc;
}

static int find_in(int fd, const char *file, const char *function, struct probe_places *out, char *why, size_t len)
{
    CLEANUP(parser_reply_free) struct parser_reply found = {0};
    char name[FUNCTIONS_NAME + 1], *end;
    u64 more = 0, offset = strtoull(function, &end, 16);
    bool bare = !strncmp(function, "0x", 2) && !*end;
    int rc = bare ? 0 : split_offset(function, name, sizeof(name), &more);
    if (rc) {
        snprintf(why, len, "%s: expected FUNCTION, FUNCTION+OFFSET, or 0xOFFSET in the file", function);
        return rc;
    }
    rc = out->when == PROBE_CALLS ? 0 : judge_returns(fd, file, function, more != 0, why, len);
    if (rc)
        return rc;
    /* Of a bare one, only whether it is in a program: it is nobody's name. */
    rc = record_ask_probed(parser_functions, fd, bare ? function : name, &found);
    if (rc) {
        snprintf(why, len, "%s: its symbols cannot be read: %s", file, strerror(-rc));
        return rc;
    }
    rc = bare ? take_bare(offset, out) : take(found.data, offset_of(function) ? &more : NULL, out);
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
