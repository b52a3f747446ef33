/* From words of a stack to frames. Whether a function is still the same one is checked twice: when it is read, and once
 * more at the end. */
#include "runtime/php_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

static bool is_gone(void *query, const u64 *w)
{
    const struct php_query *q = query;
    u32 cookie;
    return frame_reply_is(XP_LANGUAGE_PHP, w) &&
           (!php_cookie(q->m, &q->p->machine.php, XP_WORD_ADDR(w[0]), &cookie) || !frame_reply_fits(cookie, w));
}

/* The outermost code is the script. Zend/zend_compile.c adds the mark of texts to the name of the file that has them
 * (zend_make_compiled_string_description). */
static const char *name_of_code(const char *file, u32 position)
{
    static const char mark[] = " : eval()'d code";
    size_t len = strlen(file);
    if (position & XP_PHP_MAIN)
        return "{main}";
    return len >= sizeof(mark) - 1 && !strcmp(file + len - (sizeof(mark) - 1), mark) ? "eval" : "include";
}

static void add_code(struct php_query *q, u32 file, u32 position)
{
    const char *name = name_of_code(q->reply.texts.data + file, position);
    u32 text = frame_reply_text(&q->reply, name, strlen(name));
    frame_reply_add(&q->reply, (struct names_frame){.start = RUNTIME_INTERPRETED,
                                                    .name = text,
                                                    .system_name = text,
                                                    .file = file,
                                                    .line = position & ~XP_PHP_MAIN});
}

static void add_function(struct php_query *q, const struct php_function *f, u32 position)
{
    struct names_frame frame = {.start = RUNTIME_INTERPRETED, .name = f->name, .system_name = f->name, .file = f->file};
    if (f->type == XP_PHP_INTERNAL)
        frame.start = RUNTIME_NATIVE;
    else
        frame.line = position & ~XP_PHP_MAIN;
    frame_reply_add(&q->reply, frame);
}

static void add_pair(void *query, const u64 *w)
{
    struct php_query *q = query;
    const struct php_function *f = frame_reply_is(XP_LANGUAGE_PHP, w) ? php_function(q, XP_WORD_ADDR(w[0])) : NULL;
    bool code = frame_reply_is(XP_LANGUAGE_PHP, w) && w[0] & XP_PHP_CODE;
    if (frame_reply_is(XP_LANGUAGE_PHP, w) && !f)
        q->reply.texts.failed = true;
    else if (frame_reply_is(XP_LANGUAGE_PHP, w) && !frame_reply_fits(f->cookie, w))
        return;
    else if (!f || !(code ? f->file : f->name))
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[php]");
    else if (code)
        add_code(q, f->file, XP_MORE_POSITION(w[1]));
    else
        add_function(q, f, XP_MORE_POSITION(w[1]));
}

int php_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[php: gone]"};
    struct php p;
    struct php_query q = {.m = m, .p = &p};
    if (php_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&p, attached, sizeof(p));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.functions);
    return rc;
}
