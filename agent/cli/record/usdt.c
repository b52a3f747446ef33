#include "base/cleanup.h"
#include "cli/record/functions.h"
#include "cli/record/copies.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take(const struct usdt *found, struct probe_places *out)
{
    AUTO_FREE const struct usdt_site **sorted = calloc(found->n, sizeof(*sorted));
    out->offsets = calloc(found->n, sizeof(*out->offsets));
    out->counters = calloc(found->n, sizeof(*out->counters));
    out->sites = calloc(found->n, sizeof(*out->sites));
    if (!sorted || !out->offsets || !out->counters || !out->sites)
        return -ENOMEM;
    out->n = usdt_places(found, 0, sorted);
    for (size_t i = 0; i < out->n; i++) {
        out->offsets[i] = sorted[i]->offset;
        out->counters[i] = sorted[i]->semaphore;
        out->sites[i] = sorted[i]->at;
    }
    return 0;
}

static int judge(const struct usdt *found, const char *file, const char *probe, char *why, size_t len)
{
    if (found->n && !found->left_out)
        return 0;
    if (found->n)
        snprintf(why, len, "%s: %s has more than %d sites", file, probe, USDT_MAX);
    else if (!found->all)
        snprintf(why, len, "%s: it has no USDT probes (.note.stapsdt)", file);
    else if (found->unusable)
        snprintf(why, len, "%s: %s is in no code of the file, or its semaphore in no data", file, probe);
    else
        snprintf(why, len, "%s: none of its USDT probes is %s%s%s; `xprof list usdt:FILE` lists them", file, probe,
                 found->near[0] ? "; near it: " : "", found->near);
    return -ENOENT;
}

static int find_in_copy(void *ctx, const struct probed_file *f, const char *file, struct probe_places *out, char *why,
                        size_t len)
{
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    const char *probe = ctx;
    int rc = record_ask_usdt(f, probe, &reply);
    if (rc) {
        snprintf(why, len, "%s: its notes cannot be read: %s", file, strerror(-rc));
        return rc;
    }
    rc = judge(reply.data, file, probe, why, len);
    if (!rc && (rc = take(reply.data, out)))
        snprintf(why, len, "%s: out of memory", file);
    return rc;
}

int record_find_usdt(void *options, const char *file, const char *probe, struct probe_places *out, char *why,
                     size_t len)
{
    struct probed_where where = record_probed_where(options);
    return record_find_in_copies(&where, file, find_in_copy, (void *)probe, out, why, len);
}
