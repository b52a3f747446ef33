#include "files/files_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "cache/cache.h"
#include "parser/parser.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define QUICK_TRIES 64   /* processes that live 0.3 ms are often gone before their file can be opened */
#define MAX_RETRIES 1024 /* files waiting for another try */

int files_new(struct files **out, struct probe *probe, struct parser *parser, struct cache *cache, bool synth)
{
    struct rlimit limit = {1024, 1024};
    struct files *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    getrlimit(RLIMIT_NOFILE, &limit);
    *f =
        (struct files){.probe = probe, .parser = parser, .cache = cache, .max_fds = limit.rlim_cur / 2, .synth = synth};
    f->stretch_shares.limit = STRETCHES_ALL;
    *out = f;
    return 0;
}

void files_free(struct files **ff)
{
    struct files *f = *ff;
    if (!f)
        return;
    for (size_t i = 0; i < f->all.n; i++) {
        xp_cleanup_close(&f->all.v[i].fd);
        stretches_free(&f->all.v[i].stretches, &f->stretch_shares, f->all.v[i].owner);
        free(f->all.v[i].path);
    }
    vec_free(&f->all);
    vec_free(&f->tables);
    map_free(&f->by_id);
    map_free(&f->by_key);
    map_free(&f->by_digest);
    map_free(&f->tries);
    map_free(&f->refused);
    vec_free(&f->retries);
    vec_free(&f->left);
    vec_free(&f->synth_wanted);
    shares_free(&f->stretch_shares);
    turns_free(&f->synth_turns);
    free(f);
    *ff = NULL;
}

void files_open_with(struct files *f, struct opener *o, struct hung *h)
{
    f->opener = o;
    f->hung = h;
}

void files_share(struct files *f)
{
    f->share = true;
    turns_begin(&f->synth_turns, UINT64_MAX);
}

