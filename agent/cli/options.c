#include "cli/options.h"
#include "base/cleanup.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct parse {
    const struct command *command;
    char *out; /* the command's struct */
    struct buf *message;
    u64 given;       /* a bit for each row */
    char where[256]; /* where the value at hand stands; "": on the command line */
};

struct unit {
    const char *suffix;
    u64 factor;
};
static const struct unit counts[] = {{"", 1}, {0}};
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
    return type == OPTION_SIZE ? sizes : type == OPTION_DURATION ? times : counts;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */
/* "xprof COMMAND: " and the sentence. Always -EINVAL. */
__attribute__((format(printf, 2, 3))) static int complain(const struct parse *p, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    buf_printf(p->message, "xprof %s: %s", p->command->name, text ? text : "no memory\n");
    return -EINVAL;
}

/* The same about the value of an option, after its name or the place where it stands. */
__attribute__((format(printf, 3, 4))) static int complain_of(const struct parse *p, const struct option_row *row,
                                                             const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    const char *dashes = p->where[0] ? "" : "--";
    return complain(p, "%s%s: %s", dashes, p->where[0] ? p->where : row->flag, text ? text : "no memory\n");
}

/* A number in the largest unit that leaves none over, as one would type it. */
static void add_amount(struct buf *b, enum option_type type, u64 v)
{
    const struct unit *u = units_of(type);
    while (u->factor > 1 && (!v || v % u->factor) && u[1].suffix)
        u++;
    buf_printf(b, "%llu%s", (unsigned long long)(v / u->factor), u->suffix);
}

static int out_of_range(const struct parse *p, const struct option_row *row, const char *text)
{
    complain_of(p, row, "%s is not in the range ", text);
    add_amount(p->message, row->type, row->min);
    buf_str(p->message, "..");
    add_amount(p->message, row->type, row->max);
    buf_char(p->message, '\n');
    return -EINVAL;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */
/* Digits and a unit, with no sign, blank or overflow. 0, -EINVAL, -ERANGE. */
static int read_amount(enum option_type type, const char *text, u64 *out)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno)
        return -ERANGE;
    const char *suffix = type == OPTION_DURATION && !*end ? "s" : end;
    for (const struct unit *u = units_of(type); u->suffix; u++) {
        if (strcasecmp(u->suffix, suffix) != 0)
            continue;
        return __builtin_mul_overflow(v, u->factor, out) ? -ERANGE : 0;
    }
    return -EINVAL;
}

static int store_amount(const struct parse *p, const struct option_row *row, const char *text, u64 *out)
{
    static const char *const kinds[] = {
        [OPTION_NUMBER] = "a number",
        [OPTION_NUMBERS] = "a number",
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

static int check_known(const struct parse *p, const struct option_row *row, const char *text)
{
    if (!row->value)
        return 0;
    for (size_t i = 0; row->value(i); i++)
        if (strcmp(row->value(i), text) == 0)
            return 0;
    complain_of(p, row, "there is no \"%s\"; there is", text);
    for (size_t i = 0; row->value(i); i++)
        buf_printf(p->message, "%s %s", i ? "," : "", row->value(i));
    buf_char(p->message, '\n');
    return -EINVAL;
}

static int append_text(const struct parse *p, const struct option_row *row, const char *text)
{
    struct option_list *list = (void *)(p->out + row->offset);
    int rc = check_known(p, row, text);
    for (size_t i = 0; !rc && row->value && i < list->n; i++)
        if (!strcmp(list->v[i], text))
            rc = complain_of(p, row, "%s is there twice\n", text);
    if (rc)
        return rc;
    char **v = reallocarray(list->v, list->n + 1, sizeof(*v));
    if (v)
        list->v = v;
    if (!v || !(v[list->n] = strdup(text)))
        return -ENOMEM;
    list->n++;
    return 0;
}

static int append_number(const struct parse *p, const struct option_row *row, const char *text)
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

static int append(const struct parse *p, const struct option_row *row, const char *text)
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

static int append_items(const struct parse *p, const struct option_row *row, const char *text)
{
    AUTO_FREE char *copy = strdup(text);
    char *rest = copy, *item;
    int rc = copy ? 0 : -ENOMEM;
    while (!rc && (item = strsep(&rest, ",")))
        rc = append(p, row, trimmed(item));
    return rc;
}

/* 1 on, 0 off, -1 neither. */
static int switch_of(const char *text)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasecmp(words[i], text) == 0)
            return i & 1;
    return -1;
}

