/* Records with a length of their own behind a header. The machine code in them is passed over; lines stand in a record
 * in front of the code's. */
#include "base/cleanup.h"
#include "base/cursor.h"
#include "runtime/jit_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC     0x4a695444u /* "JiTD" in the byte order of the machine that wrote it */
#define MAX_LINES (1u << 16)  /* of one function */
#define MAX_CODE  (1u << 20)  /* of larger functions, lines are not looked for */
#define HEAD      64          /* of a record, and of what is looked at in it but names */
#define WINDOW    ((size_t)256 << 10)
#define V8_SHIFT  0x40 /* V8 counts in the ELF header that perf inject will write in front of the code */

enum { CODE_LOAD = 0, CODE_MOVE = 1, DEBUG_INFO = 2 };

struct jit_line {
    u64 address;
    u32 line, file; /* file: place in q->texts */
    size_t order;   /* in the record */
};
struct dump {
    struct jit_query *q;
    int fd;
    off_t at, end;
    char *window; /* what was read last */
    off_t window_at;
    size_t window_len;
    u64 lines_of;
    VEC(struct jit_line) lines;
};

bool jitdump_is(int fd)
{
    u32 magic;
    return pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == MAGIC;
}

/* What lies at an offset of the file, at most as much as a name may need. */
static struct cursor look(struct dump *d, off_t at)
{
    off_t behind = at - d->window_at;
    if (behind < 0 || (size_t)behind + HEAD + JIT_MAX_NAME > d->window_len) {
        ssize_t n = pread(d->fd, d->window, WINDOW, at);
        d->window_len = n > 0 ? (size_t)n : 0;
        d->window_at = at;
        behind = 0;
    }
    size_t left = d->window_len - (size_t)behind;
    return cursor_of(d->window + behind, left < HEAD + JIT_MAX_NAME ? left : HEAD + JIT_MAX_NAME);
}

/* A name's length, if it ends within reach. */
static size_t name_length(const struct cursor *c)
{
    const char *s = (const char *)c->base + c->pos;
    return strnlen(s, cursor_left(c));
}

static int by_address(const void *a, const void *b)
{
    const struct jit_line *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Lines are kept until the code comes that they are of, if anybody asked for it. `end`: the record's. */
static void read_lines(struct dump *d, off_t at, off_t end)
{
    struct cursor c = look(d, at);
    d->lines_of = cursor_u64(&c);
    u64 n = cursor_u64(&c);
    size_t row;
    d->lines.n = 0;
    if (!jit_range(d->q, d->lines_of, MAX_CODE, &row))
        return;
    at += 16;
    u32 file = 0, file_len = 0;
    for (u64 i = 0; i < n && i < MAX_LINES; i++) {
        c = look(d, at);
        struct jit_line l = {.address = cursor_u64(&c), .line = cursor_u32(&c), .order = i};
        cursor_u32(&c); /* column or discriminator */
        size_t len = name_length(&c);
        if (c.bad || at + 16 > end)
            break;
        const char *name = (const char *)c.base + c.pos;
        bool same = file && len == file_len && !memcmp(d->q->texts.data + file, name, len);
        bool as_before = len == 1 && name[0] == '\xff'; /* the short form: the file of the entry before */
        if (!same && !as_before) {
            file = jit_text(d->q, name, len);
            file_len = (u32)len;
        }
        l.file = file;
        struct jit_line *place = VEC_PUSH(&d->lines);
        if (!place)
            break;
        *place = l;
        at += 16 + (off_t)len + 1;
    }
    if (d->lines.n)
        qsort(d->lines.v, d->lines.n, sizeof(*d->lines.v), by_address);
}

/* The last line at or below an address. */
static const struct jit_line *line_at(const struct dump *d, u64 address)
{
    size_t lo = 0, hi = d->lines.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->lines.v[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &d->lines.v[lo - 1] : NULL;
}

static void place_lines(struct dump *d, u64 start, u64 size, bool v8)
{
    size_t first, n = jit_range(d->q, start, size, &first);
    for (size_t i = first; d->lines_of == start && i < first + n; i++) {
        const struct jit_line *l = line_at(d, d->q->addresses[i] + (v8 ? V8_SHIFT : 0));
        if (!l)
            continue;
        d->q->hits[i].line = l->line;
        if (!d->q->hits[i].file) /* V8's files are bytes of freed memory at times; its names hold the file, too */
            d->q->hits[i].file = l->file;
    }
}

static bool read_code(struct dump *d, off_t at)
{
    struct cursor c = look(d, at);
    cursor_u64(&c); /* pid, tid */
    cursor_u64(&c); /* vma */
    u64 start = cursor_u64(&c), size = cursor_u64(&c);
    cursor_u64(&c); /* index */
    if (c.bad)
        return true;
    const char *name = (const char *)c.base + c.pos;
    size_t len = name_length(&c);
    bool more = jit_entry(d->q, start, size, name, len);
    if (more)
        place_lines(d, start, size, jit_spell(name, len).v8);
    d->lines_of = 0;
    return more;
}

/* Code that moved keeps its name. Nobody asks for where it was before, but perhaps for where it is now; its name was
 * kept only if somebody did, so what is known is what an address in the old place was found to be. */
static void read_move(struct dump *d, off_t at)
{
    struct cursor c = look(d, at);
    cursor_u64(&c);
    cursor_u64(&c);
    u64 from = cursor_u64(&c), to = cursor_u64(&c), size = cursor_u64(&c);
    size_t old, n = jit_range(d->q, from, size, &old), fresh;
    if (c.bad || !n || d->q->hits[old].start != from)
        return;
    struct jit_hit hit = d->q->hits[old];
    hit.start = to;
    n = jit_range(d->q, to, size, &fresh);
    for (size_t i = 0; i < n && d->q->left; i++, d->q->left--)
        d->q->hits[fresh + i] = hit;
}

static bool read_record(struct dump *d)
{
    struct cursor c = look(d, d->at);
    u32 id = cursor_u32(&c), size = cursor_u32(&c);
    bool more = true;
    if (c.bad || size < 16 || d->at + (off_t)size > d->end) /* the last one is still being written */
        return false;
    if (id == CODE_LOAD)
        more = read_code(d, d->at + 16);
    else if (id == DEBUG_INFO)
        read_lines(d, d->at + 16, d->at + (off_t)size);
    else if (id == CODE_MOVE)
        read_move(d, d->at + 16);
    d->at += (off_t)size;
    return more;
}

int jitdump_read(int fd, off_t size, struct jit_query *q)
{
    AUTO_FREE char *window = malloc(WINDOW);
    struct dump d = {.q = q, .fd = fd, .end = size < JIT_MAX_BYTES ? size : JIT_MAX_BYTES, .window = window};
    if (!window)
        return -ENOMEM;
    struct cursor c = look(&d, 0);
    cursor_u64(&c); /* magic, version */
    d.at = cursor_u32(&c);
    while (!c.bad && d.at >= 40 && read_record(&d))
        ;
    vec_free(&d.lines);
    return 0;
}
