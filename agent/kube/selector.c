#include "kube/selector.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_NOT_EXISTS };

struct requirement {
    enum op op;
    char *key;          /* owned */
    VEC(char *) values; /* owned */
};
struct selector {
    VEC(struct requirement) all;
};

struct parser {
    const char *start, *at;
    char *why;
    size_t size;
};

static void requirement_free(struct requirement *r)
{
    for (size_t i = 0; i < r->values.n; i++)
        free(r->values.v[i]);
    vec_free(&r->values);
    free(r->key);
}

__attribute__((format(printf, 2, 3))) static int refuse(struct parser *p, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    snprintf(p->why, p->size, "column %zu: %s", (size_t)(p->at - p->start) + 1, text);
    return -EINVAL;
}

static void blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t");
}

static bool alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A name of at most 63 characters, letters or digits at both ends. */
static bool is_name(const char *s, size_t n)
{
    if (n > 63 || (n && (!alnum(s[0]) || !alnum(s[n - 1]))))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!alnum(s[i]) && !strchr("-_.", s[i]))
            return false;
    return true;
}

/* [prefix/]name, the prefix being the name of a domain. */
static bool is_key(const char *s, size_t n)
{
    const char *slash = memchr(s, '/', n);
    size_t prefix = slash ? (size_t)(slash - s) : 0;
    if (slash && (!prefix || prefix > 253 || !alnum(s[0]) || !alnum(s[prefix - 1])))
        return false;
    for (size_t i = 0; i < prefix; i++)
        if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != '-' && s[i] != '.')
            return false;
    size_t skip = slash ? prefix + 1 : 0;
    return n > skip && is_name(s + skip, n - skip);
}

/* The next word, which may be empty for a value. */
static int word(struct parser *p, bool key, char **out)
{
    blanks(p);
    size_t n = strcspn(p->at, " \t,=!()<>");
    if (key ? !is_key(p->at, n) : !is_name(p->at, n))
        return refuse(p, !n ? "a label name is missing" : key ? "not a valid label name" : "not a valid label value");
    char *copy = strndup(p->at, n);
    if (!copy)
        return -ENOMEM;
    p->at += n;
    *out = copy;
    return 0;
}

static int value(struct parser *p, struct requirement *r)
{
    AUTO_FREE char *text = NULL;
    int rc = word(p, false, &text);
    if (rc)
        return rc;
    char **slot = VEC_PUSH(&r->values);
    if (!slot)
        return -ENOMEM;
    *slot = TAKE_PTR(text);
    return 0;
}

static int values(struct parser *p, struct requirement *r)
{
    blanks(p);
    if (*p->at != '(')
        return refuse(p, "'(' is missing");
    do {
        p->at++;
        int rc = value(p, r);
        if (rc)
            return rc;
        blanks(p);
    } while (*p->at == ',');
    if (*p->at != ')')
        return refuse(p, "',' or ')' is missing");
    p->at++;
    return 0;
}

static bool keyword(struct parser *p, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(p->at, name, n) || !strchr(" \t(", p->at[n]) || !p->at[n])
        return false;
    p->at += n;
    return true;
}

static int requirement(struct parser *p, struct requirement *r)
{
    blanks(p);
    bool negated = *p->at == '!';
    p->at += negated;
    int rc = word(p, true, &r->key);
    if (rc)
        return rc;
    blanks(p);
    r->op = negated ? OP_NOT_EXISTS : OP_EXISTS;
    if (negated || !*p->at || *p->at == ',')
        return 0;
    if (keyword(p, "notin")) {
        r->op = OP_NOT_IN;
        return values(p, r);
    }
    r->op = *p->at == '!' ? OP_NOT_IN : OP_IN;
    if (keyword(p, "in"))
        return values(p, r);
    if (strncmp(p->at, "!=", 2) && *p->at != '=')
        return refuse(p, "=, !=, in or notin is missing");
    p->at += *p->at == '!' || p->at[1] == '=' ? 2 : 1;
    return value(p, r);
}

static int parse(struct parser *p, struct selector *s)
{
    for (;;) {
        struct requirement r = {0}, *slot;
        int rc = requirement(p, &r);
        if (!rc && !(slot = VEC_PUSH(&s->all)))
            rc = -ENOMEM;
        if (rc) {
            requirement_free(&r);
            return rc;
        }
        *slot = r;
        blanks(p);
        if (!*p->at)
            return 0;
        if (*p->at != ',')
            return refuse(p, "',' is missing");
        p->at++;
    }
}

int selector_parse(struct selector **out, const char *text, char *why, size_t size)
{
    struct parser p = {text, text, why, size};
    CLEANUP(selector_free) struct selector *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    if (strnlen(text, SELECTOR_MAX_LENGTH + 1) > SELECTOR_MAX_LENGTH)
        return refuse(&p, "the selector is longer than %d bytes", SELECTOR_MAX_LENGTH);
    blanks(&p);
    int rc = *p.at ? parse(&p, s) : 0;
    if (rc)
        return rc;
    *out = TAKE_PTR(s);
    return 0;
}

void selector_free(struct selector **s)
{
    for (size_t i = 0; *s && i < (*s)->all.n; i++)
        requirement_free(&(*s)->all.v[i]);
    if (*s)
        vec_free(&(*s)->all);
    free(*s);
    *s = NULL;
}

static bool holds(const struct requirement *r, const struct kube_pairs *labels)
{
    const char *have = kube_pairs_get(labels, r->key);
    if (r->op == OP_EXISTS || r->op == OP_NOT_EXISTS)
        return (have != NULL) == (r->op == OP_EXISTS);
    bool in = false;
    for (size_t i = 0; have && i < r->values.n; i++)
        in |= !strcmp(have, r->values.v[i]);
    return in == (r->op == OP_IN);
}

const char *selector_key(const struct selector *s, size_t i)
{
    return s && i < s->all.n ? s->all.v[i].key : NULL;
}

bool selector_matches(const struct selector *s, const struct kube_pairs *labels)
{
    for (size_t i = 0; s && i < s->all.n; i++)
        if (!holds(&s->all.v[i], labels))
            return false;
    return true;
}
