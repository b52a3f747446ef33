#include "events/condition.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH 32 /* of parentheses and negations */
#define COMM  15 /* characters of a name (TASK_COMM_LEN of the kernel) */

struct ways { /* of which one must hold */
    u8 terms[XP_TP_WAYS];
    u32 n;
};
struct compiler {
    const char *at;
    const struct tracepoint *fields;
    struct xp_tp *out;
    unsigned depth;
    char *why;
    size_t len;
};

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

/* Types of C that are smaller than a register: the rest of it may hold anything. */
static const struct cast {
    const char *type;
    u8 size, source;
} CASTS[] = {{"int", 4, XP_TP_SIGNED},
             {"unsigned", 4, XP_TP_UNSIGNED},
             {"short", 2, XP_TP_SIGNED},
             {"char", 1, XP_TP_SIGNED},
             {"bool", 1, XP_TP_UNSIGNED}};

/* Goes past a cast such as "(int)"; NULL: there is none. */
static const struct cast *take_cast(const char **text)
{
    const char *at = *text;
    if (*at++ != '(')
        return NULL;
    for (size_t i = 0; i < sizeof(CASTS) / sizeof(*CASTS); i++) {
        size_t n = strlen(CASTS[i].type);
        if (!strncmp(at, CASTS[i].type, n) && at[n] == ')') {
            at += n + 1;
            *text = at + strspn(at, " \t\n");
            return &CASTS[i];
        }
    }
    return NULL;
}

static bool apply(const struct cast *cast, struct xp_tp_field *f)
{
    if (!cast)
        return true;
    if ((f->source != XP_TP_SIGNED && f->source != XP_TP_UNSIGNED) || f->size < cast->size)
        return false;
    f->size = cast->size;
    f->source = cast->source;
    return true;
}

const char *condition_without_cast(const char *name)
{
    take_cast(&name);
    return name;
}

bool condition_field(const char *name, const struct tracepoint *fields, struct xp_tp_field *out)
{
    const struct cast *cast = take_cast(&name);
    static const struct {
        const char *name;
        u8 source;
    } own[] = {{"comm", XP_TP_COMM}, {"pid", XP_TP_PID}, {"tid", XP_TP_TID}};
    const struct tracepoint_field *f = tracepoint_field_find(fields, name);
    if (f)
        *out = f->place;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !f; i++)
        if (!strcmp(own[i].name, name)) {
            *out = (struct xp_tp_field){.source = own[i].source};
            return !cast;
        }
    return f && apply(cast, out);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int complain(const struct compiler *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->why, c->len, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

static void skip_blanks(struct compiler *c)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
}

