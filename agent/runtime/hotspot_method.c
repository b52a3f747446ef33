/* From a Method to its names, file and lines: Method -> ConstMethod -> ConstantPool -> class -> Symbol. */
#include "dwarf/demangle.h"
#include "runtime/hotspot_internal.h"
#include "runtime/unsigned5.h"
#include <errno.h>
#include <string.h>

#define MAX_METHODS (1u << 20)
#define MAX_SYMBOL  65535 /* its length has 16 bits */
#define MAX_LINES   65536 /* a bytecode has 16 bits */

/* ---- Spelling --------------------------------------------------------------------------------------------------- */

/* A character beyond U+FFFF is a pair of surrogates in modified UTF-8 (JNI specification), of three bytes each. */
static bool is_surrogate(const u8 *p, u8 kind)
{
    return p[0] == 0xed && (p[1] & 0xf0) == kind && (p[2] & 0xc0) == 0x80;
}

void hotspot_spell(struct buf *out, const char *s, size_t len)
{
    const u8 *p = (const u8 *)s;
    AUTO_BUF struct buf plain = {0};
    for (size_t i = 0; i < len;) {
        if (len - i < 6 || !is_surrogate(p + i, 0xa0) || !is_surrogate(p + i + 3, 0xb0)) {
            buf_char(&plain, s[i++]);
            continue;
        }
        u32 high = (p[i + 1] & 0xfu) << 6 | (p[i + 2] & 0x3fu), low = (p[i + 4] & 0xfu) << 6 | (p[i + 5] & 0x3fu);
        u32 c = 0x10000 + (high << 10 | low);
        const char four[] = {(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)), (char)(0x80 | (c >> 6 & 0x3f)),
                             (char)(0x80 | (c & 0x3f))};
        buf_add(&plain, four, sizeof(four));
        i += 6;
    }
    if (plain.failed)
        out->failed = true;
    else if (plain.len)
        append_utf8(out, plain.data, plain.len);
}

/* "java/lang/invoke/LambdaForm$MH+0x00007f2d98004000": of a hidden class. */
static size_t without_address(const char *s, size_t len)
{
    size_t n = len;
    while (n && ((s[n - 1] >= '0' && s[n - 1] <= '9') || (s[n - 1] >= 'a' && s[n - 1] <= 'f')))
        n--;
    bool is_one = n >= 4 && n < len && s[n - 1] == 'x' && s[n - 2] == '0' && (s[n - 3] == '+' || s[n - 3] == '/');
    return is_one ? n - 3 : len;
}