static int store_switch(const struct parse *p, const struct option_row *row, const char *text)
{
    int on = switch_of(text);
    if (on < 0)
        return complain_of(p, row, "\"%s\" is neither on nor off\n", text);
    *(bool *)(p->out + row->offset) = on;
    return 0;
}

/* An option that is on, off or not given (its words are those two) understands what a switch does. */
static const char *word_of(const struct option_row *row, const char *text)
{
    bool is_switch = row->value && !strcmp(row->value(0), "on");
    int on = is_switch ? switch_of(text) : -1;
    return on < 0 ? text : on ? "on" : "off";
}

static int store_text(const struct parse *p, const struct option_row *row, const char *text)
{
    if (!*text)
        return complain_of(p, row, "an empty %s\n", row->argument);
    text = word_of(row, text);
    *(const char **)(p->out + row->offset) = text;
    return check_known(p, row, text);
}

static int store(struct parse *p, const struct option_row *row, const char *text)
{
    p->given |= 1ull << (row - p->command->rows);
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

/* ---- Arguments --------------------------------------------------------------------------------------------------- */
static const struct option_row *by_flag(const struct command *c, const char *flag, size_t len)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (strlen(c->rows[i].flag) == len && memcmp(c->rows[i].flag, flag, len) == 0)
            return &c->rows[i];
    return NULL;
}

static const struct option_row *by_letter(const struct command *c, char letter)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].letter == letter)
            return &c->rows[i];
    return NULL;
}

static int unknown(const struct parse *p, const char *dashes, const char *name, size_t len)
{
    return complain(p, "unknown option %s%.*s; see \"xprof %s --help\"\n", dashes, (int)len, name, p->command->name);
}

static int help(const struct parse *p)
{
    options_help(p->command, p->message);
    return -ECANCELED;
}

/* A switch needs no value, but takes one of these two behind it, too. */
static bool is_on_off(const char *text)
{
    return text && (!strcmp(text, "on") || !strcmp(text, "off"));
}

/* --flag, --flag=VALUE, --flag VALUE; `next` is the argument behind it or NULL. *used says whether it was taken. */
static int take_flag(struct parse *p, const char *arg, const char *next, bool *used)
{
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    const struct option_row *row = by_flag(p->command, arg, len);
    if (!row && strcmp(arg, "help") == 0)
        return help(p);
    if (!row)
        return unknown(p, "--", arg, len);
    bool alone = row->type == OPTION_BOOL || (row->type == OPTION_SWITCH && !is_on_off(next));
    if (row->type == OPTION_BOOL && equals)
        return complain(p, "--%s takes no value\n", row->flag);
    if (!alone && !equals && !next)
        return complain(p, "--%s needs a value: %s\n", row->flag, row->argument);
    *used = !alone && !equals;
    return store(p, row, equals ? equals + 1 : alone ? "on" : next);
}

/* -a, -av, -F99, -F 99, -aF99. */
static int take_letters(struct parse *p, const char *arg, const char *next, bool *used)
{
    for (; *arg; arg++) {
        const struct option_row *row = by_letter(p->command, *arg);
        if (!row && *arg == 'h')
            return help(p);
        if (!row)
            return unknown(p, "-", arg, 1);
        if (row->type != OPTION_BOOL && !arg[1] && !next)
            return complain(p, "-%c (--%s) needs a value: %s\n", row->letter, row->flag, row->argument);
        *used = row->type != OPTION_BOOL && !arg[1];
        int rc = store(p, row, arg[1] ? arg + 1 : next);
        if (rc || row->type != OPTION_BOOL)
            return rc;
    }
    return 0;
}

