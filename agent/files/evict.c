/* Giving up files that no stack ran through for long. It is done in batches, because the indexes are rebuilt: a node
 * meets a few thousand files a day, and room for 8,192 is there at once.
 *
 * Who brought the files counts (files_share). An owner whose share is full makes room among its own files, and nobody
 * else loses any for it. Where everything is full, those who hold more than their share lose all of theirs; what they
 * still use is announced again, and gets as much as their share is now.
 */
#include "files/files_internal.h"
#include "base/cleanup.h"
#include <errno.h>

#define ROUNDS_KEPT 4 /* stacks on their way still name files of the last rounds */
#define FILES_HIGH  (XP_MAX_FILES / 4 * 3)
#define FILES_LOW   (XP_MAX_FILES / 2)
#define OWNER_HIGH  (FILES_OF_CGROUP / 4 * 3)

/* How old a file must be to go, so that `keep` files or fewer stay; at least ROUNDS_KEPT. */
static u32 age_limit(const struct files *f, size_t keep)
{
    u32 limit = f->round;
    while (limit > ROUNDS_KEPT) {
        size_t younger = 0;
        for (size_t i = 0; i < f->all.n; i++)
            younger += f->round - f->all.v[i].last_used < limit;
        if (younger <= keep)
            break;
        limit -= (limit - ROUNDS_KEPT + 1) / 2;
    }
    return limit < ROUNDS_KEPT ? ROUNDS_KEPT : limit;
}

static bool stays(const struct files *f, const struct file *e, u32 limit)
{
    u32 age = f->round - e->last_used;
    if (f->starved && probe_over_share(f->probe, e->owner))
        return false;
    return e->id == XP_FILE_VDSO || (age < limit && (age < ROUNDS_KEPT || !map_get(&f->refused, e->owner)));
}

/* Owners that are in `counts` already and have no file are there with 0. */
static void count_by_owner(const struct files *f, struct map *counts)
{
    for (size_t i = 0; i < counts->cap; i++)
        counts->slots[i].value = 0;
    for (size_t i = 0; i < f->all.n; i++) {
        u64 *n = f->all.v[i].replaced ? NULL : map_put(counts, f->all.v[i].owner);
        if (n)
            ++*n;
    }
}

/* Finds the owners who must make room among their own files: some have no table for want of it, or there can soon be no
 * more of them. */
static void find_refused(struct files *f, const struct map *counts)
{
    for (size_t i = 0; i < counts->cap; i++)
        if (counts->slots[i].used && counts->slots[i].value >= OWNER_HIGH)
            map_put(&f->refused, counts->slots[i].key);
    for (size_t i = 0; i < f->all.n; i++)
        if (f->all.v[i].error == -EUSERS && !f->all.v[i].replaced)
            map_put(&f->refused, f->all.v[i].owner);
}

/* The kernel side counts files as they come, and learns here how many are left. */
static void tell_counts(const struct files *f, const struct map *counts)
{
    for (size_t i = 0; i < counts->cap; i++)
        if (counts->slots[i].used)
            probe_count_files(f->probe, counts->slots[i].key, (u32)counts->slots[i].value);
}

static void give_up(struct files *f, struct file *e)
{
    if (!e->replaced)
        probe_forget(f->probe, &e->key);
    files_close_one(f, e);
    stretches_free(&e->stretches, &f->stretch_shares, e->owner);
    free(e->path);
    f->evicted++;
}

static struct shared_table *table_of(const struct files *f, u32 uid)
{
    for (size_t i = 0; i < f->tables.n; i++)
        if (f->tables.v[i].place.uid == uid)
            return &f->tables.v[i];
    return NULL;
}

/* Tables that no file uses any more go back to the shards: true if there was one. */
static bool free_tables(struct files *f)
{
    size_t kept = 0, before = f->tables.n;
    for (size_t i = 0; i < f->tables.n; i++)
        f->tables.v[i].used = false;
    for (size_t i = 0; i < f->all.n; i++) {
        struct shared_table *t = f->all.v[i].value.uid ? table_of(f, f->all.v[i].value.uid) : NULL;
        if (t)
            t->used = true;
    }
    for (size_t i = 0; i < f->tables.n; i++)
        if (f->tables.v[i].used || !f->tables.v[i].place.nblocks)
            f->tables.v[kept++] = f->tables.v[i];
        else
            probe_table_free(f->probe, &f->tables.v[i].place);
    f->tables.n = kept;
    return kept < before;
}

static void rebuild_tables(struct files *f)
{
    map_free(&f->by_digest);
    for (size_t i = 0; i < f->tables.n; i++) {
        u64 half, *at;
        memcpy(&half, f->tables.v[i].key.digest, sizeof(half));
        if ((at = map_put(&f->by_digest, half)))
            *at = i + 1;
    }
}

void files_free_tables(struct files *f)
{
    if (free_tables(f))
        rebuild_tables(f);
}

/* The indexes anew. Without memory files are found no more, and announced again. */
static void rebuild(struct files *f)
{
    map_free(&f->by_id);
    map_free(&f->by_key);
    map_free(&f->tries);
    for (size_t i = 0; i < f->all.n; i++) {
        u64 *id = map_put(&f->by_id, f->all.v[i].id);
        u64 *key = f->all.v[i].error ? NULL : map_put(&f->by_key, files_key_hash(&f->all.v[i].key));
        if (id)
            *id = i + 1;
        if (key)
            *key = i + 1;
    }
    rebuild_tables(f);
}

/* Those that found no room get another try when the words that came free may be written to. Their entries stay, for
 * the stacks that name them. */
static void retry_placing(struct files *f)
{
    for (size_t i = 0; i < f->all.n; i++)
        if ((f->all.v[i].error == -EDQUOT || f->all.v[i].error == -EUSERS) && !f->all.v[i].replaced)
            f->all.v[i].replaced = files_retry(f, &f->all.v[i].key, PROBE_GRACE_NS);
}

static void evict(struct files *f, u32 limit)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->all.n; i++)
        if (stays(f, &f->all.v[i], limit))
            f->all.v[kept++] = f->all.v[i];
        else
            give_up(f, &f->all.v[i]);
    bool fewer = kept < f->all.n;
    f->all.n = kept;
    if (!fewer)
        return;
    bool room = free_tables(f);
    rebuild(f);
    if (room)
        retry_placing(f);
    probe_files_changed(f->probe); /* the kernel side forgets copies of what it knew of them */
    f->starved = false;
}

void files_age(struct files *f, const u32 *used, size_t n)
{
    f->round++;
    f->left.n = 0;
    if (f->share)
        turns_begin(&f->synth_turns, UINT64_MAX);
    for (size_t i = 0; i < n; i++) {
        struct file *e = files_entry(f, used[i]);
        if (e)
            e->last_used = f->round;
    }
    struct map counts = {0}; /* owner -> files */
    if (f->share) {
        count_by_owner(f, &counts);
        find_refused(f, &counts);
    }
    bool many = f->all.n > FILES_HIGH, fds = f->open_fds >= f->max_fds;
    if (many || fds || f->starved)
        evict(f, age_limit(f, many ? FILES_LOW : f->all.n / 2));
    else if (f->refused.n)
        evict(f, UINT32_MAX);
    map_free(&f->refused);
    files_let_go(f);
    if (f->share)
        count_by_owner(f, &counts);
    tell_counts(f, &counts);
    map_free(&counts);
}

bool files_starved(const struct files *f)
{
    return f->starved;
}

u32 files_evicted(const struct files *f)
{
    return f->evicted;
}
