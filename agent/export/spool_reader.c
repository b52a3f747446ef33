/* Readers of the spool: places in it, and the files that remember them. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "export/spool_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FAILURES 10 /* of the disk, until a segment is passed over: tries come once per second, or more often */

/* ---- The cursor's file ------------------------------------------------------------------------------------------- */

struct cursor_name {
    char text[80];
};

static struct cursor_name file_of(const char *name)
{
    struct cursor_name n;
    snprintf(n.text, sizeof(n.text), "%s.cursor", name);
    return n;
}

static void make_line(char line[CURSOR_LINE], u64 seq)
{
    memset(line, ' ', CURSOR_LINE);
    int n = snprintf(line, CURSOR_LINE, "xprof-cursor 1 %020llu %016llx", (unsigned long long)seq,
                     (unsigned long long)hash_u64(seq ^ CURSOR_LINE));
    line[n] = ' ';
    line[CURSOR_LINE - 1] = '\n';
}

static bool parse_line(const char line[CURSOR_LINE], u64 *seq)
{
    unsigned long long found = 0;
    char again[CURSOR_LINE];
    if (sscanf(line, "xprof-cursor 1 %20llu", &found) != 1)
        return false;
    make_line(again, found);
    *seq = found;
    return memcmp(line, again, CURSOR_LINE) == 0;
}

/* One line in one write: a process killed in between has written all of it or nothing. */
static void save_cursor(struct spool *s, struct spool_reader *r)
{
    char line[CURSOR_LINE];
    make_line(line, r->cursor);
    if (r->cursor_fd >= 0 && pwrite(r->cursor_fd, line, sizeof(line), 0) != CURSOR_LINE)
        s->stats.disk_errors++;
}

