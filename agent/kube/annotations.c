#include "kube/annotations.h"
#include "base/labels.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void wants_warn(struct wants *w, const char *key, const char *fmt, ...)
{
    char text[512];
    if (w->nwarnings == WANTS_WARNINGS)
        return;
    int n = snprintf(text, sizeof(text), "%.200s: ", key);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
    va_end(ap);
    label_clean_value(w->warnings[w->nwarnings++], sizeof(w->warnings[0]), text);
}

/* Items between commas, blanks around them taken off. */
struct item {
    const char *s;
    size_t n;
};

static bool next_item(const char **at, struct item *out)
{
    if (!*at)
        return false;
    *at += strspn(*at, " \t");
    size_t n = strcspn(*at, ",");
    *out = (struct item){*at, n};
    *at = (*at)[n] ? *at + n + 1 : NULL;
    while (out->n && strchr(" \t", out->s[out->n - 1]))
        out->n--;
    return true;
}

static bool item_is(struct item i, const char *name)
{
    return i.n == strlen(name) && !memcmp(i.s, name, i.n);
}

/* How much of an item a warning shows. */
static int shown(struct item i)
{
    return i.n < 40 ? (int)i.n : 40;
}

static bool too_long(struct wants *w, const char *key, const char *value)
{
    if (strnlen(value, ANNOTATION_MAX + 1) <= ANNOTATION_MAX)
        return false;
    wants_warn(w, key, "the value is longer than %d bytes", ANNOTATION_MAX);
    return true;
}

static bool means_type(struct item i, const struct policy_type *t)
{
    bool found = item_is(i, t->name);
    for (size_t k = 0; t->aliases && t->aliases[k]; k++)
        found |= item_is(i, t->aliases[k]);
    return found;
}

static u32 type_of(struct wants *w, const struct policy *p, const char *key, struct item i)
{
    for (size_t t = 0; t < p->ntypes; t++) {
        if (!means_type(i, &p->types[t]))
            continue;
        if (!p->types[t].built)
            wants_warn(w, key, "%s is not recorded by this agent", p->types[t].name);
        return p->types[t].built ? 1u << t : 0;
    }
    wants_warn(w, key, i.n ? "unknown type \"%.*s\"" : "an empty value%.*s", shown(i), i.s);
    return 0;
}

static u32 usual_types(const struct policy *p)
{
    u32 events = 0;
    for (size_t t = 0; t < p->ntypes; t++)
        if (p->types[t].usual && p->types[t].built)
            events |= 1u << t;
    return events;
}

enum annotation_answer annotation_profile(struct wants *w, const struct policy *p, const char *key, const char *value,
                                          u32 *events)
{
    struct item i;
    u32 types = 0;
    if (too_long(w, key, value))
        return ANSWER_BAD;
    const char *at = value;
    next_item(&at, &i);
    if (!at && item_is(i, "false"))
        return ANSWER_NO;
    if (!at && item_is(i, "true"))
        types = usual_types(p);
    else
        for (at = value; next_item(&at, &i);)
            types |= type_of(w, p, key, i);
    *events = types;
    return types ? ANSWER_YES : ANSWER_BAD;
}

enum annotation_answer annotation_bool(struct wants *w, const char *key, const char *value)
{
    if (!strcmp(value, "true"))
        return ANSWER_YES;
    if (!strcmp(value, "false"))
        return ANSWER_NO;
    wants_warn(w, key, "\"%.40s\" is neither true nor false", value);
    return ANSWER_BAD;
}

/* Returns a rate within the limits; 0: the item is no number. */
static unsigned rate_of(struct wants *w, const struct policy *p, const char *key, struct item i)
{
    size_t n = strspn(i.s, "0123456789");
    unsigned long rate = 0;
    if (!i.n || n < i.n || n > 9) {
        wants_warn(w, key, "\"%.*s\" is not a number of samples per second", shown(i), i.s);
        return 0;
    }
    for (size_t k = 0; k < n; k++)
        rate = rate * 10 + (unsigned long)(i.s[k] - '0');
    unsigned used = (unsigned)(rate < p->rate_min ? p->rate_min : rate > p->rate_max ? p->rate_max : rate);
    if (used != rate)
        wants_warn(w, key, "%lu is outside of %u to %u: %u is used", rate, p->rate_min, p->rate_max, used);
    return used;
}

