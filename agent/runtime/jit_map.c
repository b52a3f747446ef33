#include "runtime/jit_map.h"
#include "base/cleanup.h"
#include "dwarf/demangle.h"
#include "dwarf/names.h"
#include "runtime/jit_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_ADDRESSES (1u << 20)
#define MAX_HITS      ((size_t)16 << 20) /* in a map of the largest size, entries of 64 bytes that overlap fourfold */
#define MAX_TEXTS     ((size_t)64 << 20)

/* ---- Spelling --------------------------------------------------------------------------------------------------- */

static size_t prefix(const char *s, size_t len, const char *with)
{
    size_t n = strlen(with);
    return len >= n && !memcmp(s, with, n) ? n : 0;
}

/* V8's kinds of code that a function of the user's may be (v8/src/logging/log.cc), and the tier's mark behind them. */
static size_t v8_prefix(const char *s, size_t len)
{
    static const char *const kinds[] = {"LazyCompile:", "Function:", "JS:", "Script:", "Eval:", "InterpretedFunction:"};
    size_t n = 0;
    for (size_t i = 0; !n && i < sizeof(kinds) / sizeof(*kinds); i++)
        n = prefix(s, len, kinds[i]);
    while (n && n < len && s[n] && strchr("*~^+'1", s[n]))
        n++;
    return n;
}

/* Takes ":NUMBER" off the end. */
static bool take_number(const char *s, size_t *len, u32 *out)
{
    size_t at = *len;
    u64 v = 0;
    for (u64 unit = 1; at && s[at - 1] >= '0' && s[at - 1] <= '9' && unit <= 1000000000; unit *= 10)
        v += unit * (u64)(s[--at] - '0');
    if (at == *len || !at || s[at - 1] != ':')
        return false;
    *len = at - 1;
    *out = v > INT32_MAX ? 0 : (u32)v;
    return true;
}

/* "run /app/x.js:3:12": the last blank parts function and place; a path may hold blanks, a place begins with its name
 * then, which is a pity and no harm. */
static void spell_v8(struct jit_spelling *s)
{
    size_t len = s->len;
    u32 column, line;
    if (!take_number(s->name, &len, &column) || !take_number(s->name, &len, &line))
        return;
    const char *blank = memrchr(s->name, ' ', len);
    if (!blank)
        return;
    s->file = blank + 1;
    s->file_len = len - (size_t)(s->file - s->name);
    s->line = line;
    s->len = (size_t)(blank - s->name);
    size_t scheme = prefix(s->file, s->file_len, "file://");
    s->file += scheme;
    s->file_len -= scheme;
}

struct jit_spelling jit_spell(const char *name, size_t len)
{
    struct jit_spelling s = {.name = name, .len = len};
    size_t v8 = v8_prefix(name, len), python = prefix(name, len, "py::");
    const char *colon = python ? memchr(name + python, ':', len - python) : NULL;
    if (v8) {
        s.v8 = true;
        s.name += v8;
        s.len -= v8;
        spell_v8(&s);
    } else if (colon) {
        s.name = name + python;
        s.len = (size_t)(colon - s.name);
        s.file = colon + 1;
        s.file_len = len - (size_t)(s.file - name);
    }
    if (!s.len) {
        s.name = "(anonymous)";
        s.len = strlen(s.name);
    }
    return s;
}

/* ---- Hits ------------------------------------------------------------------------------------------------------- */

/* The first row from `lo` on whose address is not below. */
static size_t row_of(const struct jit_query *q, size_t lo, u64 address)
{
    size_t hi = q->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (q->addresses[mid] < address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

size_t jit_range(const struct jit_query *q, u64 start, u64 size, size_t *first)
{
    size_t lo = row_of(q, 0, start);
    *first = lo;
    return (start + size < start ? q->n : row_of(q, lo, start + size)) - lo;
}

u32 jit_text(struct jit_query *q, const char *s, size_t len)
{
    size_t at = q->texts.len;
    if (!len || at > MAX_TEXTS)
        return 0;
    append_utf8(&q->texts, s, len < JIT_MAX_NAME ? len : JIT_MAX_NAME);
    buf_char(&q->texts, 0);
    return q->texts.failed ? 0 : (u32)at;
}

bool jit_entry(struct jit_query *q, u64 start, u64 size, const char *name, size_t len)
{
    size_t first, n = jit_range(q, start, size, &first);
    if (!n)
        return true;
    if (n > q->left)
        return false;
    struct jit_spelling s = jit_spell(name, len);
    struct jit_hit hit = {.start = start, .line = s.line};
    hit.name = jit_text(q, s.name, s.len);
    hit.system_name = jit_text(q, name, len);
    hit.file = jit_text(q, s.file, s.file_len);
    for (size_t i = 0; i < n; i++)
        q->hits[first + i] = hit;
    q->left -= n;
    return !q->texts.failed;
}

/* ---- The reply -------------------------------------------------------------------------------------------------- */

static void write_reply(const struct jit_query *q, struct buf *out)
{
    struct names_header h = {.magic = NAMES_MAGIC, .n = (u32)q->n, .nframes = (u32)q->n, .strings = (u32)q->texts.len};
    size_t at = out->len;
    buf_add(out, &h, sizeof(h));
    for (u32 i = 0; i <= q->n; i++)
        buf_add(out, &i, sizeof(i));
    while (!out->failed && out->len - at < names_frames_at(q->n))
        buf_char(out, 0);
    for (size_t i = 0; i < q->n; i++) {
        const struct jit_hit *hit = &q->hits[i];
        struct names_frame f = {.start = hit->name ? hit->start : q->addresses[i],
                                .name = hit->name,
                                .system_name = hit->system_name,
                                .file = hit->file,
                                .line = hit->line};
        buf_add(out, &f, sizeof(f));
    }
    buf_add(out, q->texts.data, q->texts.len);
}

static int read_map(int fd, struct jit_query *q)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    return jitdump_is(fd) ? jitdump_read(fd, st.st_size, q) : perf_map_read(fd, st.st_size, q);
}

int jit_names(int fd, int symbols, const u64 *addresses, size_t n, struct buf *out)
{
    if (n > MAX_ADDRESSES)
        return -E2BIG;
    AUTO_FREE struct jit_hit *hits = calloc(n + 1, sizeof(*hits));
    struct jit_query q = {.addresses = addresses, .hits = hits, .n = n, .left = MAX_HITS};
    buf_char(&q.texts, 0);
    int rc = hits ? 0 : -ENOMEM;
    if (!rc && symbols >= 0)
        rc = read_map(symbols, &q);
    if (!rc) /* what comes later is believed */
        rc = read_map(fd, &q);
    if (!rc)
        write_reply(&q, out);
    if (!rc && (q.texts.failed || out->failed))
        rc = -ENOMEM;
    buf_free(&q.texts);
    return rc;
}
