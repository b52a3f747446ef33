#include "cli/list_probes.h"
#include "base/cleanup.h"
#include "cli/record/probed_file.h"
#include "events/made.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const FORMS[] = {"uprobe:", "uretprobe:", "usdt:", "uprobe-latency:"};
#define USDT FORMS[2]

static const char *form_of(const char *text)
{
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(*FORMS); i++)
        if (!strncmp(text, FORMS[i], strlen(FORMS[i])))
            return FORMS[i];
    return NULL;
}

bool list_is_of_probes(const char *text)
{
    return form_of(text) != NULL;
}

/* ---- What is asked for ------------------------------------------------------------------------------------------- */

/* Where the path or bare name begins: behind "pid:N:" and "pod:...:". What has no path there begins at its end, or at a
 * pattern. */
static const char *path_of(const char *text)
{
    const char *path = strstr(text, ":/");
    if (!strncmp(text, "pod:", 4))
        return path ? path + 1 : text + strlen(text);
    if (strncmp(text, "pid:", 4) != 0)
        return text;
    const char *end = text + 4 + strspn(text + 4, "0123456789");
    return *end == ':' ? end + 1 : end;
}

/* Where PATTERN begins, behind a colon; NULL: there is none. */
static const char *pattern_of(const char *path, bool two)
{
    if (!two)
        return event_function_of(path);
    const char *last = strrchr(path, ':');
    const char *before = last ? memrchr(path, ':', (size_t)(last - path)) : NULL;
    return before ? before + 1 : last ? last + 1 : NULL;
}

static bool set_pattern(const char *pattern, bool usdt, struct list_probed *out)
{
    pattern = pattern[0] ? pattern : "*";
    const char *star = strpbrk(pattern, "*?") ? "" : "*", *rest = usdt && !strchr(pattern, ':') ? ":*" : "";
    int n = snprintf(out->pattern, sizeof(out->pattern), "%s%s%s%s", star, pattern, star, rest);
    return n < (int)sizeof(out->pattern);
}

/* "pid:N" is the program of the process. */
static bool set_file(const char *text, size_t n, const char *path, struct list_probed *out)
{
    char link[64], program[256];
    bool of_process = !strncmp(text, "pid:", 4) && path[0] != '/';
    if (of_process) {
        snprintf(link, sizeof(link), "/proc/%.*s/exe", (int)strspn(text + 4, "0123456789"), text + 4);
        ssize_t len = readlink(link, program, sizeof(program) - 1);
        program[len > 0 ? len : 0] = 0;
        n = 4 + strspn(text + 4, "0123456789");
    }
    int len = snprintf(out->file, sizeof(out->file), "%.*s%s%s", (int)n, text, of_process ? ":" : "",
                       of_process ? program : "");
    return len < (int)sizeof(out->file);
}