/* Operands come to the end of argv; *at is the first one. */
static int take_options(struct parse *p, int argc, char **argv, int *at)
{
    int kept = 1; /* operands that options followed stand from 1 to here */
    for (*at = 1; *at < argc; ++*at) {
        char *arg = argv[*at];
        const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
        bool used = false;
        if ((arg[0] != '-' || !arg[1]) && p->command->mixed) {
            argv[kept++] = arg;
            continue;
        }
        if (arg[0] != '-' || !arg[1])
            return 0;
        if (strcmp(arg, "--") == 0) {
            ++*at;
            break;
        }
        int rc = arg[1] == '-' ? take_flag(p, arg + 2, next, &used) : take_letters(p, arg + 1, next, &used);
        if (rc)
            return rc;
        *at += used;
    }
    *at -= kept - 1;
    memmove(argv + *at, argv + 1, (size_t)(kept - 1) * sizeof(*argv));
    return 0;
}

/* What the command line does not give, from the first source that has it. */
static int store_from(struct parse *p, const struct option_row *row, const struct option_source *sources, size_t n)
{
    int rc = 0;
    for (size_t s = 0; s < n && !rc; s++) {
        const char *text = sources[s].value(sources[s].ctx, row, 0, p->where, sizeof(p->where));
        bool had = text;
        for (size_t i = 1; text && !rc; i++) {
            rc = store(p, row, text);
            text = rc ? NULL : sources[s].value(sources[s].ctx, row, i, p->where, sizeof(p->where));
        }
        if (had)
            break;
    }
    p->where[0] = 0;
    return rc;
}

int options_parse_from(const struct command *c, int argc, char **argv, const struct option_source *sources, size_t n,
                       void *out, int *operands, struct buf *message)
{
    struct parse p = {.command = c, .out = out, .message = message};
    int at;
    int rc = take_options(&p, argc, argv, &at);
    if (!rc && at < argc && !c->operands)
        rc = complain(&p, "unexpected argument \"%s\"\n", argv[at]);
    for (size_t i = 0; !rc && i < c->nrows; i++)
        if (!(p.given >> i & 1))
            rc = store_from(&p, &c->rows[i], sources, n);
    for (size_t i = 0; !rc && i < c->nrows; i++)
        if (c->rows[i].fallback && !(p.given >> i & 1))
            rc = store(&p, &c->rows[i], c->rows[i].fallback);
    if (!rc)
        *operands = at;
    return rc;
}

int options_parse(const struct command *c, int argc, char **argv, void *out, int *operands, struct buf *message)
{
    return options_parse_from(c, argc, argv, NULL, 0, out, operands, message);
}

/* ---- The environment ----------------------------------------------------------------------------------------------
 */
static const char *from_environment(void *ctx, const struct option_row *row, size_t i, char *where, size_t len)
{
    char name[64] = "XPROF_";
    size_t n = strlen(name);
    for (const char *c = row->flag; *c && n < sizeof(name) - 1; c++)
        name[n++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    name[n] = 0;
    const char *text = i ? NULL : getenv(name);
    if (text && *text)
        snprintf(where, len, "%s", name);
    return text && *text ? text : NULL; /* a variable that is set to nothing is not set */
}

const struct option_source options_environment = {from_environment, NULL};

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

int options_report(int rc, const struct buf *message)
{
    bool wanted = rc == -ECANCELED;
    if (message->len)
        fwrite(message->data, 1, message->len, wanted ? stdout : stderr);
    else if (rc && !wanted)
        fprintf(stderr, "xprof: %s\n", strerror(-rc));
    return rc && !wanted ? 2 : 0;
}
