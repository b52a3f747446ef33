#include "pipeline/backlog.h"
#include "base/turns.h"
#include "pipeline/jobs.h"
#include <errno.h>
#include <string.h>

int backlog_put(struct backlog *b, struct job *file)
{
    u64 cgroup = file->file.event.cgroup;
    bool fits = shares_take(&b->shares, cgroup, 1);
    struct job **place = fits ? VEC_PUSH(&b->files) : NULL;
    if (!place) {
        shares_give(&b->shares, cgroup, fits);
        return -ENOSPC;
    }
    *place = file;
    return 0;
}

struct job *backlog_take(struct backlog *b, const struct turns *turns)
{
    size_t best = 0;
    u64 least = UINT64_MAX;
    for (size_t i = 0; i < b->files.n; i++) {
        u64 spent = turns_spent(turns, b->files.v[i]->file.event.cgroup);
        if (spent < least) {
            least = spent;
            best = i;
        }
    }
    if (!b->files.n)
        return NULL;
    struct job *file = b->files.v[best];
    b->files.n--;
    shares_give(&b->shares, file->file.event.cgroup, 1);
    memmove(b->files.v + best, b->files.v + best + 1, (b->files.n - best) * sizeof(*b->files.v));
    return file;
}

void backlog_free(struct backlog *b)
{
    for (size_t i = 0; i < b->files.n; i++)
        job_free(b->files.v[i]);
    vec_free(&b->files);
    shares_free(&b->shares);
}
