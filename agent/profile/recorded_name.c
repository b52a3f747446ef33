/* Names for what was recorded without. */
#include "base/cleanup.h"
#include "profile/locks.h"
#include "profile/recorded.h"
#include "profile/strings.h"
#include "profile/symbolize_internal.h"
#include <errno.h>

/* Naming makes mappings of its own for what it names. */
static int drop_unused_mappings(struct profile *p)
{
    AUTO_FREE u32 *row = calloc(p->mappings.n + 1, sizeof(*row));
    size_t n = 0;
    if (!row)
        return -ENOMEM;
    for (size_t i = 0; i < p->locations.n; i++)
        row[p->locations.v[i].mapping] = 1;
    for (size_t i = 0; i < p->mappings.n; i++)
        if (row[i]) {
            row[i] = (u32)n;
            p->mappings.v[n++] = p->mappings.v[i];
        }
    p->mappings.n = n;
    for (size_t i = 0; i < p->locations.n; i++)
        p->locations.v[i].mapping = row[p->locations.v[i].mapping];
    return 0;
}

int recorded_name(struct profile *p, const struct recorded *r, const struct name_source *source)
{
    struct name_source files = *source;
    struct naming n = {.src = &files, .out = p};
    files.anonymous = NULL; /* what such code was called then, nobody knows now */
    int rc = VEC_RESERVE(&n.words, r->words.n + 1) || VEC_RESERVE(&n.owners, r->words.n + 1) ? -ENOMEM : 0;
    for (size_t i = 0; i < r->words.n && !rc; i++) {
        n.words.v[n.words.n++] = r->words.v[i];
        n.owners.v[n.owners.n++] = 0;
    }
    if (!rc)
        naming_run(&n);
    if (n.failed || strings_failed(p->strings))
        rc = -ENOMEM;
    naming_free(&n);
    if (!rc)
        rc = locks_judge(p, false);
    return rc ? rc : drop_unused_mappings(p);
}
