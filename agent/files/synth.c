/* Rows for code that no unwind information covers, read off its instructions by the parser (parser/synth_table.h).
 *
 * The table that CFI gives is published at once, and nobody waits for more. Only when stacks stop in a gap of a file is
 * its code looked at: one file at a time, when nothing else is to be done, once. The table with all rows takes the
 * place of the other one under a uid of its own, so that nothing that the kernel side remembers of the old one holds;
 * the old one is given back. On disk it lies under a key that covers the code, too, and a mark under the file's plain
 * key says that it is worth looking for: then the file begins with it. Large files have no such key, and their tables
 * are theirs alone (synth_stretches.c).
 *
 * From its first sight until that is decided a file is open: the kernel side sends what it takes to unwind the stacks
 * that stop there later (deferred.h). How long that may take is bounded, for it is dear.
 */
#include "files/files_internal.h"
#include "files/outcome.h"
#include "base/clock.h"
#include "base/log.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <string.h>

#define MAX_WANTED    256 /* files that wait; a file that finds no place does without */
#define MAX_OF_CGROUP (MAX_WANTED / 4)
#define MODEST_NS     (100 * 1000000ull) /* lately, as turns_spent counts it */
#define MAX_TRIES     3                  /* of one file, when it is not its fault that they fail */
#define PAUSE_NS      (30 * NS_PER_SEC)  /* before another try */
#define OPEN_NS       (2 * NS_PER_SEC)   /* a file that waits for longer is closed, and gets its rows all the same */

bool files_is_open(const struct files *f, u32 id)
{
    const struct file *e = files_entry(f, id);
    return e && e->value.flags & XP_FILE_OPEN;
}

void files_close(struct files *f, struct file *e)
{
    if (!(e->value.flags & XP_FILE_OPEN))
        return;
    e->value.flags &= ~XP_FILE_OPEN;
    if (!e->replaced)
        probe_republish(f->probe, &e->key, &e->value);
    probe_files_changed(f->probe);
}

/* Those that are read by stretches stay open: between their tables are pauses. */
void files_close_late(struct files *f, u64 now)
{
    for (size_t i = 0; i < f->synth_wanted.n; i++) {
        struct file *e = files_entry(f, f->synth_wanted.v[i]);
        if (e && !e->stretches.on && now - e->synth_asked_ns > OPEN_NS)
            files_close(f, e);
    }
}

/* Is there a place in the queue for one more file of this cgroup? */
static bool has_place(const struct files *f, u64 owner)
{
    size_t has = 0;
    for (size_t i = 0; i < f->synth_wanted.n && f->share; i++) {
        const struct file *e = files_entry(f, f->synth_wanted.v[i]);
        has += e && e->owner == owner;
    }
    return f->synth_wanted.n < MAX_WANTED && has < MAX_OF_CGROUP;
}

void files_enqueue_synth(struct files *f, struct file *e)
{
    bool can = !e->error && e->fd >= 0 && !e->replaced && has_place(f, e->owner);
    u32 *slot = can ? VEC_PUSH(&f->synth_wanted) : NULL;
    if (!slot) {
        files_close(f, e);
        return;
    }
    *slot = e->id;
    e->synth_asked = e->synth_queued = true;
    e->synth_asked_ns = now_ns();
}

/* Which stretches it is about is noted before it is known whether that matters. */
void files_want_synth(struct files *f, u32 id, u64 offset)
{
    struct file *e = f->synth && id != XP_FILE_VDSO ? files_entry(f, id) : NULL;
    if (!e || (e->synth_asked && !e->synth_queued && !e->stretches.on))
        return;
    bool news = stretches_note(&e->stretches, &f->stretch_shares, e->owner, offset);
    if (!e->synth_queued && (!e->synth_asked || news))
        files_enqueue_synth(f, e);
}

/* The place in the queue of the file whose turn it is: the first one of the cgroup that used least time. The queue's
 * length: none. */