/* A reader without a file is new; one whose file is damaged begins at the oldest: rather twice than never. */
static void load_cursor(struct spool *s, struct spool_reader *r)
{
    char line[CURSOR_LINE + 1] = "";
    u64 seq = 0;
    r->cursor = s->next_seq;
    if (s->dirfd < 0)
        return;
    r->cursor_fd = openat(s->dirfd, file_of(r->name).text, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (r->cursor_fd < 0) {
        r->cursor_fd = openat(s->dirfd, file_of(r->name).text, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        save_cursor(s, r);
    } else if (pread(r->cursor_fd, line, CURSOR_LINE, 0) == CURSOR_LINE && parse_line(line, &seq)) {
        r->cursor = seq;
    } else {
        s->stats.corrupt++;
        r->cursor = s->segments.n ? s->segments.v[0].first : 1;
    }
    if (r->cursor > s->next_seq) /* what lay in memory had numbers too; they are not given twice */
        s->next_seq = r->cursor;
}

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

void reader_close(struct spool_reader *r)
{
    if (!r->used)
        return;
    xp_cleanup_close(&r->cursor_fd);
    xp_cleanup_close(&r->fd);
    *r = (struct spool_reader){.cursor_fd = -1, .fd = -1};
}

static struct spool_reader *find_reader(struct spool *s, const char *name)
{
    struct spool_reader *room = NULL;
    for (size_t i = 0; i < SPOOL_READERS; i++) {
        struct spool_reader *r = &s->readers[i];
        if (r->used && strcmp(r->name, name) == 0)
            return r;
        if (!r->used && !room)
            room = r;
    }
    return room;
}

int spool_reader_open(struct spool *s, const char *name, struct spool_reader **out)
{
    if (strlen(name) >= sizeof(s->readers[0].name))
        return -ENAMETOOLONG;
    pthread_mutex_lock(&s->lock);
    struct spool_reader *r = find_reader(s, name);
    if (r && !r->used) {
        *r = (struct spool_reader){.used = true, .cursor_fd = -1, .fd = -1};
        snprintf(r->name, sizeof(r->name), "%s", name);
        load_cursor(s, r);
    }
    if (r) { /* what was under way when the last user left is read again */
        r->unread = r->cursor;
        r->segment = 0;
        *out = r;
    }
    spool_unlock(s);
    return r ? 0 : -ENOSPC;
}

void spool_reader_remove(struct spool *s, struct spool_reader **reader)
{
    pthread_mutex_lock(&s->lock);
    if (s->dirfd >= 0)
        unlinkat(s->dirfd, file_of((*reader)->name).text, 0);
    reader_close(*reader);
    *reader = NULL;
    spool_drop_read(s);
    spool_unlock(s);
}

void reader_loses(struct spool_reader *r, const struct segment *g, bool age)
{
    if (r->unread >= g->next)
        return;
    u64 n = g->next - (r->unread > g->first ? r->unread : g->first);
    u64 bytes = g->bytes - (r->segment == g->first && r->at <= g->bytes ? r->at : SEGMENT_HEADER);
    *(age ? &r->lost.age : &r->lost.full) += n;
    *(age ? &r->lost.age_bytes : &r->lost.full_bytes) += bytes;
    if (r->unread < g->first)
        r->gone += n;
    else
        r->unread = g->next;
}

/* Numbers that no segment holds any more: pushed out, which was counted, or of a damaged one that was cut off. */
static void pass_gap(struct spool_reader *r, u64 n)
{
    u64 counted = n < r->gone ? n : r->gone;
    r->gone -= counted;
    r->lost.corrupt += n - counted;
}

void reader_forgets(struct spool_reader *r, const struct segment *g)
{
    if (!r->used || r->fd < 0 || r->open != g->first)
        return;
    close(r->fd);
    r->fd = -1;
}

void spool_take_lost(struct spool *s, struct spool_reader *r, struct spool_lost *out)
{
    pthread_mutex_lock(&s->lock);
    *out = r->lost;
    r->lost = (struct spool_lost){0};
    spool_unlock(s);
}

void spool_commit(struct spool *s, struct spool_reader *r, u64 seq)
{
    pthread_mutex_lock(&s->lock);
    seq = seq < r->unread ? seq : r->unread;
    if (seq > r->cursor) {
        r->cursor = seq;
        save_cursor(s, r);
        spool_drop_read(s);
    }
    spool_unlock(s);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static const struct segment *segment_of(const struct spool *s, u64 first)
{
    for (size_t i = 0; i < s->segments.n; i++)
        if (s->segments.v[i].first == first)
            return &s->segments.v[i];
    return NULL;
}

static int reader_fd(struct spool *s, struct spool_reader *r, const struct segment *g)
{
    if (!g->disk)
        return 0;
    if (r->fd >= 0 && r->open == g->first)
        return 0;
    xp_cleanup_close(&r->fd);
    r->fd = segment_open(g, s->dirfd);
    r->open = g->first;
    return r->fd < 0 ? r->fd : 0;
}

/* The rest of the segment cannot be read: it is passed over, and counted. What is appended later can. */
static void skip_rest(struct spool *s, struct spool_reader *r, const struct segment *g)
{
    r->lost.corrupt += g->next - (r->unread > g->first ? r->unread : g->first);
    r->unread = g->next;
    r->at = g->bytes;
    r->failures = 0;
    s->stats.corrupt++;
}

/* Is the file removed, or no file any more, or does the disk fail to read it again and again? What the process lacks
 * (descriptors, memory) is no fault of the file. */
static bool is_unreadable(struct spool_reader *r, int rc)
{
    if (rc == -ENOENT)
        return true;
    if (!rc || rc == -ENODATA || rc == -EBADMSG || rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
        return false;
    return ++r->failures >= MAX_FAILURES;
}

/* Steps over the records below `unread`. A head that is damaged ends the segment, and so does a file that cannot be
 * read, to which nothing is appended any more. 0, -ENODATA: nothing there. */
static int seek_record(struct spool *s, struct spool_reader *r, const struct segment *g, struct record_head *h)
{
    int rc = reader_fd(s, r, g);
    while (!rc && (rc = segment_head(g, r->fd, r->at, h)) == 0 && h->seq < r->unread)
        r->at += sizeof(*h) + h->len;
    bool unreadable = is_unreadable(r, rc);
    if (rc != -EBADMSG && !unreadable)
        return rc;
    if (unreadable)
        spool_end_segment(s, g);
    skip_rest(s, r, g);
    return -ENODATA;
}

/* The head of the next record, and the segment it lies in. 0, -ENODATA or -errno. */
static int find_next(struct spool *s, struct spool_reader *r, const struct segment **g, struct record_head *h)
{
    for (size_t i = 0; i < s->segments.n; i++) {
        *g = &s->segments.v[i];
        if ((*g)->next <= r->unread)
            continue;
        if (r->segment != (*g)->first) {
            r->segment = (*g)->first;
            r->at = SEGMENT_HEADER;
        }
        int rc = seek_record(s, r, *g, h);
        if (rc != -ENODATA)
            return rc;
    }
    return -ENODATA;
}

int spool_next(struct spool *s, struct spool_reader *r, struct spool_record *out)
{
    const struct segment *g;
    struct record_head h;
    pthread_mutex_lock(&s->lock);
    int rc = find_next(s, r, &g, &h);
    if (!rc) {
        pass_gap(r, h.seq - r->unread);
        out->seq = h.seq;
        out->wall_ns = h.wall_ns;
        out->segment = g->first;
        out->at = r->at;
        rc = segment_body(g, r->fd, r->at, &h, &out->body);
    }
    if (!rc || rc == -EBADMSG) {
        r->failures = 0;
        r->unread = h.seq + 1;
        r->at += sizeof(h) + h.len;
    } else if (rc != -ENODATA) {
        rc = -EIO;
    }
    spool_unlock(s);
    return rc;
}

int spool_reread(struct spool *s, struct spool_reader *r, struct spool_record *rec)
{
    struct record_head h;
    pthread_mutex_lock(&s->lock);
    const struct segment *g = segment_of(s, rec->segment);
    int rc = g ? reader_fd(s, r, g) : -ENOENT;
    rc = rc ? rc : segment_head(g, r->fd, rec->at, &h);
    rc = rc ? rc : h.seq == rec->seq ? segment_body(g, r->fd, rec->at, &h, &rec->body) : -ENOENT;
    spool_unlock(s);
    return rc;
}

u64 spool_unread(struct spool *s, struct spool_reader *r, u64 *oldest_ns)
{
    const struct segment *g;
    struct record_head h = {0};
    u64 n = 0;
    pthread_mutex_lock(&s->lock);
    *oldest_ns = find_next(s, r, &g, &h) == 0 ? h.wall_ns : 0;
    for (size_t i = 0; i < s->segments.n; i++) {
        const struct segment *each = &s->segments.v[i];
        if (each->next > r->unread)
            n += each->next - (r->unread > each->first ? r->unread : each->first);
    }
    spool_unlock(s);
    return n;
}
