/* Strings: their type says how they have their text, and how wide its characters are. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "dwarf/demangle.h"
#include "runtime/sound.h"
#include "runtime/v8_internal.h"
#include <string.h>

#define MAX_PARTS 64    /* of a string that consists of others */
#define PIECE     16384 /* bytes that are read at once */
#define SHORTENED "..."

/* Bits of the type of a string (src/objects/instance-type.h). */
enum { SEQUENTIAL, CONS, EXTERNAL, SLICED, THIN = 5, FORM = 7, ONE_BYTE = 8, UNCACHED = 16 };

/* Strings that consist of others, or refer to one, begin with that; what follows it. */
static u64 second(const struct v8 *v)
{
    return v->layout.string_first + 8u;
}

u32 v8_type(struct memory *m, const struct v8 *v, u64 object)
{
    bool ok = object && object < MAX_ADDRESS;
    u64 map = ok ? v8_object(m, object, &ok) : 0;
    u32 type = map ? (u32)memory_u(m, map + v->machine.map_type, sizeof(u16), &ok) : 0;
    return map && ok ? type : ~0u;
}

struct reading {
    struct memory *m;
    const struct v8 *v8;
    v8_use use;
    void *arg;
    unsigned parts;
};

/* Out of line: what calls it calls itself, and needs no such room each time. */
__attribute__((noinline)) static bool read_chars(const struct reading *r, u64 at, u64 n, unsigned bytes)
{
    u8 chars[PIECE];
    for (u64 i = 0; i < n;) {
        u64 some = n - i < sizeof(chars) / bytes ? n - i : sizeof(chars) / bytes, len = some * bytes;
        bool ok = len < MEMORY_PAGE ? memory_near(r->m, at + i * bytes, chars, len)
                                    : memory_read(r->m, at + i * bytes, chars, len);
        if (!ok || !r->use(r->arg, chars, some, bytes))
            return false;
        i += some;
    }
    return true;
}

/* Characters [from, from + n) of a string. */
static bool read_part(struct reading *r, u64 string, u64 from, u64 n);

static u64 length_of(struct reading *r, u64 string, bool *ok)
{
    return memory_u(r->m, string + r->v8->layout.string_length, sizeof(u32), ok);
}

static bool read_cons(struct reading *r, u64 string, u64 from, u64 n)
{
    bool ok = true;
    u64 left = v8_object(r->m, string + r->v8->layout.string_first, &ok);
    u64 right = v8_object(r->m, string + second(r->v8), &ok), half = left ? length_of(r, left, &ok) : 0;
    u64 some = from >= half ? 0 : half - from < n ? half - from : n;
    return ok && left && right && (!some || read_part(r, left, from, some)) &&
           (some == n || read_part(r, right, from + some - half, n - some));
}

static bool read_part(struct reading *r, u64 string, u64 from, u64 n)
{
    const struct v8_layout *l = &r->v8->layout;
    u32 type = v8_type(r->m, r->v8, string);
    unsigned bytes = type & ONE_BYTE ? 1 : 2;
    bool ok = type != ~0u && !(type & l->not_string);
    u64 length = length_of(r, string, &ok), at;
    if (!ok || r->parts++ >= MAX_PARTS || from > length || n > length - from)
        return false;
    switch (type & FORM) {
    case SEQUENTIAL:
        return read_chars(r, string + l->string_first + from * bytes, n, bytes);
    case CONS:
        return read_cons(r, string, from, n);
    case THIN:
        return read_part(r, v8_object(r->m, string + l->string_first, &ok), from, n);
    case EXTERNAL:
        at = type & UNCACHED ? 0 : memory_u(r->m, string + second(r->v8), sizeof(u64), &ok);
        return at && at < MAX_ADDRESS && read_chars(r, at + from * bytes, n, bytes);
    case SLICED:
        at = memory_u(r->m, string + second(r->v8), sizeof(u64), &ok);
        return ok && v8_number(at) >= 0 &&
               read_part(r, v8_object(r->m, string + l->string_first, &ok), from + (u32)v8_number(at), n);
    default:
        return false;
    }
}

/* Those of [from, from + most) that there are. */
static bool read_range(struct reading *r, u64 string, u64 from, u64 most, bool *more)
{
    bool ok = string;
    u64 n = length_of(r, string, &ok);
    u64 left = from < n ? n - from : 0;
    *more = left > most;
    return ok && read_part(r, string, from < n ? from : n, left < most ? left : most);
}

u64 v8_now(struct memory *m, u64 object)
{
    bool ok = object;
    u64 map = memory_u(m, object, sizeof(map), &ok);
    return !ok ? 0 : XP_V8_IS_OBJECT(map) ? object : map;
}

bool v8_text_each(struct memory *m, const struct v8 *v, u64 string, u64 from, u64 most, v8_use use, void *arg)
{
    struct reading r = {.m = m, .v8 = v, .use = use, .arg = arg};
    bool more;
    return read_range(&r, string, from, most, &more);
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

struct text {
    struct buf *out;
    u32 high; /* the first half of a character that takes two; 0: none is open */
};

static void add(struct buf *out, u32 c)
{
    char bytes[4];
    buf_add(out, bytes, utf8_put(c, bytes));
}

static bool add_chars(void *arg, const u8 *chars, size_t n, unsigned bytes)
{
    struct text *t = arg;
    for (size_t i = 0; i < n; i++) {
        u16 c = 0;
        memcpy(&c, chars + i * bytes, bytes);
        bool low = c >= 0xdc00 && c < 0xe000;
        if (t->high && low)
            add(t->out, 0x10000 + ((t->high & 0x3ff) << 10) + (c & 0x3ffu));
        else if (t->high || low) /* a half alone */
            add(t->out, 0xfffd);
        if (!low && (c < 0xd800 || c >= 0xe000))
            add(t->out, c);
        t->high = c >= 0xd800 && c < 0xdc00 ? c : 0;
    }
    return !t->out->failed;
}

bool v8_text(struct memory *m, const struct v8 *v, u64 string, struct buf *out)
{
    AUTO_BUF struct buf plain = {0};
    struct text t = {.out = &plain};
    struct reading r = {.m = m, .v8 = v, .use = add_chars, .arg = &t};
    bool more;
    if (!read_range(&r, string, 0, V8_MAX_TEXT, &more))
        return false;
    if (t.high && !more) /* a half alone, at the end */
        add(&plain, 0xfffd);
    if (more)
        buf_str(&plain, SHORTENED);
    out->failed |= plain.failed;
    if (plain.len)
        append_utf8(out, plain.data, plain.len);
    return !out->failed;
}