static size_t find_due(const struct files *f, u64 now)
{
    size_t best = f->synth_wanted.n;
    u64 least = UINT64_MAX;
    for (size_t i = 0; i < f->synth_wanted.n && least; i++) {
        const struct file *e = files_entry(f, f->synth_wanted.v[i]);
        u64 spent = e ? turns_spent(&f->synth_turns, e->owner) : 0;
        if (spent < least && (!e || stretches_due(&e->stretches, now))) {
            least = spent;
            best = i;
        }
    }
    return best;
}

/* A cgroup that used hardly any time lately does not wait for what others have used. */
static bool has_time(struct files *f, size_t at, u64 now)
{
    const struct file *e = files_entry(f, f->synth_wanted.v[at]);
    bool modest = f->share && e && turns_spent(&f->synth_turns, e->owner) < MODEST_NS;
    return files_budget_left(&f->synth_budget, now) || modest;
}

bool files_synth_waiting(struct files *f, u64 now)
{
    size_t at = find_due(f, now);
    return at < f->synth_wanted.n && now >= f->synth_due_ns && has_time(f, at, now);
}

u64 files_synth_count(const struct files *f, enum files_synth what)
{
    return f->synth_counts[what];
}

const char *files_synth_slug(enum files_synth what)
{
    static const char *const slugs[FILES_SYNTH_COUNT] = {
#define SLUG(name, slug) slug,
        FILES_SYNTH(SLUG)
#undef SLUG
    };
    return slugs[what];
}

/* From the shards, or from the disk. */
static int find_made(struct files *f, const struct file *e, const struct table_key *key, struct shared_table **out)
{
    struct cache_image image;
    if ((*out = files_find_shared(f, key)))
        return 0;
    if (!f->cache || cache_get(f->cache, key, &image))
        return -ENODATA;
    int rc = files_place(f, e->owner, key, image.table, out);
    cache_image_free(&image);
    return rc;
}

int files_find_synth(struct files *f, const struct file *e, const struct table_key *key, struct shared_table **out)
{
    struct table_key whole;
    if (!f->synth || !f->cache || !cache_marked(f->cache, key, CACHE_SYNTHESISED))
        return -ENODATA;
    int rc = parser_synth_identify(f->parser, e->fd, &whole);
    if (!rc)
        rc = find_made(f, e, &whole, out);
    f->synth_counts[FILES_SYNTH_KEPT] += !rc;
    return rc;
}

/* ---- Making one -------------------------------------------------------------------------------------------------- */

/* `key` NULL: it has none. 0: *outcome says what came of it, and *out is the table if there is one; or -errno. */
static int make(struct files *f, const struct file *e, const struct table_key *key, struct shared_table **out,
                enum files_synth *outcome)
{
    static const struct table_key nobodys; /* a digest of zeros: nobody finds it */
    struct parser_synth s;
    *outcome = FILES_SYNTH_NOTHING;
    if (key && f->cache && cache_marked(f->cache, key, CACHE_NO_SYNTH))
        return 0;
    int rc = parser_synth(f->parser, e->fd, key, &s);
    if (rc)
        return rc;
    if (key && f->cache)
        files_keep(f->cache, key, &s);
    rc = s.table ? files_place(f, e->owner, key ? key : &nobodys, s.table, out) : 0;
    *outcome = files_outcome(&s);
    parser_reply_free(&s.bytes);
    return rc;
}

/* The new table takes the old one's place, or is given back when it cannot. */
static int swap(struct files *f, struct file *e, const struct shared_table *t)
{
    struct xp_file value;
    struct probe_table place = t->place;
    place.flags |= e->stretches.on ? XP_FILE_OPEN : 0; /* more of it may be wanted */
    int rc = probe_publish(f->probe, &e->key, e->id, XP_FILE_READY, &place, &value);
    if (!rc) {
        e->value = value;
        e->asked_round = 0;
        e->rows = t->rows;
        e->synth_rows = t->synth_rows;
    }
    files_free_tables(f);
    if (!rc)
        probe_files_changed(f->probe);
    return rc;
}