/* TYPE=RATE. */
static void rate_of_type(struct wants *w, const struct policy *p, const char *key, struct item i, size_t sign)
{
    struct item name = {i.s, sign}, rate = {i.s + sign + 1, i.n - sign - 1};
    u32 type = type_of(w, p, key, name);
    unsigned bit = type ? (unsigned)__builtin_ctz(type) : 0;
    if (type && !p->types[bit].sampled)
        wants_warn(w, key, "%s is counted exactly: it has no rate", p->types[bit].name);
    else if (type)
        w->rates[bit] = (u16)rate_of(w, p, key, rate);
}

void annotation_rate(struct wants *w, const struct policy *p, const char *key, const char *value)
{
    struct item i;
    if (too_long(w, key, value))
        return;
    for (const char *at = value; next_item(&at, &i);) {
        const char *sign = memchr(i.s, '=', i.n);
        if (sign)
            rate_of_type(w, p, key, i, (size_t)(sign - i.s));
        else
            w->rate = rate_of(w, p, key, i);
    }
}

void annotation_wait_min(struct wants *w, const char *key, const char *value, u64 *ns)
{
    static const struct {
        const char *name;
        u64 ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    size_t n = strspn(value, "0123456789"), unit = 0;
    u64 number = 0;
    while (unit < sizeof(units) / sizeof(*units) && strcmp(value + n, units[unit].name) != 0)
        unit++;
    if (!n || n > 6 || unit == sizeof(units) / sizeof(*units)) {
        wants_warn(w, key, "\"%.40s\" is not a time such as 100us or 5ms", value);
        return;
    }
    for (size_t i = 0; i < n; i++)
        number = number * 10 + (u64)(value[i] - '0');
    u64 said = number * units[unit].ns;
    *ns = said < WANTS_OFFCPU_MIN ? WANTS_OFFCPU_MIN : said > WANTS_OFFCPU_MAX ? WANTS_OFFCPU_MAX : said;
    if (*ns != said)
        wants_warn(w, key, "%.20s is outside of 1us to 50ms: %s is used", value,
                   said < WANTS_OFFCPU_MIN ? "1us" : "50ms");
}

void annotation_service_name(struct wants *w, const char *key, const char *value)
{
    size_t n = strnlen(value, WANTS_SERVICE_MAX + 1);
    if (!n || n > WANTS_SERVICE_MAX) {
        wants_warn(w, key, n ? "the name is longer than %d bytes" : "the name is empty (at most %d bytes)",
                   WANTS_SERVICE_MAX);
        return;
    }
    label_clean_value(w->service_name, sizeof(w->service_name), value);
    if (strcmp(w->service_name, value)) {
        wants_warn(w, key, "the name is not plain text");
        w->service_name[0] = 0;
    }
}

/* Container names are DNS labels (RFC 1123). */
static bool is_container_name(struct item i)
{
    for (size_t k = 0; k < i.n; k++)
        if (!(i.s[k] >= 'a' && i.s[k] <= 'z') && !(i.s[k] >= '0' && i.s[k] <= '9') && i.s[k] != '-')
            return false;
    return i.n && i.n <= 63 && i.s[0] != '-' && i.s[i.n - 1] != '-';
}

bool annotation_containers(struct wants *w, const char *key, const char *value)
{
    struct item i;
    if (too_long(w, key, value))
        return false;
    for (const char *at = value; next_item(&at, &i);) {
        if (!is_container_name(i))
            wants_warn(w, key, "\"%.*s\" is not a container name", shown(i), i.s);
        else if (w->ncontainers == WANTS_CONTAINERS)
            wants_warn(w, key, "more than %d containers: \"%.*s\" is left out", WANTS_CONTAINERS, shown(i), i.s);
        else
            snprintf(w->containers[w->ncontainers++], sizeof(w->containers[0]), "%.*s", (int)i.n, i.s);
    }
    return w->ncontainers > 0;
}
