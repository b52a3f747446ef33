#include "cli/options/config_file.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define MAX_BYTES   (1u << 20)
#define MAX_ENTRIES 8192
#define MAX_DEPTH   8
#define MAX_PATH    256
#define BELOW       '\x1f' /* between the parts of a path: a key may hold dots */

struct entry {
    char *path, *value; /* value NULL: a list or a map that holds nothing */
    unsigned line;
    bool taken;
};

struct config_file {
    char *name;
    VEC(struct entry) entries;
};

struct reader { /* where the parser stands */
    struct config_file *file;
    yaml_parser_t yaml;
    char path[MAX_PATH];
    unsigned depth;
    char *why;
    size_t why_len;
};

/* As people read it. */
static const char *with_dots(char *path)
{
    for (char *c = path; (c = strchr(c, BELOW));)
        *c = '.';
    return path;
}

__attribute__((format(printf, 3, 4))) static int complain(struct reader *r, unsigned line, const char *fmt, ...)
{
    va_list ap;
    int n = snprintf(r->why, r->why_len, "%s:%u: ", r->file->name, line);
    va_start(ap, fmt);
    if (n >= 0 && (size_t)n < r->why_len)
        vsnprintf(r->why + n, r->why_len - (size_t)n, fmt, ap);
    va_end(ap);
    with_dots(r->why);
    return -EINVAL;
}

static unsigned line_of(const yaml_event_t *e)
{
    return (unsigned)e->start_mark.line + 1;
}

/* The path with one more part; what it was before is restored by cutting at the returned length. */
static int push(struct reader *r, unsigned line, const char *part, size_t *before)
{
    *before = strlen(r->path);
    const char below[] = {BELOW, 0};
    int n = snprintf(r->path + *before, MAX_PATH - *before, "%s%s", *before ? below : "", part);
    if (n < 0 || (size_t)n >= MAX_PATH - *before)
        return complain(r, line, "a key of more than %d bytes", MAX_PATH);
    return 0;
}

static int add(struct reader *r, unsigned line, const char *value)
{
    struct config_file *f = r->file;
    for (size_t i = 0; i < f->entries.n; i++)
        if (!strcmp(f->entries.v[i].path, r->path))
            return complain(r, line, "%s is set twice: first in line %u", r->path, f->entries.v[i].line);
    struct entry *e = f->entries.n < MAX_ENTRIES ? VEC_PUSH(&f->entries) : NULL;
    if (!e)
        return complain(r, line, "more than %d values", MAX_ENTRIES);
    *e = (struct entry){strdup(r->path), value ? strdup(value) : NULL, line, false};
    return e->path && (!value || e->value) ? 0 : -ENOMEM;
}

static int node(struct reader *r, const yaml_event_t *e);

static int next(struct reader *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->yaml, e))
        return 0;
    return complain(r, (unsigned)r->yaml.problem_mark.line + 1, "%s",
                    r->yaml.problem ? r->yaml.problem : "this is not valid YAML");
}

/* Children until the end event; each below the key in front of it, or its number. */
static int children(struct reader *r, yaml_event_type_t end)
{
    int rc = 0;
    bool done = false;
    for (size_t i = 0; !rc && !done; i++) {
        yaml_event_t e;
        char number[24];
        size_t before = strlen(r->path);
        if ((rc = next(r, &e)))
            return rc;
        done = e.type == end;
        if (!done && end == YAML_SEQUENCE_END_EVENT) {
            snprintf(number, sizeof(number), "%zu", i);
            rc = push(r, line_of(&e), number, &before);
            rc = rc ? rc : node(r, &e);
        } else if (!done && e.type != YAML_SCALAR_EVENT) {
            rc = complain(r, line_of(&e), "a key must be a word");
        } else if (!done) {
            yaml_event_t value;
            rc = push(r, line_of(&e), (const char *)e.data.scalar.value, &before);
            if (!rc && !(rc = next(r, &value))) {
                rc = node(r, &value);
                yaml_event_delete(&value);
            }
        }
        yaml_event_delete(&e);
        r->path[before] = 0;
    }
    return rc;
}

static int node(struct reader *r, const yaml_event_t *e)
{
    int rc;
    if (r->depth >= MAX_DEPTH)
        return complain(r, line_of(e), "nested more than %d deep", MAX_DEPTH);
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return add(r, line_of(e), (const char *)e->data.scalar.value);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        r->depth++;
        rc = r->path[0] ? add(r, line_of(e), NULL) : 0;
        if (!rc)
            rc = children(r, e->type == YAML_MAPPING_START_EVENT ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT);
        r->depth--;
        return rc;
    case YAML_ALIAS_EVENT:
        return complain(r, line_of(e), "anchors and aliases are not supported");
    default:
        return complain(r, line_of(e), "this is not expected here");
    }
}