void hotspot_spell_class(struct buf *out, const char *s, size_t len)
{
    static const char lambda[] = "$$Lambda";
    const char *found = memmem(s, len, lambda, strlen(lambda));
    size_t at = out->len;
    len = found ? (size_t)(found - s) + strlen(lambda) : without_address(s, len);
    hotspot_spell(out, s, len);
    for (size_t i = at; i < out->len; i++)
        if (out->data[i] == '/')
            out->data[i] = '.';
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* Appends a symbol. */
static bool add_symbol(struct hotspot_query *q, u64 symbol, void (*spell)(struct buf *, const char *, size_t),
                       struct buf *out)
{
    const struct hotspot_layout *l = &q->h->layout;
    char bytes[MAX_SYMBOL];
    bool ok = symbol != 0;
    size_t len = (size_t)memory_u(q->m, symbol + l->symbol_length, sizeof(u16), &ok);
    if (!ok || !len || !memory_near(q->m, symbol + l->symbol_body, bytes, len))
        return false;
    spell(out, bytes, len);
    return !out->failed;
}

/* An entry of a constant pool, whose number is at an offset of something. */
static u64 pool_entry(struct hotspot_query *q, u64 pool, u64 index_at)
{
    bool ok = true;
    u64 index = memory_u(q->m, index_at, sizeof(u16), &ok);
    ok = ok && index < (u32)memory_u(q->m, pool + q->h->layout.pool_length, sizeof(u32), &ok);
    u64 entry = index ? memory_u(q->m, pool + q->h->layout.pool_size + 8 * index, sizeof(u64), &ok) : 0;
    return entry & ~1ull; /* 8: marks of what is not resolved */
}

static void name_method(struct hotspot_query *q, u64 pool, u64 klass, struct hotspot_method *to)
{
    const struct hotspot_layout *l = &q->h->layout;
    AUTO_BUF struct buf name = {0};
    bool ok = true;
    if (add_symbol(q, memory_u(q->m, klass + q->h->jvm.klass_name, sizeof(u64), &ok), hotspot_spell_class, &name))
        buf_char(&name, '.');
    if (!add_symbol(q, pool_entry(q, pool, to->constmethod + l->const_name), hotspot_spell, &name))
        return;
    to->name = frame_reply_text(&q->reply, name.data, name.len);
    add_symbol(q, pool_entry(q, pool, to->constmethod + l->const_signature), hotspot_spell, &name);
    to->system_name = frame_reply_text(&q->reply, name.data, name.len);
}

/* By the pool of the class: that of a method may be a part of another one (those of method handles). */
static void name_file(struct hotspot_query *q, u64 klass, struct hotspot_method *to)
{
    const struct hotspot_layout *l = &q->h->layout;
    AUTO_BUF struct buf name = {0};
    bool ok = true;
    u64 pool = memory_u(q->m, klass + l->klass_pool, sizeof(u64), &ok);
    u64 at = l->pool_file ? pool + l->pool_file : l->klass_file ? klass + l->klass_file : 0;
    if (ok && at && add_symbol(q, pool_entry(q, pool, at), hotspot_spell, &name))
        to->file = frame_reply_text(&q->reply, name.data, name.len);
}

static struct hotspot_method read_method(struct hotspot_query *q, u64 method)
{
    const struct hotspot_layout *l = &q->h->layout;
    struct hotspot_method m = {0};
    bool ok = true;
    m.constmethod = memory_u(q->m, method + q->h->jvm.constmethod, sizeof(u64), &ok);
    u64 pool = memory_u(q->m, m.constmethod + q->h->jvm.const_pool, sizeof(u64), &ok);
    u64 klass = memory_u(q->m, pool + q->h->jvm.pool_holder, sizeof(u64), &ok);
    m.code_size = (u32)memory_u(q->m, m.constmethod + l->const_code_size, sizeof(u16), &ok);
    m.lines = memory_u(q->m, m.constmethod + l->const_flags, sizeof(u16), &ok) & l->lines_flag;
    if (!ok)
        return (struct hotspot_method){0};
    name_method(q, pool, klass, &m);
    name_file(q, klass, &m);
    return m;
}

const struct hotspot_method *hotspot_method(struct hotspot_query *q, u64 method)
{
    static const struct hotspot_method none;
    const u64 *known = map_get(&q->methods, method);
    if (known)
        return &q->known.v[*known - 1];
    if (q->known.n >= MAX_METHODS) {
        q->reply.cut = true;
        return &none;
    }
    struct hotspot_method m = read_method(q, method);
    struct hotspot_method *to = VEC_PUSH(&q->known);
    u64 *place = to ? map_put(&q->methods, method) : NULL;
    if (!place)
        return NULL;
    *to = m;
    *place = q->known.n;
    return to;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

/* A stream of bytes of which some are in `bytes`. */
struct stream {
    struct hotspot_query *q;
    u64 at; /* of what follows them */
    struct cursor c;
    u8 bytes[64];
};

/* Makes sure that there is room for a row, as far as it can be read. */
static void refill(struct stream *s)
{
    size_t left = cursor_left(&s->c), n = sizeof(s->bytes) - left;
    if (left > 2 * UNSIGNED5_MAX_BYTES)
        return;
    memmove(s->bytes, s->c.base + s->c.pos, left);
    size_t to_end = MEMORY_PAGE - s->at % MEMORY_PAGE;
    n = n < to_end ? n : to_end;
    if (!memory_near(s->q->m, s->at, s->bytes + left, n))
        n = 0;
    s->at += n;
    s->c = cursor_of(s->bytes, left + n);
}

/* The next row, relative to the last one: 5 and 3 bits, or two numbers. False: there are no more. */
static bool next_line(struct stream *s, s64 *bci, s64 *line)
{
    u8 zero = s->q->h->layout.byte_zero;
    refill(s);
    if (cursor_left(&s->c) < 1 + 2 * UNSIGNED5_MAX_BYTES)
        refill(s); /* the end of a page */
    u8 b = cursor_u8(&s->c);
    if (b == 0xff) {
        *bci += unsigned5_signed(&s->c, zero);
        *line += unsigned5_signed(&s->c, zero);
    } else {
        *bci += b >> 3;
        *line += b & 7;
    }
    return b && !s->c.bad;
}

/* The table is behind the bytecodes (src/hotspot/share/code/compressedStream.hpp, oops/method.cpp). Its rows need not
 * be in the order of the bytecodes. */
u32 hotspot_line(struct hotspot_query *q, const struct hotspot_method *m, u32 bci)
{
    struct stream s = {.q = q, .at = m->constmethod + q->h->jvm.bytecodes + m->code_size};
    s64 at = 0, line = 0, best = -1, found = 0;
    if (!m->lines || bci >= m->code_size)
        return 0;
    s.c = cursor_of(s.bytes, 0);
    for (unsigned i = 0; i < MAX_LINES && best != bci && next_line(&s, &at, &line); i++)
        if (at <= bci && at >= best) {
            best = at;
            found = line;
        }
    return found > 0 && found <= MAX_LINES ? (u32)found : 0;
}
