/* Strings and arrays. Those that are short are part of their object. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "dwarf/demangle.h"
#include "runtime/ruby_internal.h"

#define TYPE_BITS    5
#define IMEMO_SHIFT  12
#define STRING_HEAP  (1u << 13) /* RSTRING_NOEMBED */
#define STRING_SHIFT 14         /* up to 3.1: 5 bits of length */
#define ARRAY_SELF   (1u << 13) /* RARRAY_EMBED_FLAG */
#define ARRAY_SHIFT  15
#define MAX_TEXT     4096 /* bytes; longer names are shortened */
#define SHORTENED    "..."

bool ruby_is_a(struct memory *m, u64 value, enum ruby_type type, u64 *flags)
{
    bool ok = ruby_may_point(value);
    *flags = memory_u(m, value, sizeof(u64), &ok);
    return ok && (*flags & ((1u << TYPE_BITS) - 1)) == type;
}

bool ruby_is_imemo(struct memory *m, u64 value, enum ruby_imemo type)
{
    u64 flags;
    return ruby_is_a(m, value, RUBY_IMEMO, &flags) && (flags >> IMEMO_SHIFT & 15) == type;
}

/* Where the text is. False: that cannot be read. */
static bool place_of(struct memory *m, const struct ruby_layout *l, u64 string, u64 flags, u64 *at, u64 *len)
{
    bool ok = true;
    if (flags & STRING_HEAP) {
        *len = memory_u(m, string + 16, sizeof(u64), &ok);
        *at = memory_u(m, string + 24, sizeof(u64), &ok);
    } else if (l->string_length) {
        *len = memory_u(m, string + l->string_length, sizeof(u64), &ok);
        *at = string + l->string_length + 8;
    } else {
        *len = flags >> STRING_SHIFT & 31;
        *at = string + 16;
    }
    return ok;
}

bool ruby_text(struct memory *m, const struct ruby_layout *l, u64 string, struct buf *out)
{
    u8 bytes[MAX_TEXT];
    AUTO_BUF struct buf plain = {0};
    u64 flags, at, len;
    if (!ruby_is_a(m, string, RUBY_STRING, &flags) || !place_of(m, l, string, flags, &at, &len))
        return false;
    size_t n = len < MAX_TEXT ? (size_t)len : MAX_TEXT;
    if (!memory_near(m, at, bytes, n))
        return false;
    buf_add(&plain, bytes, n);
    if (n < len)
        buf_str(&plain, SHORTENED);
    out->failed |= plain.failed;
    if (plain.len)
        append_utf8(out, plain.data, plain.len);
    return !out->failed;
}

u64 ruby_element(struct memory *m, const struct ruby_layout *l, u64 array, u64 index)
{
    u64 flags;
    bool ok = ruby_is_a(m, array, RUBY_ARRAY, &flags);
    u64 at = array + 16, len = flags >> ARRAY_SHIFT & ((1u << l->array_bits) - 1);
    if (ok && !(flags & ARRAY_SELF)) {
        len = memory_u(m, array + 16, sizeof(u64), &ok);
        at = memory_u(m, array + 32, sizeof(u64), &ok);
    }
    return ok && index < len ? memory_u(m, at + 8 * index, sizeof(u64), &ok) : 0;
}