/* One document that is a map, or empty. */
static int document(struct reader *r)
{
    int rc = 0;
    bool end = false;
    while (!rc && !end) {
        yaml_event_t e;
        if ((rc = next(r, &e)))
            break;
        end = e.type == YAML_STREAM_END_EVENT;
        if (e.type == YAML_SCALAR_EVENT && !e.data.scalar.length)
            ; /* nothing but comments */
        else if (e.type == YAML_MAPPING_START_EVENT)
            rc = node(r, &e);
        else if (e.type == YAML_SCALAR_EVENT || e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_ALIAS_EVENT)
            rc = complain(r, line_of(&e), "expected \"key: value\"");
        yaml_event_delete(&e);
    }
    return rc;
}

static int parse(struct reader *r, const char *text, size_t len)
{
    if (!yaml_parser_initialize(&r->yaml))
        return -ENOMEM;
    yaml_parser_set_input_string(&r->yaml, (const unsigned char *)text, len);
    int rc = document(r);
    yaml_parser_delete(&r->yaml);
    return rc;
}

int config_file_new(struct config_file **out, const char *path, char *why, size_t why_len)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    int rc = fs_read_file(path, MAX_BYTES, &text, &len);
    if (rc) {
        snprintf(why, why_len, "%s: cannot be read: %s", path, strerror(-rc));
        return rc;
    }
    struct config_file *f = calloc(1, sizeof(*f));
    if (!f || !(f->name = strdup(path))) {
        free(f);
        return -ENOMEM;
    }
    struct reader r = {.file = f, .why = why, .why_len = why_len};
    snprintf(why, why_len, "out of memory");
    rc = parse(&r, text, len);
    if (rc)
        config_file_free(&f);
    else
        *out = f;
    return rc;
}

void config_file_free(struct config_file **ff)
{
    struct config_file *f = *ff;
    if (!f)
        return;
    for (size_t i = 0; i < f->entries.n; i++) {
        free(f->entries.v[i].path);
        free(f->entries.v[i].value);
    }
    vec_free(&f->entries);
    free(f->name);
    free(f);
    *ff = NULL;
}

const char *config_file_name(const struct config_file *f)
{
    return f->name;
}

/* Does what stands in the file begin with this path? Its '_' may stand for a '-'; a dot of the path is one of a key, or
 * between two. */
static bool begins(const char *have, const char *path)
{
    while (*path && (*have == *path || (*have == '_' && *path == '-') || (*have == BELOW && *path == '.'))) {
        have++;
        path++;
    }
    return !*path;
}

const char *config_file_take(struct config_file *f, const char *path, unsigned *line)
{
    for (size_t i = 0; i < f->entries.n; i++) {
        struct entry *e = &f->entries.v[i];
        if (!begins(e->path, path) || e->path[strlen(path)] || !e->value)
            continue;
        e->taken = true;
        if (line)
            *line = e->line;
        return e->value;
    }
    return NULL;
}

/* The part of a path directly below `parent`, when it has no further ones. */
static const char *child_of(const struct entry *e, const char *parent)
{
    size_t n = strlen(parent);
    if (!begins(e->path, parent) || e->path[n] != BELOW || strchr(e->path + n + 1, BELOW))
        return NULL;
    return e->path + n + 1;
}

size_t config_file_items(const struct config_file *f, const char *path)
{
    size_t n = 0;
    char number[24];
    for (size_t i = 0; i < f->entries.n; i++) {
        const char *part = child_of(&f->entries.v[i], path);
        snprintf(number, sizeof(number), "%zu", n);
        n += part && !strcmp(part, number);
    }
    return n;
}

const char *config_file_key(const struct config_file *f, const char *path, size_t i, unsigned *line)
{
    for (size_t k = 0; k < f->entries.n; k++) {
        const char *part = child_of(&f->entries.v[k], path);
        if (!part || i--)
            continue;
        if (line)
            *line = f->entries.v[k].line;
        return part;
    }
    return NULL;
}

const char *config_file_left(const struct config_file *f, unsigned *line)
{
    for (size_t i = 0; i < f->entries.n; i++) {
        const struct entry *e = &f->entries.v[i];
        if (e->taken || !e->value)
            continue;
        *line = e->line;
        return with_dots(e->path);
    }
    return NULL;
}

static const struct entry *entry_at(const struct config_file *f, const char *path)
{
    for (size_t i = 0; i < f->entries.n; i++)
        if (begins(f->entries.v[i].path, path) && !f->entries.v[i].path[strlen(path)])
            return &f->entries.v[i];
    return NULL;
}

bool config_file_print(const struct config_file *f, const char *path, struct buf *out)
{
    const struct entry *e = entry_at(f, path);
    if (!e)
        return false;
    if (e->value) {
        buf_json(out, e->value);
        return true;
    }
    bool list = config_file_items(f, path);
    const char *key;
    char at[MAX_PATH + 1];
    buf_char(out, list ? '[' : '{');
    for (size_t i = 0; (key = config_file_key(f, path, i, NULL)); i++) {
        buf_str(out, i ? ", " : "");
        if (!list) {
            buf_json(out, key);
            buf_str(out, ": ");
        }
        snprintf(at, sizeof(at), "%s.%s", path, key);
        config_file_print(f, at, out);
    }
    buf_char(out, list ? ']' : '}');
    return true;
}