static bool take(struct compiler *c, const char *word)
{
    skip_blanks(c);
    size_t n = strlen(word);
    if (strncmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* What is there, for messages. */
static const char *rest_of(struct compiler *c)
{
    skip_blanks(c);
    return c->at[0] ? c->at : "the end";
}

/* With the cast before it. */
static int read_name(struct compiler *c, char name[TRACEPOINT_NAME])
{
    skip_blanks(c);
    size_t cast = (size_t)(condition_without_cast(c->at) - c->at), n = cast;
    while (isalnum((unsigned char)c->at[n]) || c->at[n] == '_')
        n++;
    if (n == cast || n >= TRACEPOINT_NAME || isdigit((unsigned char)c->at[cast]))
        return complain(c, "expected the name of a field at: %s", rest_of(c));
    memcpy(name, c->at, n);
    name[n] = 0;
    c->at += n;
    return 0;
}

/* ---- A term ------------------------------------------------------------------------------------------------------ */

struct comparison {
    const char *word;
    u8 test;
    bool negated, texts;
};
static const struct comparison COMPARISONS[] = {
    {"==", XP_TP_EQUAL, false, true}, {"!=", XP_TP_EQUAL, true, true}, {"<=", XP_TP_GREATER, true, false},
    {">=", XP_TP_LESS, true, false},  {"<", XP_TP_LESS, false, false}, {">", XP_TP_GREATER, false, false},
    {"&", XP_TP_BITS, false, false},
};

static const struct comparison *read_comparison(struct compiler *c)
{
    skip_blanks(c);
    for (size_t i = 0; i < sizeof(COMPARISONS) / sizeof(*COMPARISONS); i++)
        if (strncmp(c->at, "&&", 2) != 0 && take(c, COMPARISONS[i].word))
            return &COMPARISONS[i];
    return NULL;
}

/* As in C: a number that is too large for a signed field is compared as one without a sign, and one with a sign becomes
 * as large as an unsigned field is. */
static void convert(struct xp_tp_term *t, bool minus)
{
    struct xp_tp_field *f = &t->field;
    u64 most = f->size == 8 ? ~0ull : 0xffffffff;
    if (f->size != 4 && f->size != 8)
        return;
    if (f->source == XP_TP_UNSIGNED && minus)
        t->number &= most;
    else if (f->source == XP_TP_SIGNED && !minus && t->number > most / 2 && t->number <= most)
        f->source = XP_TP_UNSIGNED;
}

static int read_number(struct compiler *c, const char *field, struct xp_tp_term *t)
{
    char *end;
    skip_blanks(c);
    bool minus = c->at[0] == '-';
    errno = 0;
    t->number = minus ? (u64)strtoll(c->at, &end, 0) : strtoull(c->at, &end, 0);
    if (end == c->at || errno || isalnum((unsigned char)*end))
        return complain(c, "%s is compared with a number, which this is not: %s", field, rest_of(c));
    convert(t, minus);
    c->at = end;
    return 0;
}

static int read_text(struct compiler *c, const char *field, struct xp_tp_term *t)
{
    skip_blanks(c);
    char quote = c->at[0];
    const char *end = quote == '"' || quote == '\'' ? strchr(c->at + 1, quote) : NULL;
    if (!end)
        return complain(c, "%s is compared with a text in quotes, which this is not: %s", field, rest_of(c));
    size_t n = (size_t)(end - c->at - 1);
    bool open = n && end[-1] == '*';
    if (t->field.source == XP_TP_COMM && n - open > COMM)
        return complain(c, "names of threads have %d characters at most: %s", COMM, rest_of(c));
    if (n - open + !open > XP_TP_TEXT)
        return complain(c, "only %d characters of a text can be compared: end it with a *", XP_TP_TEXT - 1);
    memcpy(t->text, c->at + 1, n - open);
    t->length = (u8)(n - open + !open);
    c->at = end + 1;
    return 0;
}

/* A number that is compared with a text is its address. */
static bool may_be_address(const struct xp_tp_field *f)
{
    return f->size == 8 && (f->source == XP_TP_UNSIGNED || f->source == XP_TP_SIGNED);
}

static int unknown_field(const struct compiler *c, const char *name)
{
    char names[256] = "";
    for (size_t i = 0, n = 0; i < c->fields->nfields && n < sizeof(names); i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, " %s", c->fields->fields[i].name);
    return complain(c, "there is no field %s; fields:%s comm pid tid", name, names);
}

/* FIELD COMPARISON VALUE */
static int read_term(struct compiler *c, bool negate, struct ways *out)
{
    char name[TRACEPOINT_NAME];
    if (c->out->nterms == XP_TP_TERMS)
        return complain(c, "more than %d comparisons", XP_TP_TERMS);
    int rc = read_name(c, name);
    if (rc)
        return rc;
    struct xp_tp_term *t = &c->out->terms[c->out->nterms];
    if (!condition_field(name, c->fields, &t->field))
        return unknown_field(c, name);
    if (t->field.source == XP_TP_NOTHING)
        return complain(c, "the field %s is neither a number nor a text", name);
    const char *at = rest_of(c);
    const struct comparison *comparison = read_comparison(c);
    if (comparison && may_be_address(&t->field) && strchr("\"'", *rest_of(c)))
        t->field.source = XP_TP_USER;
    bool text = XP_TP_IS_TEXT(t->field.source);
    if (!comparison || (text && !comparison->texts))
        return complain(c, "expected %s at: %s", text ? "== or !=" : "one of == != < <= > >= &", at);
    t->test = comparison->test;
    t->negated = comparison->negated != negate;
    rc = text ? read_text(c, name, t) : read_number(c, name, t);
    if (rc)
        return rc;
    c->out->late |= (u32)t->field.late << c->out->nterms;
    *out = (struct ways){{(u8)(1u << c->out->nterms++)}, 1};
    return 0;
}

/* ---- Terms together ---------------------------------------------------------------------------------------------- */

static int read_any(struct compiler *c, bool negate, struct ways *out);

static int read_one(struct compiler *c, bool negate, struct ways *out)
{
    if (c->depth == DEPTH)
        return complain(c, "more than %d parentheses", DEPTH);
    c->depth++;
    int rc;
    if (take(c, "!")) {
        rc = read_one(c, !negate, out);
    } else if (condition_without_cast(rest_of(c)) == c->at && take(c, "(")) {
        rc = read_any(c, negate, out);
        if (!rc && !take(c, ")"))
            rc = complain(c, "expected ) at: %s", rest_of(c));
    } else {
        rc = read_term(c, negate, out);
    }
    c->depth--;
    return rc;
}

static int too_many_ways(const struct compiler *c)
{
    return complain(c, "more than %d ways to fulfil it", XP_TP_WAYS);
}

/* Both must hold: any way of the one with any of the other. */
static int join_both(const struct compiler *c, struct ways *to, const struct ways *with)
{
    struct ways both = {.n = 0};
    if (to->n * with->n > XP_TP_WAYS)
        return too_many_ways(c);
    for (u32 i = 0; i < to->n; i++)
        for (u32 j = 0; j < with->n; j++)
            both.terms[both.n++] = to->terms[i] | with->terms[j];
    *to = both;
    return 0;
}

static int join_either(const struct compiler *c, struct ways *to, const struct ways *with)
{
    if (to->n + with->n > XP_TP_WAYS)
        return too_many_ways(c);
    memcpy(to->terms + to->n, with->terms, with->n);
    to->n += with->n;
    return 0;
}

/* What is negated joins the other way. */
static int join(const struct compiler *c, bool both, struct ways *to, const struct ways *with)
{
    return both ? join_both(c, to, with) : join_either(c, to, with);
}

static int read_all(struct compiler *c, bool negate, struct ways *out)
{
    struct ways next;
    int rc = read_one(c, negate, out);
    while (!rc && take(c, "&&")) {
        rc = read_one(c, negate, &next);
        rc = rc ? rc : join(c, !negate, out, &next);
    }
    return rc;
}

static int read_any(struct compiler *c, bool negate, struct ways *out)
{
    struct ways next;
    int rc = read_all(c, negate, out);
    while (!rc && take(c, "||")) {
        rc = read_all(c, negate, &next);
        rc = rc ? rc : join(c, negate, out, &next);
    }
    return rc;
}

int condition_compile(const char *text, const struct tracepoint *fields, struct xp_tp *out, char *why, size_t len)
{
    struct compiler c = {.at = text, .fields = fields, .out = out, .why = why, .len = len};
    struct ways ways;
    out->nterms = out->nways = out->late = 0;
    int rc = read_any(&c, false, &ways);
    skip_blanks(&c);
    if (!rc && c.at[0])
        rc = complain(&c, "expected && or || at: %s", c.at);
    if (rc)
        return rc;
    memcpy(out->ways, ways.terms, ways.n);
    out->nways = ways.n;
    return 0;
}
