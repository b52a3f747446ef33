/* From a code object to its names. Objects say what they are: their type is that of the module with the interpreter. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "dwarf/demangle.h"
#include "runtime/python_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_CODES (1u << 20)
#define MAX_TEXT  4096 /* characters; longer names are shortened */
#define MAX_BYTES (1u << 20)
#define SHORTENED "..."

static bool is_a(struct memory *m, const struct python_layout *l, u64 at, u64 type)
{
    bool ok = at && at < MAX_ADDRESS;
    return memory_u(m, at + l->type, sizeof(u64), &ok) == type && ok;
}

/* ---- Texts (PEP 393) -------------------------------------------------------------------------------------------- */

struct text_form {
    u32 kind; /* bytes of a character */
    bool ascii;
};

/* Kind (3 bits), compact, ascii. Texts that are not compact are those of subclasses. */
static bool form_of(u32 state, unsigned shift, struct text_form *out)
{
    u32 bits = state >> shift;
    *out = (struct text_form){.kind = bits & 7, .ascii = bits >> 4 & 1};
    return (bits >> 3 & 1) && (out->kind == 1 || ((out->kind == 2 || out->kind == 4) && !out->ascii));
}

/* Without a GIL the byte below has the state of interning alone. */
bool python_kind_shift(struct memory *m, struct python_layout *l, u64 str)
{
    static const u8 shifts[] = {2, 8, 16};
    struct text_form f;
    bool ok = is_a(m, l, str, l->str_type);
    u32 state = (u32)memory_u(m, str + l->str_state, sizeof(u32), &ok);
    for (unsigned i = 0; i < sizeof(shifts) && ok; i++) {
        l->kind_shift = shifts[i];
        if (form_of(state, shifts[i], &f))
            return true;
    }
    return false;
}

/* What a file name has of bytes that are not UTF-8 (PEP 383) becomes such bytes again, and other surrogates, too. */
static void add_character(struct buf *out, u32 c)
{
    char bytes[4];
    if (c >= 0xd800 && c < 0xe000)
        buf_char(out, (char)(0x80 | (c & 0x7f)));
    else
        buf_add(out, bytes, utf8_put(c, bytes));
}

static bool add_text(struct memory *m, u64 at, u32 kind, u32 n, struct buf *out)
{
    u8 chars[256 * 4];
    for (u32 i = 0; i < n;) {
        u32 some = n - i < 256 ? n - i : 256;
        if (!memory_near(m, at + (u64)i * kind, chars, (size_t)some * kind))
            return false;
        for (u32 k = 0; k < some; k++) {
            u32 c = 0;
            memcpy(&c, chars + (size_t)k * kind, kind);
            add_character(out, c);
        }
        i += some;
    }
    return true;
}

bool python_text(struct memory *m, const struct python_layout *l, u64 str, struct buf *out)
{
    AUTO_BUF struct buf plain = {0};
    struct text_form f;
    bool ok = is_a(m, l, str, l->str_type);
    u32 state = (u32)memory_u(m, str + l->str_state, sizeof(u32), &ok);
    u64 length = memory_u(m, str + l->str_length, sizeof(u64), &ok);
    if (!ok || !form_of(state, l->kind_shift, &f))
        return false;
    u32 n = length < MAX_TEXT ? (u32)length : MAX_TEXT;
    if (!add_text(m, str + (f.ascii ? l->str_ascii : l->str_compact), f.kind, n, &plain))
        return false;
    if (n < length)
        buf_str(&plain, SHORTENED);
    out->failed |= plain.failed;
    if (plain.len)
        append_utf8(out, plain.data, plain.len);
    return !out->failed;
}

bool python_bytes(struct memory *m, const struct python_layout *l, u64 bytes, u32 *size)
{
    bool ok = is_a(m, l, bytes, l->bytes_type);
    u64 n = memory_u(m, bytes + l->bytes_size, sizeof(u64), &ok);
    *size = (u32)n;
    return ok && n <= MAX_BYTES;
}

/* ---- Code objects ----------------------------------------------------------------------------------------------- */

/* As the unwinder does it. */
static bool read_mark(struct memory *m, const struct xp_python *x, u64 code, u64 file, u64 *mark)
{
    u64 head[3], tail[2], text = file + x->text;
    bool ok = true;
    if (!x->text) {
        *mark = memory_u(m, code + x->code_names - XP_PYTHON_VERSION, sizeof(u32), &ok);
        return ok;
    }
    ok = memory_near(m, text, head, sizeof(head)) && memory_near(m, text + XP_PYTHON_TAIL(head), tail, sizeof(tail));
    *mark = ok ? XP_PYTHON_MARK(tail) : 0;
    return ok;
}

bool python_code_words(struct memory *m, const struct python *p, u64 code, u64 words[XP_PYTHON_WORDS])
{
    memset(words, 0, XP_PYTHON_WORDS * sizeof(*words));
    return is_a(m, &p->layout, code, p->layout.code_type) &&
           memory_near(m, code + p->machine.code_names, words, p->machine.names * sizeof(*words)) &&
           read_mark(m, &p->machine, code, words[0], &words[XP_PYTHON_NAMES]);
}

/* The offset of a text; 0: it cannot be read. */
static u32 text_of(struct python_query *q, u64 str)
{
    AUTO_BUF struct buf text = {0};
    bool ok = python_text(q->m, &q->p->layout, str, &text);
    return frame_reply_text_of(&q->reply, &text, ok);
}

static u32 size_of(struct memory *m, const struct python_layout *l, u64 code)
{
    bool ok = true;
    u32 size = 0;
    if (l->code_size)
        size = (u32)memory_u(m, code + l->code_size, sizeof(u32), &ok) * 2;
    else if (!python_bytes(m, l, memory_u(m, code + l->code_bytes, sizeof(u64), &ok), &size))
        return 0;
    return size <= MAX_BYTES ? size : MAX_BYTES;
}

static struct python_code read_code(struct python_query *q, u64 code)
{
    const struct python_layout *l = &q->p->layout;
    struct python_code c = {0};
    u64 words[XP_PYTHON_WORDS];
    bool ok = true;
    if (!python_code_words(q->m, q->p, code, words))
        return c;
    unsigned names = q->p->machine.names;
    u64 table = words[names - 1];
    c.cookie = XP_PYTHON_COOKIE(words, words[XP_PYTHON_NAMES]);
    c.file = text_of(q, words[0]);
    c.name = text_of(q, words[names - 2]);
    c.first = (u32)memory_u(q->m, code + l->code_first, sizeof(u32), &ok);
    c.first = c.first <= INT32_MAX ? c.first : 0;
    c.size = size_of(q->m, l, code);
    if (python_bytes(q->m, l, table, &c.table_size))
        c.table = table + l->bytes_data;
    return c;
}

const struct python_code *python_code(struct python_query *q, u64 code)
{
    static const struct python_code none;
    const u64 *known = map_get(&q->codes, code);
    if (known)
        return &q->known.v[*known - 1];
    if (q->known.n >= MAX_CODES) {
        q->reply.cut = true;
        return &none;
    }
    struct python_code c = read_code(q, code);
    struct python_code *to = VEC_PUSH(&q->known);
    u64 *place = to ? map_put(&q->codes, code) : NULL;
    if (!place)
        return NULL;
    *to = c;
    *place = q->known.n;
    return to;
}
