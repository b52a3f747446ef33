/* Values: from text into the command's struct, in its units and ranges, and back. */
#include "base/cleanup.h"
#include "cli/options/options_internal.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *suffix;
    u64 factor;
};
static const struct unit counts[] = {{"", 1}, {0}};
static const struct unit percents[] = {{"", 1}, {"%", 1}, {0}};
static const struct unit sizes[] = {{"T", 1ull << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}, {0}};
static const struct unit times[] = {{"h", 3600000000000ull},
                                    {"m", 60000000000ull},
                                    {"s", 1000000000ull},
                                    {"ms", 1000000},
                                    {"us", 1000},
                                    {"ns", 1},
                                    {0}};

static const struct unit *units_of(enum option_type type)
{
    return type == OPTION_SIZE ? sizes : type == OPTION_DURATION ? times : type == OPTION_PERCENT ? percents : counts;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */
int options_complain(const struct options_parse *p, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    buf_printf(p->message, "xprof %s: %s", p->command->name, text ? text : "out of memory\n");
    return -EINVAL;
}

/* The same about the value of an option, after its name or the place where it stands. */
__attribute__((format(printf, 3, 4))) static int complain_of(const struct options_parse *p,
                                                             const struct option_row *row, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    const char *dashes = p->where[0] ? "" : "--";
    return options_complain(p, "%s%s: %s", dashes, p->where[0] ? p->where : row->flag, text ? text : "out of memory\n");
}

/* A number in the largest unit that leaves none over, as one would type it. */
static void add_amount(struct buf *b, enum option_type type, u64 v)
{
    const struct unit *u = units_of(type);
    while (u->factor > 1 && (!v || v % u->factor) && u[1].suffix)
        u++;
    buf_printf(b, "%llu%s", (unsigned long long)(v / u->factor), u->suffix);
}

static int out_of_range(const struct options_parse *p, const struct option_row *row, const char *text)
{
    complain_of(p, row, "%s is not in the range ", text);
    add_amount(p->message, row->type, row->min);
    buf_str(p->message, "..");
    add_amount(p->message, row->type, row->max);
    buf_char(p->message, '\n');
    return -EINVAL;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */
/* What the digits behind a point are of a unit; *end becomes what is behind them. What is too small is 0. */
static u64 read_fraction(u64 unit, char **end)
{
    u64 sum = 0;
    for (char *c = *end + 1; isdigit((unsigned char)*c); *end = ++c)
        sum += (u64)(*c - '0') * (unit /= 10);
    return sum;
}

static const struct unit *unit_of(enum option_type type, const char *suffix)
{
    const struct unit *u = units_of(type);
    while (u->suffix && strcasecmp(u->suffix, suffix) != 0)
        u++;
    return u->suffix ? u : NULL;
}

/* Digits and a unit, with no sign, blank or overflow; of times, also digits behind a point. 0, -EINVAL, -ERANGE. */
static int read_amount(enum option_type type, const char *text, u64 *out)
{
    char *end;
    if (type == OPTION_PERCENT && !strcmp(text, "off"))
        text = "0";
    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno)
        return -ERANGE;
    char *point = type == OPTION_DURATION && *end == '.' ? end : NULL;
    if (point)
        read_fraction(0, &end);
    const struct unit *u = unit_of(type, type == OPTION_DURATION && !*end ? "s" : end);
    if (!u || end == point)
        return -EINVAL;
    u64 more = point ? read_fraction(u->factor, &point) : 0;
    return __builtin_mul_overflow(v, u->factor, out) || __builtin_add_overflow(*out, more, out) ? -ERANGE : 0;
}

static int store_amount(const struct options_parse *p, const struct option_row *row, const char *text, u64 *out)
{
    static const char *const kinds[] = {
        [OPTION_NUMBER] = "a number",
        [OPTION_NUMBERS] = "a number",
        [OPTION_PERCENT] = "a percentage (such as 5)",
        [OPTION_SIZE] = "a size (such as 64M or 1G)",
        [OPTION_DURATION] = "a duration (such as 500ms, 10s or 2m)",
    };
    u64 v = 0;
    int rc = read_amount(row->type, text, &v);
    if (rc == -EINVAL)
        return complain_of(p, row, "\"%s\" is not %s\n", text, kinds[row->type]);
    if (rc || v < row->min || v > row->max)
        return out_of_range(p, row, text);
    *out = v;
    return 0;
}

/* The value that a text stands for: itself where all texts are valid; NULL when there is none. */
static const char *resolved(const struct option_row *row, const char *text)
{
    if (row->resolve)
        return row->resolve(text);
    for (size_t i = 0; row->value && row->value(i); i++)
        if (strcmp(row->value(i), text) == 0)
            return row->value(i);
    return row->value ? NULL : text;
}

static int unknown_value(const struct options_parse *p, const struct option_row *row, const char *text)
{
    if (row->listing)
        return complain_of(p, row, "unknown value \"%s\"; see \"%s\"\n", text, row->listing);
    complain_of(p, row, "unknown value \"%s\"; possible values:", text);
    for (size_t i = 0; row->value(i); i++)
        buf_printf(p->message, "%s %s", i ? "," : "", row->value(i));
    buf_char(p->message, '\n');
    return -EINVAL;
}

static int append_text(const struct options_parse *p, const struct option_row *row, const char *text)
{
    struct option_list *list = (void *)(p->out + row->offset);
    const char *value = resolved(row, text);
    if (!value)
        return unknown_value(p, row, text);
    for (size_t i = 0; row->value && i < list->n; i++)
        if (!strcmp(list->v[i], value))
            return complain_of(p, row, "%s is listed twice\n", value);
    char **v = reallocarray(list->v, list->n + 1, sizeof(*v));
    if (v)
        list->v = v;
    if (!v || !(v[list->n] = strdup(value)))
        return -ENOMEM;
    list->n++;
    return 0;
}

static int append_number(const struct options_parse *p, const struct option_row *row, const char *text)
{
    struct option_numbers *list = (void *)(p->out + row->offset);
    u64 *v = reallocarray(list->v, list->n + 1, sizeof(*v));
    if (!v)
        return -ENOMEM;
    list->v = v;
    int rc = store_amount(p, row, text, &v[list->n]);
    if (!rc)
        list->n++;
    return rc;
}

static int append(const struct options_parse *p, const struct option_row *row, const char *text)
{
    size_t n = ((struct option_list *)(p->out + row->offset))->n; /* both kinds of list begin alike */
    if (!*text)
        return complain_of(p, row, "an empty item\n");
    if (row->most && n >= row->most)
        return complain_of(p, row, "%s is one too many: at most %zu\n", text, row->most);
    return row->type == OPTION_NUMBERS ? append_number(p, row, text) : append_text(p, row, text);
}

/* Without blanks around: "a, b" are a and b. */
static char *trimmed(char *text)
{
    static const char blanks[] = " \t\n";
    text += strspn(text, blanks);
    size_t n = strlen(text);
    while (n && strchr(blanks, text[n - 1]))
        n--;
    text[n] = 0;
    return text;
}

static int append_items(const struct options_parse *p, const struct option_row *row, const char *text)
{
    AUTO_FREE char *copy = strdup(text);
    int rc = copy ? 0 : -ENOMEM;
    for (char *rest = copy; !rc && rest;) {
        char *item = rest, *end = item + (row->item ? row->item(item) : strcspn(item, ","));
        rest = *end ? end + 1 : NULL;
        *end = 0;
        rc = append(p, row, trimmed(item));
    }
    return rc;
}

int option_switch(const char *text)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasecmp(words[i], text) == 0)
            return i & 1;
    return -1;
}

