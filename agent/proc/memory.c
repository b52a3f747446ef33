#include "proc/memory.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include <errno.h>
#include <string.h>

#define MAX_MAPS     ((size_t)8 << 20) /* bytes: 65,530 mappings, the default limit */
#define MAX_MAPPINGS (1u << 17)
#define MAX_READ     ((u64)256 << 20)
#define STEP         16 /* bytes that a read of a page counts which is there: it takes its time, too */

static bool take_hex(const char **p, const char *end, char stop, u64 *out)
{
    u64 v = 0;
    const char *s = *p;
    for (; s < end && *s != stop; s++) {
        int digit = *s >= '0' && *s <= '9' ? *s - '0' : *s >= 'a' && *s <= 'f' ? *s - 'a' + 10 : -1;
        if (digit < 0 || v >> 60)
            return false;
        v = v << 4 | (u64)digit;
    }
    if (s == *p || s == end)
        return false;
    *p = s + 1;
    *out = v;
    return true;
}

/* Skips a field and the blanks behind it. */
static const char *skip(const char *p, const char *end)
{
    while (p < end && *p != ' ')
        p++;
    while (p < end && *p == ' ')
        p++;
    return p;
}

/* No name; names that processes give (PR_SET_VMA_ANON_NAME, memfd_create), or the kernel gives to shared memory. The
 * stack, the vdso and others of the kernel are not meant. */
static bool is_plain(const char *name, const char *end)
{
    static const char *const known[] = {"[anon", "[heap]", "/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV"};
    if (name == end)
        return true;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if ((size_t)(end - name) >= strlen(known[i]) && !memcmp(name, known[i], strlen(known[i])))
            return true;
    return false;
}

bool mapping_parse(const char *line, const char *end, struct mapping *out)
{
    struct mapping m = {0};
    const char *p = line;
    if (!take_hex(&p, end, '-', &m.start) || !take_hex(&p, end, ' ', &m.end) || m.end <= m.start || end - p < 5)
        return false;
    m.read = p[0] == 'r';
    m.write = p[1] == 'w';
    m.exec = p[2] == 'x';
    m.shared = p[3] == 's';
    p = skip(p, end);
    if (!take_hex(&p, end, ' ', &m.offset))
        return false;
    p = skip(skip(p, end), end); /* device, inode */
    m.plain = is_plain(p, end);
    *out = m;
    return true;
}

/* The text, up to its limit. The kernel gives it page by page. */
static int read_text(int fd, char **out, size_t *len)
{
    AUTO_FREE char *text = NULL;
    size_t n = 0, cap = 0;
    ssize_t got = 1;
    while (got > 0 && n < MAX_MAPS) {
        if (cap - n < 65536) {
            cap = cap ? cap * 2 : 1 << 17;
            char *more = realloc(text, cap);
            if (!more)
                return -ENOMEM;
            text = more;
        }
        got = pread(fd, text + n, cap - n, (off_t)n);
        if (got < 0)
            return -errno;
        n += (size_t)got;
    }
    *out = TAKE_PTR(text);
    *len = n;
    return 0;
}

int memory_open(struct memory *m, int mem, int maps)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    *m = (struct memory){.fd = mem, .left = MAX_READ};
    if (maps < 0)
        return 0;
    int rc = read_text(maps, &text, &len);
    if (rc)
        return rc;
    for (const char *p = text, *nl; (nl = memchr(p, '\n', len - (size_t)(p - text))); p = nl + 1) {
        struct mapping one;
        if (!mapping_parse(p, nl, &one) || (m->maps.n && one.start < m->maps.v[m->maps.n - 1].end))
            continue;
        struct mapping *to = m->maps.n < MAX_MAPPINGS ? VEC_PUSH(&m->maps) : NULL;
        if (!to)
            break;
        *to = one;
    }
    return 0;
}

void memory_free(struct memory *m)
{
    vec_free(&m->maps);
    free(m->pages);
    m->pages = NULL;
}

bool memory_read(struct memory *m, u64 at, void *to, size_t len)
{
    if (len > m->left || at > (u64)INT64_MAX - len)
        return false;
    m->left -= len;
    return !fs_read_at(m->fd, to, len, at);
}

/* ---- Pages that are kept ---------------------------------------------------------------------------------------- */

/* What can be read of a page: it may be the last one of a file that ends in it. */
static u32 fill(int fd, u64 at, u8 *to)
{
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n<MEMORY_PAGE; n += got> 0 ? (size_t)got : 0)
        got = pread(fd, to + n, MEMORY_PAGE - n, (off_t)(at + n));
    return (u32)n;
}

/* A page has one place only. NULL: it cannot be read. */
static const u8 *page_of(struct memory *m, u64 number, size_t *len)
{
    if (!m->pages)
        m->pages = calloc(1, sizeof(*m->pages));
    if (!m->pages)
        return NULL;
    u64 place = hash_u64(number) % MEMORY_PAGES;
    struct memory_page *p = &m->pages->page[place];
    u8 *bytes = m->pages->bytes[place];
    if (p->number != number + 1) {
        if (m->left < MEMORY_PAGE)
            return NULL;
        m->left -= MEMORY_PAGE;
        p->len = fill(m->fd, number * MEMORY_PAGE, bytes);
        p->number = number + 1;
    }
    *len = p->len;
    return bytes;
}

bool memory_near(struct memory *m, u64 at, void *to, size_t len)
{
    if (at > (u64)INT64_MAX - len)
        return false;
    for (u8 *p = to; len;) {
        size_t there, from = at % MEMORY_PAGE, n = len < MEMORY_PAGE - from ? len : MEMORY_PAGE - from;
        const u8 *page = page_of(m, at / MEMORY_PAGE, &there);
        if (!page || from + n > there || m->left < STEP + n)
            return false;
        m->left -= STEP + n;
        memcpy(p, page + from, n);
        p += n;
        at += n;
        len -= n;
    }
    return true;
}

void memory_forget(struct memory *m)
{
    if (m->pages)
        memset(m->pages->page, 0, sizeof(m->pages->page));
}

bool memory_text(struct memory *m, u64 at, char *to, size_t size)
{
    for (size_t n = 0; n < size;) {
        size_t part = MEMORY_PAGE - (at + n) % MEMORY_PAGE;
        part = part < 16 ? part : 16;
        part = part < size - n ? part : size - n;
        if (!memory_near(m, at + n, to + n, part))
            return false;
        if (memchr(to + n, 0, part))
            return true;
        n += part;
    }
    return false;
}

/* ---- Mappings --------------------------------------------------------------------------------------------------- */

const struct mapping *memory_mapping(const struct memory *m, u64 at)
{
    size_t lo = 0, hi = m->maps.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->maps.v[mid].end <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < m->maps.n && m->maps.v[lo].start <= at ? &m->maps.v[lo] : NULL;
}