static void hex(char *to, const u8 *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static u64 half_of(const struct table_key *key)
{
    u64 half;
    memcpy(&half, key->digest, sizeof(half));
    return half;
}

struct shared_table *files_find_shared(struct files *f, const struct table_key *key)
{
    u64 *at = map_get(&f->by_digest, half_of(key));
    struct shared_table *t = at && *at ? &f->tables.v[*at - 1] : NULL;
    return t && !memcmp(t->key.digest, key->digest, sizeof(key->digest)) ? t : NULL;
}

int files_place(struct files *f, u64 owner, const struct table_key *key, const struct xp_table *image,
                struct shared_table **out)
{
    struct shared_table t = {.key = *key,
                             .rows = image->nrows,
                             .bad_fdes = image->bad_fdes,
                             .synth_rows = image->source_rows[XP_SOURCE_SYNTH]};
    t.place.flags = image->flags;
    int rc = image->nblocks ? probe_table_load(f->probe, owner, image, &t.place) : 0;
    f->starved |= rc == -ENOSPC;
    if (rc)
        return rc == -ENOSPC ? -EDQUOT : rc; /* the parser has an -ENOSPC of its own */
    u64 *at = map_put(&f->by_digest, half_of(key));
    struct shared_table *kept = at ? VEC_PUSH(&f->tables) : NULL;
    if (!kept)
        return -ENOMEM;
    *kept = t;
    *at = f->tables.n;
    *out = kept;
    return 0;
}

/* A table that is on disk, or else one that the parser makes and the disk keeps. */
static int fetch(struct files *f, const struct file *e, const struct table_key *key, struct shared_table **out)
{
    struct cache_image image;
    if (f->cache && !cache_get(f->cache, key, &image)) {
        int rc = files_place(f, e->owner, key, image.table, out);
        cache_image_free(&image);
        return rc;
    }
    struct parser_reply reply = {0};
    int rc = parser_table(f->parser, e->fd, key, &reply);
    if (rc)
        return rc;
    rc = files_place(f, e->owner, key, reply.data, out);
    if (!rc && f->cache)
        cache_put(f->cache, key, reply.data, reply.len); /* a full disk costs time, not profiles */
    parser_reply_free(&reply);
    return rc;
}

/* The table for the file behind fd: one that covers more, one that a file of the same content has, or a new one. */
static int find_table(struct files *f, struct file *e, struct shared_table **out)
{
    struct table_key key;
    int rc = parser_identify(f->parser, e->fd, &key);
    if (rc)
        return rc;
    hex(e->build_id, key.build_id, key.build_id_len);
    if (!files_find_synth(f, e, &key, out)) {
        e->synth_asked = true;
        return 0;
    }
    *out = files_find_shared(f, &key);
    return *out ? 0 : fetch(f, e, &key, out);
}

static enum xp_file_state state_of(int rc, const struct shared_table *t)
{
    if (!rc)
        return t->place.nblocks ? XP_FILE_READY : XP_FILE_FP;
    if (rc == -EDQUOT)
        return XP_FILE_NO_ROOM;
    if (rc == -EUSERS)
        return XP_FILE_NO_SHARE;
    if (rc == -EOVERFLOW)
        return XP_FILE_NO_RULES;
    if (rc == -EREMOTEIO)
        return XP_FILE_HUNG;
    return rc == -ENOEXEC ? XP_FILE_FP : XP_FILE_FAILED; /* not ELF: somebody's code cache */
}

/* Not the ctime: that of a file which is renamed, linked or deleted changes, too. */
static void content_of(int fd, s64 *mtime_ns, s64 *size)
{
    struct stat st;
    bool known = fd >= 0 && !fs_stat(fd, &st);
    *mtime_ns = known ? (s64)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
    *size = known ? st.st_size : 0;
}

bool files_changed(const struct file *f)
{
    s64 mtime_ns, size;
    content_of(f->fd, &mtime_ns, &size);
    return mtime_ns != f->mtime_ns || size != f->size;
}

static struct file *add(struct files *f, struct file_job *job)
{
    u64 *at = map_put(&f->by_id, job->event.id);
    struct file *e = at && !*at ? VEC_PUSH(&f->all) : NULL;
    if (!e)
        return NULL;
    *e = (struct file){
        .id = job->event.id, .last_used = f->round, .key = job->event.key, .fd = TAKE_FD(job->fd), .error = job->error};
    e->place = hung_place_of(&job->event);
    e->local = !hung_may(job->event.magic);
    e->owner = f->share && e->id != XP_FILE_VDSO ? job->event.cgroup : SHARES_ALL;
    e->path = TAKE_PTR(job->path);
    e->tgid = job->event.tgid;
    e->start = job->event.start;
    e->end = job->event.end;
    e->mapped_ns = now_ns();
    content_of(e->fd, &e->mtime_ns, &e->size);
    *at = f->all.n;
    return e;
}

/* What nobody takes. */
static void drop(struct file_job *job)
{
    xp_cleanup_close(&job->fd);
    free(TAKE_PTR(job->path));
}

/* The fd is the file that was announced: in between, its process may have mapped another one there, to have this one's
 * table made of that. Numbers tell, or on overlayfs, which shows other ones than the kernel side sees, the ctime, which
 * nobody can choose. */
int files_check(int fd, const struct xp_file_key *k)
{
    struct stat st;
    int rc = fs_stat(fd, &st);
    if (rc)
        return rc;
    bool numbers = st.st_ino == k->ino && major(st.st_dev) == k->dev >> 20 && minor(st.st_dev) == (k->dev & 0xfffff);
    bool ctime = (u64)st.st_ctim.tv_sec == k->ctime_sec && (u32)st.st_ctim.tv_nsec == k->ctime_nsec;
    return (u64)st.st_size == k->size && (numbers || ctime) ? 0 : -ESTALE;
}

static int check_opened(const struct file *e)
{
    if (e->fd < 0)
        return e->error ? e->error : -ENOENT;
    return files_check(e->fd, &e->key);
}

/* Not the file's fault: another process that maps it, or another moment, may have more luck. */
static bool transient(int err)
{
    return err == -ESRCH || err == -ENOENT || err == -ESTALE || err == -ECHILD || err == -ENOMEM || err == -EMFILE ||
           err == -ENFILE;
}

bool files_retry(struct files *f, const struct xp_file_key *key, u64 after_ns)
{
    struct retry *r = f->retries.n < MAX_RETRIES ? VEC_PUSH(&f->retries) : NULL;
    if (r)
        *r = (struct retry){*key, now_ns() + after_ns};
    return r;
}

/* Has the file announced again at its next sight: at once, but after some failures only once a second. */
static bool try_again(struct files *f, struct file *e)
{
    u64 *tries = transient(e->error) ? map_put(&f->tries, files_key_hash(&e->key)) : NULL;
    if (!tries)
        return false;
    if (++*tries <= QUICK_TRIES) {
        probe_forget(f->probe, &e->key);
        return true;
    }
    return files_retry(f, &e->key, NS_PER_SEC);
}

void files_tick(struct files *f, u64 now)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->retries.n; i++)
        if (now < f->retries.v[i].due_ns)
            f->retries.v[kept++] = f->retries.v[i];
        else
            probe_forget(f->probe, &f->retries.v[i].key);
    if (kept < f->retries.n)
        probe_files_changed(f->probe);
    f->retries.n = kept;
    files_close_late(f, now);
}

