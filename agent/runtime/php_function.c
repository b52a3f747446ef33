/* From a function to its names. */
#include "base/cleanup.h"
#include "dwarf/demangle.h"
#include "runtime/php_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_FUNCTIONS (1u << 20)
#define MAX_TEXT      4096       /* bytes; longer names are shortened */
#define MAX_LENGTH    (1u << 20) /* of a string that is a name */
#define SHORTENED     "..."
#define IS_STRING     6 /* Zend/zend_types.h */

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

/* What follows a NUL tells anonymous classes apart ("class@anonymous"), by their file. */
bool php_text(struct memory *m, u64 string, struct buf *out)
{
    char text[MAX_TEXT];
    bool ok = string && string < MAX_ADDRESS;
    u32 type = (u32)memory_u(m, string + PHP_STRING_TYPE, sizeof(u32), &ok);
    u64 length = memory_u(m, string + XP_PHP_LENGTH, sizeof(u64), &ok);
    size_t n = length < MAX_TEXT ? (size_t)length : MAX_TEXT;
    if (!ok || (type & 15) != IS_STRING || length > MAX_LENGTH || !memory_near(m, string + XP_PHP_TEXT, text, n))
        return false;
    size_t len = strnlen(text, n);
    if (len)
        append_utf8(out, text, len);
    if (len == n && n < length)
        buf_str(out, SHORTENED);
    return !out->failed;
}

/* ---- Functions -------------------------------------------------------------------------------------------------- */

/* As the unwinder does it. */
bool php_words(struct memory *m, const struct xp_php *x, u64 function, struct php_words *out)
{
    u64 words[3], file[2] = {0}, text[2] = {0};
    u8 type;
    if (!function || function >= MAX_ADDRESS || !memory_near(m, function + x->function_type, &type, 1) ||
        !memory_near(m, function + x->function_words, words, sizeof(words)))
        return false;
    if (type != XP_PHP_INTERNAL && type != PHP_USER_FUNCTION && type != PHP_EVAL_CODE)
        return false;
    if (type != XP_PHP_INTERNAL && !memory_near(m, function + x->function_file, file, sizeof(file)))
        return false;
    if (type != XP_PHP_INTERNAL && words[0] &&
        (words[0] >= MAX_ADDRESS || !memory_near(m, words[0] + XP_PHP_LENGTH, text, sizeof(text))))
        return false;
    *out = (struct php_words){words[0], words[1], words[2], file[0], file[1], {text[0], text[1]}, type};
    return true;
}

static u32 cookie_of(const struct php_words *w)
{
    u64 name = w->type == XP_PHP_INTERNAL ? w->name : XP_PHP_NAME(w->name, w->text);
    return XP_SCRIPT_COOKIE(name, w->scope, w->prototype, XP_PHP_FILE(w->file, w->lines));
}

static bool code_cookie(struct memory *m, u64 file, u32 *cookie)
{
    u64 tail[3] = {0};
    bool ok = file != 0;
    u64 length = memory_u(m, file + XP_PHP_LENGTH, sizeof(u64), &ok);
    if (!ok || length > MAX_LENGTH ||
        (length >= XP_PHP_TAIL && !memory_near(m, file + XP_PHP_TEXT - XP_PHP_TAIL + length, tail, XP_PHP_TAIL)))
        return false;
    *cookie = XP_SCRIPT_COOKIE(length, tail[0], tail[1], tail[2]);
    return true;
}

bool php_cookie(struct memory *m, const struct xp_php *x, u64 at, u32 *cookie)
{
    struct php_words w;
    if (at & XP_PHP_CODE)
        return code_cookie(m, at & ~XP_PHP_CODE, cookie);
    if (!php_words(m, x, at, &w))
        return false;
    *cookie = cookie_of(&w);
    return true;
}

/* "Class::function"; the closures of a class belong to it, too. */
static bool spell_name(struct memory *m, const struct php_words *w, struct buf *out)
{
    bool ok = true;
    u64 class = w->scope && w->scope < MAX_ADDRESS ? memory_u(m, w->scope + PHP_CLASS_NAME, sizeof(u64), &ok) : 0;
    if (w->scope) {
        if (!php_text(m, class, out))
            return false;
        buf_str(out, "::");
    }
    return php_text(m, w->name, out);
}

static struct php_function read_code(struct php_query *q, u64 string)
{
    AUTO_BUF struct buf file = {0};
    struct php_function f = {0};
    if (code_cookie(q->m, string, &f.cookie))
        f.file = frame_reply_text_of(&q->reply, &file, php_text(q->m, string, &file));
    return f;
}

static struct php_function read_function(struct php_query *q, u64 at)
{
    AUTO_BUF struct buf name = {0};
    AUTO_BUF struct buf file = {0};
    struct php_words w;
    struct php_function f = {0};
    if (!php_words(q->m, &q->p->machine.php, at, &w))
        return f;
    f.type = w.type;
    f.cookie = cookie_of(&w);
    f.name = frame_reply_text_of(&q->reply, &name, spell_name(q->m, &w, &name));
    if (w.file)
        f.file = frame_reply_text_of(&q->reply, &file, php_text(q->m, w.file, &file));
    return f;
}

const struct php_function *php_function(struct php_query *q, u64 at)
{
    static const struct php_function none;
    const u64 *known = map_get(&q->functions, at);
    if (known)
        return &q->known.v[*known - 1];
    if (q->known.n >= MAX_FUNCTIONS) {
        q->reply.cut = true;
        return &none;
    }
    struct php_function f = at & XP_PHP_CODE ? read_code(q, at & ~XP_PHP_CODE) : read_function(q, at);
    struct php_function *to = VEC_PUSH(&q->known);
    u64 *place = to ? map_put(&q->functions, at) : NULL;
    if (!place)
        return NULL;
    *to = f;
    *place = q->known.n;
    return to;
}