static int store_switch(const struct options_parse *p, const struct option_row *row, const char *text)
{
    int on = option_switch(text);
    if (on < 0)
        return complain_of(p, row, "\"%s\" is neither on nor off\n", text);
    *(bool *)(p->out + row->offset) = on;
    return 0;
}

/* An option that is on, off or not given (its words are those two) understands what a switch does. */
static const char *word_of(const struct option_row *row, const char *text)
{
    bool is_switch = row->value && !strcmp(row->value(0), "on");
    int on = is_switch ? option_switch(text) : -1;
    return on < 0 ? text : on ? "on" : "off";
}

static int store_text(const struct options_parse *p, const struct option_row *row, const char *text)
{
    if (!*text)
        return complain_of(p, row, "an empty %s\n", row->argument);
    const char *value = resolved(row, word_of(row, text));
    if (!value)
        return unknown_value(p, row, text);
    *(const char **)(p->out + row->offset) = value;
    return 0;
}

int options_store(struct options_parse *p, const struct option_row *row, const char *text)
{
    p->given[row - p->command->rows] = true;
    switch (row->type) {
    case OPTION_BOOL:
        if (p->where[0]) /* an environment or a file says what it means */
            return store_switch(p, row, text);
        *(bool *)(p->out + row->offset) = true;
        return 0;
    case OPTION_SWITCH:
        return store_switch(p, row, text);
    case OPTION_TEXT:
        return store_text(p, row, text);
    case OPTION_NUMBER:
    case OPTION_PERCENT:
    case OPTION_SIZE:
    case OPTION_DURATION:
        return store_amount(p, row, text, (u64 *)(p->out + row->offset));
    case OPTION_REPEAT:
        return append(p, row, text);
    case OPTION_LIST:
    case OPTION_NUMBERS:
        return append_items(p, row, text);
    }
    return -EINVAL;
}

/* ---- The other way ------------------------------------------------------------------------------------------------
 */
bool options_format(const struct option_row *row, const void *out, struct buf *text)
{
    const void *at = (const char *)out + row->offset;
    const struct option_list *list = at;
    const struct option_numbers *numbers = at;
    switch (row->type) {
    case OPTION_BOOL:
    case OPTION_SWITCH:
        buf_str(text, *(const bool *)at ? "on" : "off");
        return true;
    case OPTION_TEXT:
        buf_str(text, *(const char *const *)at ? *(const char *const *)at : "");
        return *(const char *const *)at;
    case OPTION_NUMBER:
    case OPTION_PERCENT:
    case OPTION_SIZE:
    case OPTION_DURATION:
        add_amount(text, row->type, *(const u64 *)at);
        return true;
    case OPTION_REPEAT:
    case OPTION_LIST:
        for (size_t i = 0; i < list->n; i++)
            buf_printf(text, "%s%s", i ? "," : "", list->v[i]);
        return list->n;
    case OPTION_NUMBERS:
        for (size_t i = 0; i < numbers->n; i++)
            buf_printf(text, "%s%llu", i ? "," : "", (unsigned long long)numbers->v[i]);
        return numbers->n;
    }
    return false;
}

void options_free(const struct command *c, void *out)
{
    for (size_t i = 0; i < c->nrows; i++) {
        struct option_list *list = (void *)((char *)out + c->rows[i].offset);
        bool texts = c->rows[i].type == OPTION_REPEAT || c->rows[i].type == OPTION_LIST;
        if (!texts && c->rows[i].type != OPTION_NUMBERS)
            continue;
        for (size_t k = 0; texts && k < list->n; k++)
            free(list->v[k]);
        free(list->v);
        *list = (struct option_list){0};
    }
}
