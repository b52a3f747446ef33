/* Rows for the stretches of a large file (stretches.h): reads them, or takes them from the disk. */
#include "base/cleanup.h"
#include "cache/cache.h"
#include "files/files_internal.h"
#include "files/outcome.h"
#include "parser/synth_table.h"
#include <errno.h>

/* What is on disk of a file: an owned descriptor, or -errno. */
static int find_image(const struct files *f, const struct file *e)
{
    u8 digest[16];
    if (!f->cache || !e->local)
        return -ENODATA;
    synth_stretches_key(cache_secret(f->cache), &e->key, digest);
    return cache_get_index(f->cache, CACHE_STRETCHES, digest);
}

struct resumption {
    struct files *files;
    struct file *file;
};

static void resume(void *ctx, u32 number)
{
    const struct resumption *r = ctx;
    stretches_note(&r->file->stretches, &r->files->stretch_shares, r->file->owner, number * (u64)SYNTH_STRETCH);
}

void files_resume_stretches(struct files *f, struct file *e)
{
    if (!f->synth || e->error || e->synth_asked || e->size <= (s64)STRETCHES_LEAST)
        return;
    AUTO_CLOSE int fd = find_image(f, e);
    if (synth_stretches_list(fd, resume, &(struct resumption){f, e}) || !e->stretches.wanted.n)
        return;
    e->stretches.kept = e->stretches.wanted.n;
    stretches_begin(&e->stretches, now_ns());
    files_enqueue_synth(f, e);
}

/* How many of those that are wanted were read. For the others, time did not suffice. */
static size_t count_read(const struct stretches *s, const struct parser_synth *made)
{
    size_t n = 0, known = 0, read = 0;
    const u32 *numbers = made->stretches ? synth_stretches_wanted(made->stretches, &n) : NULL;
    if (!numbers)
        return s->wanted.n;
    for (size_t i = 0; i < s->wanted.n; i++) {
        while (known < n && numbers[known] < s->wanted.v[i])
            known++;
        read += known < n && numbers[known] == s->wanted.v[i];
    }
    return read;
}

/* Each time all is written anew, so not each time. */
static void keep(const struct files *f, struct file *e, const struct parser_synth *made)
{
    struct stretches *s = &e->stretches;
    u8 digest[16];
    if (!f->cache || !e->local || !made->stretches || s->read <= s->kept ||
        (s->read - s->kept) * STRETCHES_KEEP < s->read)
        return;
    synth_stretches_key(cache_secret(f->cache), &e->key, digest);
    if (!cache_put_index(f->cache, CACHE_STRETCHES, digest, made->stretches, made->stretches_len))
        s->kept = s->read;
}

int files_read_stretches(struct files *f, struct file *e, struct shared_table **out, enum files_synth *outcome)
{
    static const struct table_key nobodys;
    struct stretches *s = &e->stretches;
    struct parser_synth made;
    pid_t pid = parser_pid(f->parser);
    bool remembered = s->read && f->stretches_of == e->id && pid && f->stretches_by == pid;
    AUTO_CLOSE int image = remembered ? -1 : find_image(f, e);
    int rc = parser_stretches(f->parser, e->fd, image, s->wanted.v, s->wanted.n, &made);
    f->stretches_of = e->id;
    f->stretches_by = parser_pid(f->parser);
    if (rc)
        return rc;
    s->read = count_read(s, &made);
    keep(f, e, &made);
    *outcome = made.table ? FILES_SYNTH_STRETCHES : files_outcome(&made);
    rc = made.table ? files_place(f, e->owner, &nobodys, made.table, out) : 0;
    parser_reply_free(&made.bytes);
    s->vain += !*out;
    return rc;
}

void files_end_pauses(struct files *f)
{
    for (size_t i = 0; i < f->all.n; i++)
        f->all.v[i].stretches.due_ns = 0;
}
