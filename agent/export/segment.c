#include "export/segment.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define RECORD_MAGIC 0x52505058u /* "XPPR" */

static const char header[SEGMENT_HEADER] = "xprof-spool\0\0\0\0\1"; /* the last byte is the version */

struct segment_name {
    char text[32];
};

static struct segment_name name_of(const struct segment *g)
{
    struct segment_name n;
    snprintf(n.text, sizeof(n.text), "%016llx.seg", (unsigned long long)g->first);
    return n;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static u64 head_check(const struct record_head *h)
{
    return hash_bytes(h, offsetof(struct record_head, head_check), RECORD_MAGIC);
}

static u64 mix(u64 sum, const uint8_t *p)
{
    u64 w;
    memcpy(&w, p, sizeof(w));
    sum += w * 0xc2b2ae3d27d4eb4full;
    return (sum << 31 | sum >> 33) * 0x9e3779b185ebca87ull;
}

/* Four sums side by side, as xxHash does, so that the processor need not wait for one: 10 GB/s. */
static u64 body_check(const void *body, size_t len, u64 seq)
{
    const uint8_t *p = body;
    u64 sums[4] = {seq, ~seq, len, ~len};
    size_t blocks = len / 32;
    for (size_t i = 0; i < blocks; i++, p += 32)
        for (size_t k = 0; k < 4; k++)
            sums[k] = mix(sums[k], p + 8 * k);
    return hash_bytes(p, len % 32, hash_bytes(sums, sizeof(sums), seq));
}

struct record_head record_head_of(u64 seq, u64 wall_ns, const void *body, size_t len)
{
    struct record_head h = {.magic = RECORD_MAGIC, .len = (u32)len, .seq = seq, .wall_ns = wall_ns};
    h.body_check = body_check(body, len, seq);
    h.head_check = head_check(&h);
    return h;
}

static bool is_head(const struct record_head *h)
{
    return h->magic == RECORD_MAGIC && h->len <= RECORD_MAX && h->head_check == head_check(h);
}

static bool is_body(const struct record_head *h, const void *body)
{
    return h->body_check == body_check(body, h->len, h->seq);
}

long record_check(const void *data, size_t len)
{
    struct record_head h;
    if (len < sizeof(h))
        return -ENODATA;
    memcpy(&h, data, sizeof(h));
    if (!is_head(&h))
        return -EBADMSG;
    if (len - sizeof(h) < h.len)
        return -ENODATA;
    return is_body(&h, (const char *)data + sizeof(h)) ? (long)(sizeof(h) + h.len) : -EBADMSG;
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

/* All n bytes at `at`: 0, -ENODATA when they are not all there, or -errno. */
static int read_at(const struct segment *g, int fd, u64 at, void *out, size_t n)
{
    if (at > g->bytes || n > g->bytes - at)
        return -ENODATA;
    if (!g->disk) {
        memcpy(out, g->memory.data + at, n);
        return 0;
    }
    return fs_read_at(fd, out, n, at);
}

static int write_at(int fd, u64 at, const struct record_head *h, const void *body)
{
    struct iovec v[2] = {{(void *)(uintptr_t)h, sizeof(*h)}, {(void *)(uintptr_t)body, h->len}};
    ssize_t n = pwritev(fd, v, 2, (off_t)at);
    if (n < 0)
        return -errno;
    if ((size_t)n == sizeof(*h) + h->len)
        return 0;
    /* Short: the disk is full, or nearly so. A second try says why. */
    size_t done = (size_t)n, head = done < sizeof(*h) ? sizeof(*h) - done : 0;
    if (head || lseek(fd, (off_t)(at + done), SEEK_SET) < 0)
        return -ENOSPC;
    return fs_write_all(fd, (const char *)body + done - sizeof(*h), h->len - (done - sizeof(*h)));
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

int segment_create(struct segment *g, int dirfd, u64 first, int *fd)
{
    struct segment new = {.first = first, .next = first, .bytes = SEGMENT_HEADER, .disk = dirfd >= 0};
    AUTO_CLOSE int file = -1;
    if (new.disk) {
        file = openat(dirfd, name_of(&new).text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int rc = file < 0 ? -errno : fs_write_all(file, header, sizeof(header));
        if (rc) {
            if (file >= 0)
                unlinkat(dirfd, name_of(&new).text, 0);
            return rc;
        }
    } else {
        buf_add(&new.memory, header, sizeof(header));
        if (new.memory.failed)
            return -ENOMEM;
    }
    *g = new;
    *fd = TAKE_FD(file);
    return 0;
}

int segment_append(struct segment *g, int fd, const struct record_head *h, const void *body)
{
    if (g->disk) {
        int rc = write_at(fd, g->bytes, h, body);
        if (rc) {
            int left = ftruncate(fd, (off_t)g->bytes);
            (void)left; /* a torn tail is found when the file is loaded, and nobody reads beyond `bytes` */
            return rc;
        }
    } else {
        buf_add(&g->memory, h, sizeof(*h));
        buf_add(&g->memory, body, h->len);
        if (g->memory.failed)
            return -ENOMEM;
    }
    g->bytes += sizeof(*h) + h->len;
    g->next = h->seq + 1;
    g->newest_ns = h->wall_ns > g->newest_ns ? h->wall_ns : g->newest_ns;
    return 0;
}

int segment_open(const struct segment *g, int dirfd)
{
    int fd = openat(dirfd, name_of(g).text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int segment_head(const struct segment *g, int fd, u64 at, struct record_head *out)
{
    struct record_head h;
    if (at == g->bytes)
        return -ENODATA;
    int rc = read_at(g, fd, at, &h, sizeof(h));
    if (rc)
        return rc == -ENODATA ? -EBADMSG : rc;
    if (!is_head(&h))
        return -EBADMSG;
    *out = h;
    return 0;
}

int segment_body(const struct segment *g, int fd, u64 at, const struct record_head *h, struct buf *body)
{
    while (body->cap <= h->len && !body->failed) { /* room, which is kept from read to read */
        body->len = body->cap ? body->cap - 1 : 0;
        buf_char(body, 0);
    }
    if (body->failed)
        return -ENOMEM;
    body->len = h->len;
    int rc = h->len ? read_at(g, fd, at + sizeof(*h), body->data, h->len) : 0;
    if (rc)
        return rc == -ENODATA ? -EBADMSG : rc;
    return is_body(h, body->data) ? 0 : -EBADMSG;
}

static bool is_segment(const struct segment *g, int fd)
{
    char found[SEGMENT_HEADER];
    return read_at(g, fd, 0, found, sizeof(found)) == 0 && memcmp(found, header, sizeof(header)) == 0;
}

int segment_load(struct segment *g, int dirfd, bool repair)
{
    AUTO_BUF struct buf body = {0};
    AUTO_CLOSE int fd = openat(dirfd, name_of(g).text, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return -errno;
    struct segment found = {.first = g->first, .next = g->first, .bytes = (u64)st.st_size, .disk = true};
    if (!is_segment(&found, fd))
        return -EBADMSG;
    u64 at = SEGMENT_HEADER;
    struct record_head h;
    int rc;
    while ((rc = segment_head(&found, fd, at, &h)) == 0 && h.seq >= found.next) {
        if (sizeof(h) + h.len > found.bytes - at || (repair && segment_body(&found, fd, at, &h, &body) == -EBADMSG))
            break;
        at += sizeof(h) + h.len;
        found.next = h.seq + 1;
        found.newest_ns = h.wall_ns > found.newest_ns ? h.wall_ns : found.newest_ns;
    }
    bool torn = at != found.bytes;
    found.bytes = at;
    if (torn && repair && ftruncate(fd, (off_t)at))
        return -errno;
    *g = found;
    return torn;
}

void segment_remove(struct segment *g, int dirfd)
{
    if (g->disk)
        unlinkat(dirfd, name_of(g).text, 0);
    buf_free(&g->memory);
}