static void warn_refused(struct files *f, int err)
{
    bool refused = err == -EPERM || err == -EACCES;
    if (refused && !f->warned)
        log_warn(
            "cannot open files that processes have mapped: %s; CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE is "
            "needed",
            strerror(-err));
    f->warned |= refused;
}

static const char *why_not(int err)
{
    return err == -EDQUOT      ? "no memory for tables is left (--table-memory)"
           : err == -EUSERS    ? "its cgroup holds its share of the memory for tables already"
           : err == -EOVERFLOW ? "too many rules"
           : err == -ESTALE    ? "another file is in its place by now"
           : err == -EREMOTEIO ? "its file system does not answer"
                               : strerror(-err);
}

static void publish(struct files *f, struct file *e, const struct shared_table *t, u64 began)
{
    const char *path = e->path ? e->path : "?";
    enum xp_file_state state = state_of(e->error, t);
    if (t) {
        e->rows = t->rows;
        e->synth_rows = t->synth_rows;
        e->bad_fdes = t->bad_fdes;
    }
    struct probe_table place = t ? t->place : (struct probe_table){0};
    place.flags |= f->synth && !e->synth_asked && !e->error ? XP_FILE_OPEN : 0;
    place.flags |= e->error == -ENOEXEC ? XP_FILE_NO_ELF : 0;
    probe_publish(f->probe, &e->key, e->id, state, &place, &e->value);
    if (state == XP_FILE_FAILED || state >= XP_FILE_NO_ROOM)
        log_info("no unwind table for %s: %s", path, why_not(e->error));
    else
        log_info("unwind table of %s: %u rows in %.1f ms", path, e->rows, (double)(now_ns() - began) / 1e6);
}

/* Asks the parser. A file system that does not answer is not asked again soon, neither for this file nor for others. */
static int build(struct files *f, struct file *e, struct shared_table **t)
{
    if (files_is_hung(f, e))
        return -EREMOTEIO;
    int rc = find_table(f, e, t);
    if (rc == -EREMOTEIO)
        files_hung(f, e);
    else
        hung_answered(f->hung, &e->place);
    return rc;
}

/* One that had the key before was forgotten by the kernel side. */
static void know_by_key(struct files *f, const struct file *e)
{
    u64 *same = map_put(&f->by_key, files_key_hash(&e->key));
    if (!same)
        return;
    struct file *before = *same ? &f->all.v[*same - 1] : NULL;
    if (before && before != e && !memcmp(&before->key, &e->key, sizeof(e->key)))
        before->replaced = true;
    *same = f->all.n;
}

void files_build(struct files *f, struct file_job *job)
{
    struct shared_table *t = NULL;
    u64 began = now_ns();
    if (job->fd < 0 && !job->error)
        file_job_open(job, f->opener, f->hung);
    struct file *e = files_entry(f, job->event.id);
    if (e && !memcmp(&e->key, &job->event.key, sizeof(e->key))) {
        files_seen_again(f, e, job);
        return;
    }
    e = add(f, job);
    if (!e) { /* its number is still another file's, or no memory: with another number, please */
        probe_forget(f->probe, &job->event.key);
        drop(job);
        return;
    }
    e->error = check_opened(e);
    if (!e->error) {
        know_by_key(f, e);
        e->error = build(f, e, &t);
    }
    warn_refused(f, e->error);
    if (!e->error || !try_again(f, e))
        publish(f, e, t, began);
    files_resume_stretches(f, e);
    if (e->error == -EREMOTEIO)
        files_retry(f, &e->key, hung_wait(f->hung, &e->place, now_ns()));
    files_hold(f, e);
}

void files_build_vdso(struct files *f, int fd)
{
    struct file_job job = {.event.id = XP_FILE_VDSO, .fd = fd, .path = strdup("[vdso]")};
    struct shared_table *t = NULL;
    struct file *e = add(f, &job);
    if (!e) {
        drop(&job);
        return;
    }
    e->error = find_table(f, e, &t);
    if (!e->error)
        probe_publish_vdso(f->probe, &t->place, &e->value);
    else
        log_warn("no unwind table for the vdso: %s", strerror(-e->error));
    files_hold(f, e);
}

/* A file whose process was gone before it could be opened is found under the id that it got at its next sight. */
const struct file *files_get(const struct files *f, u32 id)
{
    const struct file *e = files_entry(f, id);
    if (!e || e->path)
        return e;
    const u64 *at = map_get(&f->by_key, files_key_hash(&e->key));
    const struct file *same = at && *at ? &f->all.v[*at - 1] : NULL;
    return same && !memcmp(&same->key, &e->key, sizeof(e->key)) ? same : e;
}

const struct file *files_all(const struct files *f, size_t *n)
{
    *n = f->all.n;
    return f->all.v;
}
