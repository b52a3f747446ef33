/* From a sub to its name, as Perl's cv_name() does it, and from a statement to its file and line. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "dwarf/demangle.h"
#include "runtime/perl_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_SUBS  (1u << 20)
#define MAX_TEXT  1024 /* bytes; longer names are shortened */
#define MAX_FILE  4096
#define MAX_STEPS 4 /* ops of a sub before its first statement */
#define SHORTENED "..."

enum { /* GV and GP (gv.h), XPVGV (sv.h), HV and its auxiliary structure (hv.h), HEK */
       GV_NAME = 32,
       GV_STASH = 40,
       GP_EGV = 56,
       HV_MAX = 24,
       HV_BODY = 32,
       AUX_NAMES = 28,
       HEK_LENGTH = 4,
       HEK_KEY = 8,
       HEK_UTF8 = 1,
};

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

/* What is not UTF-8 is Latin-1. */
static void add_latin1(struct buf *out, const char *s, size_t len)
{
    char bytes[4];
    for (size_t i = 0; i < len; i++)
        buf_add(out, bytes, utf8_put((u8)s[i], bytes));
}

/* A key of a hash: its length, its bytes, a NUL, and flags. */
static bool add_hek(struct memory *m, u64 hek, struct buf *out)
{
    char text[MAX_TEXT];
    bool ok = hek && hek < MAX_ADDRESS;
    u32 length = (u32)memory_u(m, hek + HEK_LENGTH, sizeof(u32), &ok);
    if (!ok || !length || length > INT32_MAX)
        return false;
    u32 n = length < sizeof(text) ? length : sizeof(text);
    u64 flags = memory_u(m, hek + HEK_KEY + length + 1, 1, &ok);
    if (!ok || !memory_near(m, hek + HEK_KEY, text, n))
        return false;
    if (flags & HEK_UTF8)
        append_utf8(out, text, n);
    else
        add_latin1(out, text, n);
    if (n < length)
        buf_str(out, SHORTENED);
    return true;
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* A stash may have had several names: then they are an array, the first one of which may be none. */
static u64 stash_name(struct memory *m, const struct perl *p, u64 stash)
{
    bool ok = (perl_flags(m, stash) & (SV_TYPE | SV_HAS_AUX)) == (SV_HV | SV_HAS_AUX);
    u64 body = memory_u(m, stash, sizeof(u64), &ok), aux = body + HV_BODY;
    if (!p->layout.aux_inside) {
        u64 max = memory_u(m, body + HV_MAX, sizeof(u64), &ok);
        aux = memory_u(m, stash + SV_U, sizeof(u64), &ok) + 8 * (max + 1);
    }
    u64 name = memory_u(m, aux, sizeof(u64), &ok);
    if (!memory_u(m, aux + AUX_NAMES, sizeof(u32), &ok))
        return name;
    u64 first = memory_u(m, name, sizeof(u64), &ok);
    return first ? first : memory_u(m, name + 8, sizeof(u64), &ok);
}

static bool add_name(struct memory *m, const struct perl *p, u64 stash, u64 hek, struct buf *out)
{
    if (!add_hek(m, stash_name(m, p, stash), out))
        buf_str(out, "__ANON__"); /* the stash was deleted */
    buf_str(out, "::");
    return add_hek(m, hek, out);
}

/* A glob may be an alias: what it is one of has the name. */
static bool add_glob(struct memory *m, const struct perl *p, u64 gv, struct buf *out)
{
    u32 flags = perl_flags(m, gv);
    bool ok = true;
    if ((flags & SV_TYPE) != SV_GV)
        return false;
    if (flags & SV_HAS_GP) {
        u64 gp = memory_u(m, gv + SV_U, sizeof(u64), &ok), egv = memory_u(m, gp + GP_EGV, sizeof(u64), &ok);
        gv = ok && perl_is(m, egv, SV_GV) ? egv : gv;
    }
    ok = true;
    u64 body = memory_u(m, gv, sizeof(u64), &ok);
    u64 name = memory_u(m, body + GV_NAME, sizeof(u64), &ok), stash = memory_u(m, body + GV_STASH, sizeof(u64), &ok);
    return ok && add_name(m, p, stash, name, out);
}

static bool is_eval(u32 flags, u32 own)
{
    return (own & CV_UNIQUE) && !(flags & SV_FAKE);
}

static bool is_main(struct memory *m, const struct perl *p, u64 cv)
{
    bool ok = true;
    return memory_u(m, p->layout.main, sizeof(u64), &ok) == cv && ok;
}

static bool add_sub(struct perl_query *q, u64 cv, u64 body, struct buf *out)
{
    struct memory *m = q->m;
    bool ok = true;
    u32 flags = perl_flags(m, cv), own = (u32)memory_u(m, body + CV_FLAGS, sizeof(u32), &ok);
    u64 name = memory_u(m, body + CV_NAME, sizeof(u64), &ok), stash = memory_u(m, body + CV_STASH, sizeof(u64), &ok);
    if (!ok)
        return false;
    if (is_eval(flags, own)) {
        u64 outside = memory_u(m, body + CV_OUTSIDE, sizeof(u64), &ok);
        buf_str(out, is_main(m, q->p, cv) ? "(main)" : outside ? "(eval)" : "(require)");
        return ok;
    }
    if ((flags & SV_TYPE) == SV_FORMAT)
        buf_str(out, "format ");
    if (own & CV_NAMED)
        return own & CV_LEXICAL ? add_hek(m, name, out) : add_name(m, q->p, stash, name, out);
    return add_glob(m, q->p, name, out);
}

/* ---- Statements ------------------------------------------------------------------------------------------------- */

/* The first one of code in a pattern is an OP_NULL that says what it was. */
static bool is_cop(struct memory *m, const struct perl *p, u64 op)
{
    bool ok = op && op % 8 == 0 && op < MAX_ADDRESS;
    u64 type = memory_u(m, op + OP_TYPE, sizeof(u32), &ok) % OP_TYPES;
    if (!type)
        type = memory_u(m, op + OP_TARGET, sizeof(u64), &ok);
    return ok && (type == p->layout.nextstate || type == p->layout.dbstate);
}

/* Without threads, COPs have a glob instead of a name: its own name has two characters in front, "_<". */
static bool read_file(struct perl_query *q, u64 at, struct buf *out)
{
    char text[MAX_FILE];
    bool ok = true;
    if (q->p->layout.build == PERL_THREADS) {
        ok = memory_text(q->m, at, text, sizeof(text));
        if (ok)
            append_utf8(out, text, strlen(text));
        return ok;
    }
    u64 body = perl_is(q->m, at, SV_GV) ? memory_u(q->m, at, sizeof(u64), &ok) : 0;
    return body && add_hek(q->m, memory_u(q->m, body + GV_NAME, sizeof(u64), &ok), out);
}

static u32 file_of(struct perl_query *q, u64 at)
{
    AUTO_BUF struct buf text = {0};
    const u64 *known = map_get(&q->files, at);
    size_t skip = q->p->layout.build == PERL_THREADS ? 0 : 2;
    if (known)
        return (u32)*known;
    u32 file =
        read_file(q, at, &text) && text.len > skip ? frame_reply_text(&q->reply, text.data + skip, text.len - skip) : 0;
    u64 *place = map_put(&q->files, at);
    q->reply.texts.failed |= text.failed || !place;
    if (place)
        *place = file;
    return file;
}

bool perl_place(struct perl_query *q, u64 cop, u32 *file, u32 *line)
{
    bool ok = is_cop(q->m, q->p, cop);
    u32 at = (u32)memory_u(q->m, cop + COP_LINE, sizeof(u32), &ok);
    u64 name = memory_u(q->m, cop + COP_FILE, sizeof(u64), &ok);
    if (!ok)
        return false;
    *line = at < INT32_MAX ? at : 0;
    *file = file_of(q, name);
    return true;
}

/* That of the first statement. */
static u32 first_file(struct perl_query *q, u64 op)
{
    u32 file = 0, line;
    bool ok = true;
    for (unsigned i = 0; i < MAX_STEPS && ok && op && !perl_place(q, op, &file, &line); i++)
        op = memory_u(q->m, op + OP_NEXT, sizeof(u64), &ok);
    return file;
}

/* ---- Subs ------------------------------------------------------------------------------------------------------- */

/* What the unwinder has read of a CV. */
static bool read_words(struct memory *m, u64 cv, u64 *body, u64 words[XP_PERL_WORDS])
{
    u32 type = cv < MAX_ADDRESS ? perl_flags(m, cv) & SV_TYPE : 0;
    bool ok = type == SV_CV || type == SV_FORMAT;
    *body = memory_u(m, cv, sizeof(u64), &ok);
    return ok && *body < MAX_ADDRESS && memory_near(m, *body + CV_STASH, words, XP_PERL_WORDS * sizeof(*words));
}

static struct perl_mark mark_of(struct memory *m, const struct perl *p, u64 cv, u64 body, const u64 *words)
{
    bool ok = true;
    u32 own = (u32)memory_u(m, body + CV_FLAGS, sizeof(u32), &ok);
    u64 depth = memory_u(m, body + CV_DEPTH, sizeof(u32), &ok);
    u32 id = (u32)memory_u(m, words[XP_PERL_WORDS - 1] + p->machine.perl.pad_id, sizeof(u32), &ok);
    return (struct perl_mark){.cookie = XP_PERL_COOKIE(words, id),
                              .over = is_eval(perl_flags(m, cv), own) && !depth && !(own & CV_COMPILED) &&
                                      !is_main(m, p, cv)};
}

bool perl_mark(struct memory *m, const struct perl *p, u64 cv, struct perl_mark *out)
{
    u64 body, words[XP_PERL_WORDS];
    if (!read_words(m, cv, &body, words))
        return false;
    *out = mark_of(m, p, cv, body, words);
    return true;
}

static struct perl_sub read_sub(struct perl_query *q, u64 cv)
{
    AUTO_BUF struct buf text = {0};
    struct perl_sub s = {0};
    u64 body, words[XP_PERL_WORDS];
    if (!read_words(q->m, cv, &body, words))
        return s;
    s.mark = mark_of(q->m, q->p, cv, body, words);
    bool ok = add_sub(q, cv, body, &text);
    s.name = frame_reply_text_of(&q->reply, &text, ok);
    s.file = first_file(q, words[1]);
    return s;
}

const struct perl_sub *perl_sub(struct perl_query *q, u64 cv)
{
    static const struct perl_sub none;
    const u64 *known = map_get(&q->subs, cv);
    if (known)
        return &q->known.v[*known - 1];
    if (q->known.n >= MAX_SUBS) {
        q->reply.cut = true;
        return &none;
    }
    struct perl_sub s = read_sub(q, cv);
    struct perl_sub *to = VEC_PUSH(&q->known);
    u64 *place = to ? map_put(&q->subs, cv) : NULL;
    if (!place)
        return NULL;
    *to = s;
    *place = q->known.n;
    return to;
}
