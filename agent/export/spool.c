#include "export/spool.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/vec.h"
#include "export/segment.h"
#include "export/spool_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define MAX_SEQ       (1ull << 62) /* of a segment that is believed */
#define RETRY_DISK_NS (5 * NS_PER_SEC)

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void disk_error(struct spool *s, const char *what, int rc)
{
    s->stats.disk_errors++;
    s->retry_disk_ns = now_ns() + RETRY_DISK_NS;
    snprintf(s->stats.error, sizeof(s->stats.error), "%s: %s; profiles are kept in memory", what, strerror(-rc));
}

static int open_folder(struct spool *s, const char *dir)
{
    int rc = fs_mkdirs(dir);
    s->dirfd = rc ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dirfd < 0) {
        disk_error(s, dir, rc ? rc : -errno);
        return 0;
    }
    s->lockfd = openat(s->dirfd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (s->lockfd >= 0 && flock(s->lockfd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return -EBUSY;
    disk_error(s, dir, -errno);
    close(s->dirfd);
    s->dirfd = -1;
    return 0;
}

static void publish_figures(struct spool *s)
{
    pthread_mutex_lock(&s->shown_lock);
    s->shown = s->stats;
    s->shown.disk_bytes = s->disk_bytes;
    s->shown.memory_bytes = s->memory_bytes;
    s->shown.segments = s->segments.n;
    pthread_mutex_unlock(&s->shown_lock);
}

void spool_unlock(struct spool *s)
{
    publish_figures(s);
    pthread_mutex_unlock(&s->lock);
}

static int by_first(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int list_segments(struct spool *s)
{
    int fd = openat(s->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return -errno;
    for (const struct dirent *e; (e = readdir(d));) {
        unsigned long long first;
        int end = 0;
        if (strlen(e->d_name) != 20 || sscanf(e->d_name, "%16llx.seg%n", &first, &end) != 1 || end != 20)
            continue;
        struct segment *g = VEC_PUSH(&s->segments);
        if (!g)
            break;
        *g = (struct segment){.first = first, .next = first, .disk = true};
    }
    closedir(d);
    if (s->segments.n)
        qsort(s->segments.v, s->segments.n, sizeof(*s->segments.v), by_first);
    return 0;
}

/* What cannot be read, or comes from another version, is removed: it would lie there for ever. */
static void load_segments(struct spool *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->segments.n; i++) {
        struct segment g = s->segments.v[i];
        int rc = segment_load(&g, s->dirfd, i + 1 == s->segments.n);
        s->stats.corrupt += rc != 0;
        if (rc < 0 || g.next == g.first) {
            segment_remove(&g, s->dirfd);
            if (g.first >= s->next_seq && g.first < MAX_SEQ) /* its name may stay in use, if it is a directory */
                s->next_seq = g.first + 1;
            continue;
        }
        s->disk_bytes += g.bytes;
        s->next_seq = g.next;
        s->segments.v[kept++] = g;
    }
    s->segments.n = kept;
}

int spool_new(struct spool **out, const struct spool_config *config)
{
    struct spool *s CLEANUP(spool_free) = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct spool){.dirfd = -1, .lockfd = -1, .fd = -1, .next_seq = 1, .config = *config};
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->shown_lock, NULL);
    s->config.dir = NULL; /* borrowed for this call only */
    int rc = config->dir ? open_folder(s, config->dir) : 0;
    if (rc)
        return rc;
    if (s->dirfd >= 0 && list_segments(s) == 0)
        load_segments(s);
    publish_figures(s);
    *out = TAKE_PTR(s);
    return 0;
}

void spool_free(struct spool **spool)
{
    struct spool *s = *spool;
    if (!s)
        return;
    for (size_t i = 0; i < s->segments.n; i++)
        buf_free(&s->segments.v[i].memory);
    for (size_t i = 0; i < SPOOL_READERS; i++)
        reader_close(&s->readers[i]);
    vec_free(&s->segments);
    xp_cleanup_close(&s->fd);
    xp_cleanup_close(&s->lockfd);
    xp_cleanup_close(&s->dirfd);
    pthread_mutex_destroy(&s->shown_lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
    *spool = NULL;
}

void spool_limits(struct spool *s, const struct spool_config *config)
{
    pthread_mutex_lock(&s->lock);
    s->config.max_bytes = config->max_bytes;
    s->config.max_age_ns = config->max_age_ns;
    s->config.memory_bytes = config->memory_bytes;
    spool_unlock(s);
}

/* ---- What goes --------------------------------------------------------------------------------------------------- */

static bool is_writing(const struct spool *s, size_t i)
{
    return s->writing && i + 1 == s->segments.n;
}

static void remove_segment(struct spool *s, size_t i)
{
    struct segment *g = &s->segments.v[i];
    if (is_writing(s, i)) {
        s->writing = false;
        xp_cleanup_close(&s->fd);
        s->fd = -1;
    }
    for (size_t k = 0; k < SPOOL_READERS; k++)
        reader_forgets(&s->readers[k], g);
    *(g->disk ? &s->disk_bytes : &s->memory_bytes) -= g->bytes;
    segment_remove(g, s->dirfd);
    memmove(g, g + 1, (s->segments.n - i - 1) * sizeof(*g));
    s->segments.n--;
}

static void push_out(struct spool *s, size_t i, bool age)
{
    for (size_t k = 0; k < SPOOL_READERS; k++)
        if (s->readers[k].used)
            reader_loses(&s->readers[k], &s->segments.v[i], age);
    remove_segment(s, i);
}

void spool_drop_read(struct spool *s)
{
    u64 done = UINT64_MAX;
    for (size_t k = 0; k < SPOOL_READERS; k++)
        if (s->readers[k].used && s->readers[k].cursor < done)
            done = s->readers[k].cursor;
    while (s->segments.n && s->segments.v[0].next <= done && !is_writing(s, 0))
        remove_segment(s, 0);
}

/* The oldest segment of that kind; SIZE_MAX: none. */
static size_t oldest(const struct spool *s, bool disk)
{
    for (size_t i = 0; i < s->segments.n; i++)
        if (s->segments.v[i].disk == disk)
            return i;
    return SIZE_MAX;
}

/* What an empty spool takes of the disk: a block for each cursor, and one for the lock. */
static u64 least_bytes(const struct spool *s, bool disk)
{
    u64 files = 1;
    for (size_t k = 0; k < SPOOL_READERS; k++)
        files += s->readers[k].used;
    return disk ? files * FS_BLOCK : 0;
}

/* The last block of a segment is taken as a whole. */
static u64 used_bytes(const struct spool *s, bool disk)
{
    u64 n = 0;
    for (size_t i = 0; i < s->segments.n; i++)
        n += s->segments.v[i].disk;
    return least_bytes(s, disk) + (disk ? s->disk_bytes + n * FS_BLOCK : s->memory_bytes);
}

/* Room for a record that may need a new segment. 0, or -E2BIG: there would not be enough if all others went. */
static int make_room(struct spool *s, bool disk, u64 need)
{
    u64 max = disk ? s->config.max_bytes : s->config.memory_bytes;
    need += SEGMENT_HEADER + (disk ? FS_BLOCK : 0);
    if (least_bytes(s, disk) + need > max)
        return -E2BIG;
    for (size_t i; used_bytes(s, disk) + need > max && (i = oldest(s, disk)) != SIZE_MAX;)
        push_out(s, i, false);
    return 0;
}

/* A segment from the future is not old: the clock was set back, and its bytes are bounded anyway. */
static void drop_aged(struct spool *s, u64 wall_ns)
{
    while (s->segments.n && s->segments.v[0].newest_ns < wall_ns &&
           wall_ns - s->segments.v[0].newest_ns > s->config.max_age_ns)
        push_out(s, 0, true);
}

/* ---- Putting ----------------------------------------------------------------------------------------------------- */

/* Eight segments at least within the bound, so that pushing one out does not lose it all. */
static u64 segment_limit(const struct spool *s, bool disk)
{
    u64 part = (disk ? s->config.max_bytes : s->config.memory_bytes) / 8;
    return part > 4 << 20 ? 4 << 20 : part;
}

static void end_segment(struct spool *s)
{
    xp_cleanup_close(&s->fd);
    s->fd = -1;
    s->writing = false;
}

void spool_end_segment(struct spool *s, const struct segment *g)
{
    if (s->writing && g == &s->segments.v[s->segments.n - 1])
        end_segment(s);
}

static bool disk_wanted(const struct spool *s)
{
    return s->dirfd >= 0 && now_ns() >= s->retry_disk_ns;
}

static int begin_segment(struct spool *s, bool disk)
{
    struct segment g;
    int fd = -1, rc = segment_create(&g, disk ? s->dirfd : -1, s->next_seq, &fd);
    if (rc)
        return rc;
    if (disk && s->config.sync_each && fsync(s->dirfd)) /* its name, too, is to survive a power cut */
        disk_error(s, "fsync", -errno);
    struct segment *place = VEC_PUSH(&s->segments);
    if (!place) {
        segment_remove(&g, s->dirfd);
        xp_cleanup_close(&fd);
        return -ENOMEM;
    }
    *place = g;
    *(disk ? &s->disk_bytes : &s->memory_bytes) += g.bytes;
    s->fd = fd;
    s->writing = true;
    return 0;
}

/* Appends to the last segment, or to a new one of that kind. */
static int append(struct spool *s, bool disk, const struct record_head *h, const void *body)
{
    const struct segment *last = s->writing ? &s->segments.v[s->segments.n - 1] : NULL;
    u64 need = sizeof(*h) + h->len;
    if (last && (last->disk != disk || (last->next > last->first && last->bytes + need > segment_limit(s, disk))))
        end_segment(s);
    int rc = make_room(s, disk, need);
    if (!rc && !s->writing)
        rc = begin_segment(s, disk);
    if (rc)
        return rc;
    struct segment *g = &s->segments.v[s->segments.n - 1];
    rc = segment_append(g, s->fd, h, body);
    if (!rc && disk && s->config.sync_each && fdatasync(s->fd))
        disk_error(s, "fdatasync", -errno); /* it is written, though: a power cut is what it may not survive */
    if (rc) {
        if (g->next == g->first)
            remove_segment(s, s->segments.n - 1);
        else
            end_segment(s);
        return rc;
    }
    *(disk ? &s->disk_bytes : &s->memory_bytes) += need;
    return 0;
}

static int put(struct spool *s, const void *body, size_t len, u64 wall_ns)
{
    struct record_head h = record_head_of(s->next_seq, wall_ns, body, len);
    drop_aged(s, wall_ns);
    int rc = -EIO;
    if (disk_wanted(s)) {
        rc = append(s, true, &h, body);
        if (!rc)
            *s->stats.error = 0;
        else if (rc != -E2BIG)
            disk_error(s, "spool", rc);
    }
    if (rc)
        rc = append(s, false, &h, body);
    if (rc)
        return rc;
    s->next_seq++;
    s->stats.put++;
    s->stats.put_bytes += len;
    return 0;
}

static bool has_readers(const struct spool *s)
{
    for (size_t k = 0; k < SPOOL_READERS; k++)
        if (s->readers[k].used)
            return true;
    return false;
}

int spool_put(struct spool *s, const void *body, size_t len, u64 wall_ns)
{
    if (len > RECORD_MAX)
        return -E2BIG;
    pthread_mutex_lock(&s->lock);
    int rc = has_readers(s) ? put(s, body, len, wall_ns) : 0;
    spool_unlock(s);
    return rc;
}

void spool_stats(struct spool *s, struct spool_stats *out)
{
    pthread_mutex_lock(&s->shown_lock);
    *out = s->shown;
    pthread_mutex_unlock(&s->shown_lock);
}