bool list_probes_split(const char *text, struct list_probed *out)
{
    out->form = form_of(text);
    text += strlen(out->form);
    const char *path = path_of(text);
    bool usdt = out->form == USDT, program = !strncmp(text, "pid:", 4) && path[0] != '/';
    const char *pattern = program ? path : pattern_of(path, usdt);
    size_t n = pattern ? (size_t)(pattern - text) - 1 : strlen(text);
    return set_pattern(pattern ? pattern : "", usdt, out) && set_file(text, n, path, out);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* Appends a name as -e takes it: ? stands for what means something else there. */
static void add_name(const struct list_probed *l, const char *name, struct buf *out)
{
    buf_printf(out, "%s%s:", l->form, l->file);
    for (; *name; name++)
        buf_char(out, strchr(",:+ ", *name) ? '?' : *name);
}

/* The same of a readable name. What is within parentheses or brackets means nothing else, and colons are in pairs. */
static void add_readable(const struct list_probed *l, const char *name, struct buf *out)
{
    size_t depth = 0;
    buf_printf(out, "%s%s:", l->form, l->file);
    for (; *name; name++) {
        depth += *name == '(' || *name == '[';
        depth -= depth && (*name == ')' || *name == ']');
        buf_char(out, *name == ',' && !depth ? '?' : *name);
    }
}

static void add_function(const struct list_probed *l, const struct functions *f, u32 i, struct buf *out)
{
    const char *readable = functions_readable_name(f, i);
    if (readable)
        add_readable(l, readable, out);
    else
        add_name(l, functions_name(f, i), out);
}

static void begin_json(struct buf *name, bool first, struct buf *out)
{
    buf_char(name, 0);
    out->failed |= name->failed;
    buf_str(out, first ? "[{\"name\":" : ",\n{\"name\":");
    if (!name->failed)
        buf_json(out, name->data);
}

static const char *cost_of(const struct function *f)
{
    return f->flags & FUNCTION_INDIRECT ? "indirect" : f->flags & FUNCTION_CHEAP ? "emulated" : "single-stepped";
}

void list_functions(const struct list_probed *l, const struct functions *f, bool json, struct buf *out)
{
    for (u32 i = 0; i < f->n; i++) {
        if (json) {
            AUTO_BUF struct buf full = {0};
            add_function(l, f, i, &full);
            begin_json(&full, !i, out);
            buf_str(out, ",\"symbol\":");
            buf_json(out, functions_name(f, i));
            buf_printf(out, ",\"offset\":%llu,\"probe\":\"%s\"}", (unsigned long long)f->v[i].offset,
                       cost_of(&f->v[i]));
        } else {
            add_function(l, f, i, out);
            buf_printf(out, " %s%s%s\n", cost_of(&f->v[i]), f->v[i].readable ? " " : "",
                       f->v[i].readable ? functions_name(f, i) : "");
        }
    }
    buf_str(out, json && f->n ? "]\n" : "");
}

/* ---- USDT probes ------------------------------------------------------------------------------------------------- */

/* Sites of one probe are one after the other. */
static u32 sites_of(const struct usdt *u, u32 first)
{
    u32 n = 1;
    while (first + n < u->n && !strcmp(u->sites[first].name, u->sites[first + n].name))
        n++;
    return n;
}

static bool has_argument(const struct usdt_site *sites, u32 n, u32 argument)
{
    for (u32 i = 0; i < n; i++)
        if (!(sites[i].at.arguments[argument].flags & XP_USDT_KNOWN))
            return false;
    return true;
}

static void add_arguments(const struct usdt_site *sites, u32 n, bool json, struct buf *out)
{
    unsigned some = 0;
    for (u32 a = 0; a < XP_USDT_ARGUMENTS; a++)
        if (has_argument(sites, n, a))
            buf_printf(out, json ? "%s\"arg%u\"" : "%.0s arg%u", some++ ? "," : "", a + 1);
}

static void add_json_sites(const struct usdt_site *sites, u32 n, struct buf *out)
{
    for (u32 i = 0; i < n; i++) {
        buf_printf(out, "%s{\"offset\":%llu,\"semaphore\":%llu,\"arguments\":", i ? "," : "",
                   (unsigned long long)sites[i].offset, (unsigned long long)sites[i].semaphore);
        buf_json(out, sites[i].text);
        buf_char(out, '}');
    }
}

/* The colon of PROVIDER:NAME stays. */
static void add_probe(const struct list_probed *l, const struct usdt_site *sites, u32 n, bool json, bool first,
                      struct buf *out)
{
    if (!json) {
        buf_printf(out, "%s%s:%s", l->form, l->file, sites->name);
        add_arguments(sites, n, false, out);
        buf_char(out, '\n');
        return;
    }
    AUTO_BUF struct buf full = {0};
    buf_printf(&full, "%s%s:%s", l->form, l->file, sites->name);
    begin_json(&full, first, out);
    buf_str(out, ",\"arguments\":[");
    add_arguments(sites, n, true, out);
    buf_str(out, "],\"sites\":[");
    add_json_sites(sites, n, out);
    buf_str(out, "]}");
}

void list_usdt(const struct list_probed *l, const struct usdt *u, bool json, struct buf *out)
{
    for (u32 i = 0, n; i < u->n; i += n) {
        n = sites_of(u, i);
        add_probe(l, &u->sites[i], n, json, !i, out);
    }
    buf_str(out, json && u->n ? "]\n" : "");
}

/* ---- A file ------------------------------------------------------------------------------------------------------ */

static u32 add_all(const struct list_probed *l, const void *reply, bool json, struct buf *out, unsigned *left_out)
{
    const struct functions *f = reply;
    const struct usdt *u = reply;
    *left_out = l->form == USDT ? u->left_out : f->left_out;
    if (l->form == USDT)
        list_usdt(l, u, json, out);
    else
        list_functions(l, f, json, out);
    return l->form == USDT ? u->n : f->n;
}

int list_probes(const char *text, const struct list_options *o, struct buf *out, unsigned *left_out, char *why,
                size_t len)
{
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct list_probed l;
    if (!list_probes_split(text, &l)) {
        snprintf(why, len, "%.100s...: it is too long", text);
        return -ENAMETOOLONG;
    }
    CLEANUP(probed_file_free) struct probed_file f = PROBED_FILE_NONE;
    struct probed_where where = {.cri_socket = o->cri_socket};
    int rc = record_open_probed(&where, l.file, &f, why, len);
    if (rc)
        return rc;
    rc = l.form == USDT ? record_ask_usdt(&f, l.pattern, &reply) : record_ask_functions(&where, &f, l.pattern, &reply);
    if (rc)
        snprintf(why, len, "%s cannot be read: %s", l.file, strerror(-rc));
    else if (!add_all(&l, reply.data, o->json, out, left_out)) {
        snprintf(why, len, "%s: it has no %s %s", l.file, l.form == USDT ? "USDT probe" : "function", l.pattern);
        rc = -ENODATA;
    }
    return rc;
}
