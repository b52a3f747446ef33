/* Rows for code that no unwind information covers, read off its instructions by the parser (parser/synth_table.h).
 *
 * The table that CFI gives is published at once, and nobody waits for more. Only when stacks stop in a gap of a file is
 * its code looked at: one file at a time, when nothing else is to be done, once. The table with all rows takes the
 * place of the other one under a uid of its own, so that nothing that the kernel side remembers of the old one holds;
 * the old one is given back. On disk it lies under a key that covers the code, too, and a mark under the file's plain
 * key says that it is worth looking for: then the file begins with it.
 */
#include "files_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <string.h>

#define MAX_WANTED 256 /* files that wait; a file that finds no place does without */

static struct file *find(struct files *f, u32 id)
{
    const u64 *at = map_get(&f->by_id, id);
    return at && *at ? &f->all.v[*at - 1] : NULL;
}

void files_want_synth(struct files *f, u32 id)
{
    struct file *e = f->synth && id != XP_FILE_VDSO ? find(f, id) : NULL;
    if (!e || e->synth_asked || e->error || e->fd < 0 || e->replaced)
        return;
    u32 *slot = f->synth_wanted.n < MAX_WANTED ? VEC_PUSH(&f->synth_wanted) : NULL;
    if (!slot)
        return;
    *slot = id;
    e->synth_asked = true;
}

bool files_synth_waiting(const struct files *f)
{
    return f->synth_wanted.n;
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
static int find_made(struct files *f, const struct table_key *key, struct shared_table **out)
{
    struct cache_image image;
    if ((*out = files_find_shared(f, key)))
        return 0;
    if (!f->cache || cache_get(f->cache, key, &image))
        return -ENODATA;
    int rc = files_place(f, key, image.table, out);
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
        rc = find_made(f, &whole, out);
    f->synth_counts[FILES_SYNTH_KEPT] += !rc;
    return rc;
}

/* ---- Making one -------------------------------------------------------------------------------------------------- */

static enum files_synth outcome_of(int rc)
{
    return rc == -EDQUOT ? FILES_SYNTH_NO_ROOM : FILES_SYNTH_FAILED;
}

static enum files_synth outcome_of_drop(enum synth_drop d)
{
    switch (d) {
    case SYNTH_DROP_NOT: /* and yet no table: nothing could be proven */
    case SYNTH_DROP_NO_CODE:
        return FILES_SYNTH_NOTHING;
    case SYNTH_DROP_BYTES:
    case SYNTH_DROP_INSNS:
    case SYNTH_DROP_MEMORY:
    case SYNTH_DROP_TIME:
        return FILES_SYNTH_LIMIT;
    default:
        return FILES_SYNTH_LEFT_OUT;
    }
}

/* Keeps what became of it, so that the next agent need not ask. */
static void keep(struct files *f, const struct file *e, const struct table_key *key, const struct parser_synth *s)
{
    struct table_key plain = *key;
    memcpy(plain.digest, e->digest, sizeof(plain.digest));
    if (!f->cache)
        return;
    if (!s->table)
        cache_mark(f->cache, key, CACHE_NO_SYNTH);
    else if (!cache_put(f->cache, key, s->table, s->len))
        cache_mark(f->cache, &plain, CACHE_SYNTHESISED);
}

static enum files_synth make(struct files *f, const struct file *e, const struct table_key *key,
                             struct shared_table **out)
{
    struct parser_synth s;
    if (f->cache && cache_marked(f->cache, key, CACHE_NO_SYNTH))
        return FILES_SYNTH_NOTHING;
    int rc = parser_synth(f->parser, e->fd, &s);
    if (rc)
        return outcome_of(rc);
    rc = s.table ? files_place(f, key, s.table, out) : 0;
    keep(f, e, key, &s);
    enum files_synth outcome = rc ? outcome_of(rc) : s.table ? FILES_SYNTH_DONE : outcome_of_drop(s.dropped);
    parser_reply_free(&s.bytes);
    return outcome;
}

/* The new table takes the old one's place. */
static void swap(struct files *f, struct file *e, const struct shared_table *t)
{
    e->rows = t->rows;
    e->synth_rows = t->synth_rows;
    probe_publish(f->probe, &e->key, e->id, XP_FILE_READY, &t->place, &e->value);
    files_free_tables(f);
    probe_files_changed(f->probe);
}

void files_synth_one(struct files *f)
{
    struct shared_table *t = NULL;
    struct table_key key;
    u64 began = now_ns();
    if (!f->synth_wanted.n || !files_credit_left(&f->synth_credit, began))
        return;
    struct file *e = find(f, f->synth_wanted.v[0]);
    f->synth_wanted.n--;
    memmove(f->synth_wanted.v, f->synth_wanted.v + 1, f->synth_wanted.n * sizeof(*f->synth_wanted.v));
    if (!e || e->fd < 0 || e->replaced) /* given up meanwhile */
        return;
    int rc = files_changed(e) ? -ESTALE : parser_synth_identify(f->parser, e->fd, &key);
    enum files_synth outcome = FILES_SYNTH_FAILED;
    if (!rc)
        outcome = find_made(f, &key, &t) ? make(f, e, &key, &t) : FILES_SYNTH_KEPT;
    f->synth_counts[outcome]++;
    if (t)
        swap(f, e, t);
    files_credit_spend(&f->synth_credit, now_ns() - began);
    log_info("code of %s without unwind information: %s, %u rows in %.1f ms", e->path ? e->path : "?",
             files_synth_slug(outcome), e->synth_rows, (double)(now_ns() - began) / 1e6);
}
