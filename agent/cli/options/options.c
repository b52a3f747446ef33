#include "cli/options/options_internal.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int unknown(const struct options_parse *p, const char *dashes, const char *name, size_t len)
{
    return options_complain(p, "unknown option %s%.*s; see \"xprof %s --help\"\n", dashes, (int)len, name,
                            p->command->name);
}

static int help(const struct options_parse *p)
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
static int take_flag(struct options_parse *p, const char *arg, const char *next, bool *used)
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
        return options_complain(p, "--%s takes no value\n", row->flag);
    if (!alone && !equals && !next)
        return options_complain(p, "--%s needs a value: %s\n", row->flag, row->argument);
    *used = !alone && !equals;
    return options_store(p, row, equals ? equals + 1 : alone ? "on" : next);
}

/* -a, -av, -F99, -F 99, -aF99. */
static int take_letters(struct options_parse *p, const char *arg, const char *next, bool *used)
{
    for (; *arg; arg++) {
        const struct option_row *row = by_letter(p->command, *arg);
        if (!row && *arg == 'h')
            return help(p);
        if (!row)
            return unknown(p, "-", arg, 1);
        if (row->type != OPTION_BOOL && !arg[1] && !next)
            return options_complain(p, "-%c (--%s) needs a value: %s\n", row->letter, row->flag, row->argument);
        *used = row->type != OPTION_BOOL && !arg[1];
        int rc = options_store(p, row, arg[1] ? arg + 1 : next);
        if (rc || row->type != OPTION_BOOL)
            return rc;
    }
    return 0;
}

/* Operands come to the end of argv; *at is the first one. */
static int take_options(struct options_parse *p, int argc, char **argv, int *at)
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
static int store_from(struct options_parse *p, const struct option_row *row, const struct option_source *sources,
                      size_t n)
{
    int rc = 0;
    for (size_t s = 0; s < n && !rc; s++) {
        const char *text = sources[s].value(sources[s].ctx, row, 0, p->where, sizeof(p->where));
        bool had = text;
        for (size_t i = 1; text && !rc; i++) {
            rc = options_store(p, row, text);
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
    struct options_parse p = {.command = c, .out = out, .message = message};
    int at;
    int rc = take_options(&p, argc, argv, &at);
    if (!rc && at < argc && !c->operands)
        rc = options_complain(&p, "unexpected argument \"%s\"\n", argv[at]);
    for (size_t i = 0; !rc && i < c->nrows; i++)
        if (!p.given[i])
            rc = store_from(&p, &c->rows[i], sources, n);
    for (size_t i = 0; !rc && i < c->nrows; i++)
        if (c->rows[i].fallback && !p.given[i])
            rc = options_store(&p, &c->rows[i], c->rows[i].fallback);
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

int options_report(int rc, const struct buf *message)
{
    bool wanted = rc == -ECANCELED;
    if (message->len)
        fwrite(message->data, 1, message->len, wanted ? stdout : stderr);
    else if (rc && !wanted)
        fprintf(stderr, "xprof: %s\n", strerror(-rc));
    return rc && !wanted ? 2 : 0;
}
