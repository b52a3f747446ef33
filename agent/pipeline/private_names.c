#include "pipeline/private_names.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/turns.h"
#include "base/vec.h"
#include "files/files.h"
#include <errno.h>
#include <stdlib.h>

#define FIRST_ID     (1u << 24) /* IDs of files have 24 bits */
#define MAX_PAIRS    4096       /* containers with a debug file, each for one file */
#define MAX_ANSWERS  65536
#define MAX_SEARCHES 1024 /* per interval */
#define FOR_EVER     UINT32_MAX

struct pair {
    u32 file;
    u64 cgroup;
};

struct private_names {
    const struct files *files;
    struct line_indexes *lines;
    struct turns *turns;
    bool again;
    VEC(struct pair) pairs;
    u32 first;         /* ID of the first of them; IDs are never given twice, for names are cached by them */
    struct map answer; /* of a pair: ID | the interval until which it holds << 32 */
    u32 interval, searches;
    u64 late;
};

int private_names_new(struct private_names **out, const struct files *files, struct line_indexes *lines,
                      struct turns *turns, bool again)
{
    struct private_names *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct private_names){.files = files, .lines = lines, .turns = turns, .again = again, .first = FIRST_ID};
    *out = p;
    return 0;
}

void private_names_free(struct private_names **p)
{
    if (!*p)
        return;
    vec_free(&(*p)->pairs);
    map_free(&(*p)->answer);
    free(*p);
    *p = NULL;
}

static void forget(struct private_names *p)
{
    map_free(&p->answer);
    p->first += (u32)p->pairs.n;
    p->pairs.n = 0;
}

void private_names_begin(struct private_names *p)
{
    p->interval++;
    p->searches = 0;
    if (p->answer.n > MAX_ANSWERS || p->pairs.n > MAX_PAIRS / 2)
        forget(p);
}

static u32 add_pair(struct private_names *p, u32 file, u64 cgroup)
{
    struct pair *place = p->pairs.n < MAX_PAIRS ? VEC_PUSH(&p->pairs) : NULL;
    if (!place)
        return file;
    *place = (struct pair){file, cgroup};
    return p->first + (u32)p->pairs.n - 1;
}

/* What takes time has to wait when the container has used its own. */
static bool is_late(struct private_names *p, const struct file *f, u64 of, u64 cgroup)
{
    bool late = !turns_may(p->turns, cgroup) && !line_indexes_tried(p->lines, &f->key, of);
    p->late += late;
    return late;
}

/* `until`: how long the answer holds. */
static u32 search(struct private_names *p, u32 file, const struct agg_process *who, u32 *until)
{
    const struct file *f = files_get(p->files, file);
    struct line_index index;
    *until = p->interval;
    if (!f || f->fd < 0 || !f->path || files_is_hung(p->files, f) || files_changed(f))
        return file;
    if (is_late(p, f, LINE_INDEXES_ALL, who->cgroup) || (p->again && p->searches++ >= MAX_SEARCHES))
        return file;
    int rc = line_indexes_get(p->lines, &f->key, f->fd, &index);
    if (line_indexes_pending(p->lines, &f->key))
        return file;
    if ((rc && rc != -ENODATA) || (!rc && index.complete)) {
        *until = rc ? p->interval : FOR_EVER;
        return file;
    }
    if (is_late(p, f, who->cgroup, who->cgroup))
        return file;
    struct line_index_process of = {who->cgroup, who->tgid, who->start, f->path};
    rc = line_indexes_get_of(p->lines, &f->key, &of, f->fd, &index);
    if (rc == -ESRCH || rc == -EREMOTEIO)
        return file;
    *until = FOR_EVER;
    return index.fd >= 0 || index.symbols >= 0 ? add_pair(p, file, who->cgroup) : file;
}

u32 private_names_id(struct private_names *p, u32 file, const struct agg_process *who)
{
    if (who->cgroup == LINE_INDEXES_ALL)
        return file;
    u64 key = hash_u64(file ^ hash_u64(who->cgroup));
    const u64 *known = map_get(&p->answer, key);
    if (known && *known >> 32 >= p->interval)
        return (u32)*known;
    u64 began_ns = now_ns();
    u32 until, id = search(p, file, who, &until);
    turns_spend(p->turns, who->cgroup, now_ns() - began_ns);
    u64 *place = map_put(&p->answer, key);
    if (place)
        *place = (u64)until << 32 | id;
    return id;
}

u64 private_names_late(const struct private_names *p)
{
    return p->late;
}

static const struct pair *pair_of(const struct private_names *p, u32 id)
{
    return id >= p->first && id - p->first < p->pairs.n ? &p->pairs.v[id - p->first] : NULL;
}

const struct file *private_names_file(const struct private_names *p, u32 id)
{
    const struct pair *pair = pair_of(p, id);
    return files_get(p->files, pair ? pair->file : id);
}

/* A container's index that was dropped meanwhile is looked for again in the next interval, for its process is not known
 * here. */
int private_names_index(struct private_names *p, u32 id, struct line_index *out)
{
    const struct pair *pair = pair_of(p, id);
    const struct file *f = private_names_file(p, id);
    struct line_index_process of = {.cgroup = pair ? pair->cgroup : LINE_INDEXES_ALL, .path = f->path};
    int rc = pair ? line_indexes_get_of(p->lines, &f->key, &of, f->fd, out) : -ENODATA;
    if (!pair || (rc && out->symbols < 0))
        rc = line_indexes_get(p->lines, &f->key, f->fd, out);
    return rc;
}