/* The file whose turn it is, or NULL: it was given up meanwhile. */
static struct file *next_wanted(struct files *f, u64 now)
{
    size_t at = find_due(f, now);
    struct file *e = files_entry(f, f->synth_wanted.v[at]);
    f->synth_wanted.n--;
    memmove(f->synth_wanted.v + at, f->synth_wanted.v + at + 1, (f->synth_wanted.n - at) * sizeof(*f->synth_wanted.v));
    if (e)
        e->synth_queued = false;
    return e && e->fd >= 0 && !e->replaced ? e : NULL;
}

static int synthesise(struct files *f, struct file *e, enum files_synth *outcome)
{
    struct shared_table *t = NULL;
    struct table_key key;
    int rc = files_changed(e) ? -ESTALE : parser_synth_identify(f->parser, e->fd, &key);
    bool keyed = !rc;
    *outcome = FILES_SYNTH_KEPT;
    if (rc && rc != -EFBIG)
        return rc;
    rc = keyed ? find_made(f, e, &key, &t) : -ENODATA;
    if (rc == -ENODATA)
        rc = make(f, e, keyed ? &key : NULL, &t, outcome);
    return !rc && t ? swap(f, e, t) : rc;
}

/* A table with the stretches that are wanted so far. */
static int read_stretches(struct files *f, struct file *e, enum files_synth *outcome)
{
    struct shared_table *t = NULL;
    int rc = files_changed(e) ? -ESTALE : files_read_stretches(f, e, &t, outcome);
    return !rc && t ? swap(f, e, t) : rc;
}

/* For want of a process or of memory, which is not the file's fault, and holds for the next one, too. */
static void try_later(struct files *f, struct file *e)
{
    f->synth_due_ns = now_ns() + PAUSE_NS;
    if (++e->synth_tries < MAX_TRIES)
        files_enqueue_synth(f, e);
}

/* What is too much to be analysed as a whole goes on by stretches, as long as that brings rows. Returns whether it goes
 * on. */
static bool go_on(struct files *f, struct file *e, int rc, enum files_synth outcome)
{
    struct stretches *s = &e->stretches;
    bool begins = !s->on && !rc && outcome == FILES_SYNTH_LIMIT && s->wanted.n;
    bool goes = s->on && !rc && (s->done || s->vain < STRETCHES_TRIES);
    if (begins) {
        stretches_begin(s, now_ns());
        files_enqueue_synth(f, e);
    } else if (!goes) {
        stretches_free(s, &f->stretch_shares, e->owner);
    } else if (s->read < s->wanted.n && !e->synth_queued) {
        files_enqueue_synth(f, e);
    }
    return begins || goes;
}

void files_synth_one(struct files *f)
{
    u64 began = now_ns();
    if (!files_synth_waiting(f, began))
        return;
    struct file *e = next_wanted(f, began);
    if (!e)
        return;
    enum files_synth outcome;
    bool by_stretch = e->stretches.on, known = e->stretches.done;
    int rc = by_stretch ? read_stretches(f, e, &outcome) : synthesise(f, e, &outcome);
    if (rc)
        outcome = files_outcome_of_error(rc);
    u64 took = now_ns() - began;
    files_budget_spend(&f->synth_budget, took);
    turns_spend(&f->synth_turns, e->owner, took);
    e->stretches.done |= !rc && outcome == FILES_SYNTH_STRETCHES;
    stretches_pause(&e->stretches, took, now_ns());
    bool again = files_is_nobodys_fault(rc);
    if (again)
        try_later(f, e);
    if (again || !go_on(f, e, rc, outcome))
        files_close(f, e);
    f->synth_counts[outcome] += !known || outcome != FILES_SYNTH_STRETCHES;
    log_info("code of %s without unwind information: %s, %u rows in %.1f ms", e->path ? e->path : "?",
             files_synth_slug(outcome), e->synth_rows, (double)took / 1e6);
}
