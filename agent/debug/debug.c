#include "debug/debug.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "debug/debuginfod.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define MIN_ID   2 /* bytes of a build ID: shorter ones tell nothing */
#define MAX_PATH 4096
#define DEBUG    "/usr/lib/debug"

/* ---- What was tried --------------------------------------------------------------------------------------------- */

void debug_trace_free(struct debug_trace *t)
{
    for (size_t i = 0; i < t->v.n; i++)
        free(t->v.v[i].place);
    vec_free(&t->v);
    t->more = 0;
}

static void note(struct debug_trace *t, const char *whose, const char *place, const char *outcome)
{
    if (!t)
        return;
    AUTO_FREE char *copy = strndup(place, MAX_PATH);
    struct debug_attempt *a = copy && t->v.n < DEBUG_MAX_ATTEMPTS ? VEC_PUSH(&t->v) : NULL;
    if (!a) {
        t->more++;
        return;
    }
    log_clean(copy);
    *a = (struct debug_attempt){TAKE_PTR(copy), whose, outcome};
}

static const char *reason(int err)
{
    const char *text = strerrordesc_np(-err);
    return err == -ENOENT || err == -ENOTDIR ? "not there"
           : err == -EINPROGRESS             ? "is being fetched"
           : err == -EFBIG                   ? "is larger than allowed"
           : err == -EREMOTEIO               ? "its file system does not answer"
           : text                            ? text
                                             : "cannot be read";
}

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

struct base { /* where a path begins */
    int root;
    const char *whose;
    bool users;      /* one of the user's directories: its links may lead anywhere */
    const char *dir; /* what paths below it begin with */
};

/* One place that hangs must not cost more than one attempt, and one file in it not those of other containers. */
static int note_hung(const struct debug_search_paths *p, const struct base *b, int rc)
{
    if (rc == -EREMOTEIO) {
        struct hung_place place = hung_place_of_root(b->root);
        hung_note(p->hung, &place, now_ns());
    }
    return rc;
}

/* O_PATH of a regular file. */
static int open_regular(const struct debug_search_paths *p, const struct base *b, const char *path)
{
    struct hung_place place = hung_place_of_root(b->root);
    if (b->root < 0 && !b->users)
        return -ESRCH;
    if (hung_is(p->hung, &place, now_ns()))
        return -EREMOTEIO;
    return note_hung(p, b, opener_file(p->opener, b->root, path));
}

enum want { WANT_DEBUG, WANT_ALT, WANT_PACKAGE };

struct search {
    const struct debug_search_paths *p;
    const struct debug_subject *s;
    struct debug_trace *t;
    struct debug_files *out;
    enum want want;
    struct debug_links found; /* the last one that fits */
};

static bool same_id(const u8 *a, size_t na, const u8 *b, size_t nb)
{
    return na >= MIN_ID && na == nb && !memcmp(a, b, na);
}

/* NULL: it fits. */
static const char *judge_debug(const struct search *x, const struct base *b, int fd, struct debug_links *l)
{
    const struct debug_links *own = &x->out->links;
    if (!(l->has & (DEBUG_HAS_INFO | DEBUG_HAS_SYMBOLS)))
        return "has no debug information";
    if (own->build_id_len >= MIN_ID && l->build_id_len >= MIN_ID)
        return same_id(own->build_id, own->build_id_len, l->build_id, l->build_id_len) ? NULL
                                                                                       : "belongs to another build";
    if (!*own->link)
        return "has no build ID";
    int err = note_hung(x->p, b, parser_links(x->p->parser, fd, true, l));
    return err ? reason(err) : l->crc == own->link_crc ? NULL : "has another CRC";
}

/* `b`: where it is from */
static const char *judge(const struct search *x, const struct base *b, int fd, struct debug_links *l)
{
    const struct debug_links *of = &x->found;
    int err = note_hung(x->p, b, parser_links(x->p->parser, fd, false, l));
    if (err)
        return reason(err);
    if (x->want == WANT_PACKAGE)
        return l->has & DEBUG_IS_PACKAGE ? NULL : "is no package of split units";
    if (x->want == WANT_ALT)
        return same_id(of->alt_id, of->alt_id_len, l->build_id, l->build_id_len) ? NULL : "belongs to another build";
    return judge_debug(x, b, fd, l);
}

/* An owned fd when it is there and fits. */
static int try_path(struct search *x, const struct base *b, const char *path)
{
    struct debug_links l;
    AUTO_CLOSE int fd = open_regular(x->p, b, path);
    const char *why = fd < 0 ? reason(fd) : judge(x, b, fd, &l);
    note(x->t, b->whose, path, why ? why : "used");
    if (why)
        return -ENOENT;
    if (x->want == WANT_DEBUG) {
        x->found = l;
        x->out->root = b->root;
        free(x->out->path);
        x->out->path = strdup(path);
    }
    return TAKE_FD(fd);
}

static int try_format(struct search *x, const struct base *b, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int try_format(struct search *x, const struct base *b, const char *format, ...)
{
    char path[MAX_PATH];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(path, sizeof(path), format, ap);
    va_end(ap);
    return n < 0 || n >= MAX_PATH ? -ENAMETOOLONG : try_path(x, b, path);
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

static struct base base_of(const struct search *x, size_t i)
{
    if (i == 0)
        return (struct base){.root = x->s->root, .whose = "container", .dir = DEBUG};
    if (i == 1)
        return (struct base){.root = x->p->host, .whose = "host", .dir = DEBUG};
    return (struct base){.root = -1, .whose = "directory", .users = true, .dir = x->p->dirs[i - 2]};
}

struct hex {
    char text[2 * DEBUG_LINK_ID + 1];
};

static struct hex hex_of(const u8 *id, size_t len)
{
    struct hex h = {""};
    for (size_t i = 0; i < len && i < DEBUG_LINK_ID; i++)
        snprintf(h.text + 2 * i, 3, "%02x", id[i]);
    return h;
}

static int try_id(struct search *x, const u8 *id, size_t len)
{
    struct hex h = hex_of(id, len);
    const char *hex = h.text;
    int fd = -ENOENT;
    if (len < MIN_ID)
        return fd;
    for (size_t i = 0; i < 2 + x->p->ndirs && fd < 0; i++) {
        struct base b = base_of(x, i);
        if (b.users || b.root >= 0)
            fd = try_format(x, &b, "%s/.build-id/%.2s/%s.debug", b.dir, hex, hex + 2);
    }
    return fd;
}

static int try_server(struct search *x, const u8 *id, size_t len)
{
    struct hex h = hex_of(id, len);
    struct debug_links l;
    if (!x->p->server || len < MIN_ID)
        return -ENOENT;
    AUTO_CLOSE int fd = debuginfod_get(x->p->server, h.text);
    x->out->pending |= fd == -EINPROGRESS;
    struct base own = {.root = -1, .whose = "debuginfod", .users = true};
    const char *why = fd < 0 ? reason(fd) : judge(x, &own, fd, &l);
    note(x->t, own.whose, h.text, why ? why : "used");
    if (fd >= 0 && why)
        debuginfod_drop(x->p->server, h.text);
    if (why)
        return -ENOENT;
    if (x->want == WANT_DEBUG)
        x->found = l;
    return TAKE_FD(fd);
}

/* The part of a path in front of its last slash. */
static int dir_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) : 0;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* By name, which says nothing: what is there is judged. Without a link, by the name that tools give by themselves. */
static int try_name(struct search *x)
{
    const char *path = x->s->path, *link = x->out->links.link, *suffix = *link ? "" : ".debug";
    struct base b = base_of(x, 0);
    int fd = -ENOENT;
    if (!*link)
        link = path ? last_name(path) : "";
    if (path && *path == '/') {
        fd = try_format(x, &b, "%.*s/%s%s", dir_len(path), path, link, suffix);
        if (fd < 0)
            fd = try_format(x, &b, "%.*s/.debug/%s%s", dir_len(path), path, link, suffix);
        if (fd < 0)
            fd = try_format(x, &b, DEBUG "%.*s/%s%s", dir_len(path), path, link, suffix);
    }
    for (size_t i = 0; i < x->p->ndirs && fd < 0 && *link; i++) {
        b = base_of(x, 2 + i);
        fd = try_format(x, &b, "%s/%s%s", b.dir, last_name(link), suffix);
    }
    return fd;
}

/* What dwz moved out: by the name in the file that was found, from where that one lies; else by its build ID. */
static int try_alt(struct search *x)
{
    const char *alt = x->found.alt, *from = x->out->path;
    struct base b = {.root = x->out->root, .whose = x->out->root == x->p->host ? "host" : "container"};
    int fd = -ENOENT;
    x->want = WANT_ALT;
    if (*alt == '/')
        fd = try_path(x, &b, alt);
    else if (from && b.root >= 0)
        fd = try_format(x, &b, "%.*s/%s", dir_len(from), from, alt);
    if (fd < 0)
        fd = try_id(x, x->found.alt_id, x->found.alt_id_len);
    return fd < 0 ? try_server(x, x->found.alt_id, x->found.alt_id_len) : fd;
}

static int try_package(struct search *x)
{
    struct base b = base_of(x, 0);
    x->want = WANT_PACKAGE;
    return x->s->path && *x->s->path == '/' ? try_format(x, &b, "%s.dwp", x->s->path) : -ENOENT;
}

static int find_debug(struct search *x)
{
    const struct debug_links *own = &x->out->links;
    if (own->has & DEBUG_HAS_INFO) {
        note(x->t, "file", x->s->path ? x->s->path : "?", "used");
        x->found = *own;
        x->out->root = x->s->root;
        x->out->path = strdup(x->s->path ? x->s->path : "");
        return x->out->path ? 0 : -ENOMEM;
    }
    note(x->t, "file", x->s->path ? x->s->path : "?", "has no debug information");
    x->out->debug = try_id(x, own->build_id, own->build_id_len);
    if (x->out->debug < 0)
        x->out->debug = try_name(x);
    if (x->out->debug < 0)
        x->out->debug = try_server(x, own->build_id, own->build_id_len);
    return 0;
}

int debug_files_find(const struct debug_search_paths *p, const struct debug_subject *s, struct debug_files *out,
                     struct debug_trace *t)
{
    CLEANUP(debug_files_free) struct debug_files f = DEBUG_FILES_NONE;
    struct search x = {.p = p, .s = s, .t = t, .out = &f};
    int err = parser_links(p->parser, s->fd, false, &f.links);
    if (!err)
        err = find_debug(&x);
    if (err)
        return err;
    f.found = x.found.has & DEBUG_HAS_INFO;
    f.debug_symbols = f.debug >= 0 && x.found.has & DEBUG_HAS_SYMBOLS;
    if (f.found) {
        f.alt = *x.found.alt ? try_alt(&x) : -1;
        f.dwp = try_package(&x);
    }
    *out = f;
    f = (struct debug_files)DEBUG_FILES_NONE;
    return 0;
}

void debug_files_free(struct debug_files *f)
{
    xp_cleanup_close(&f->debug);
    xp_cleanup_close(&f->alt);
    xp_cleanup_close(&f->dwp);
    free(f->path);
    *f = (struct debug_files)DEBUG_FILES_NONE;
}

/* ---- Split units ------------------------------------------------------------------------------------------------ */

static int try_split(struct debug_split *x, const struct base *b, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int try_split(struct debug_split *x, const struct base *b, const char *format, ...)
{
    char path[MAX_PATH];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(path, sizeof(path), format, ap);
    va_end(ap);
    int fd = n < 0 || n >= MAX_PATH ? -ENAMETOOLONG : open_regular(x->places, b, path);
    if (fd < 0)
        note(x->trace, b->whose, path, reason(fd));
    return fd;
}

int debug_split_open(void *split, const char *dir, const char *name)
{
    struct debug_split *x = split;
    struct base b = {.root = x->subject->root, .whose = "container"};
    const char *path = x->files->path;
    int fd = *name == '/' ? try_split(x, &b, "%s", name) : try_split(x, &b, "%s/%s", dir, name);
    if (fd < 0 && path && x->files->root == b.root)
        fd = try_split(x, &b, "%.*s/%s", dir_len(path), path, last_name(name));
    for (size_t i = 0; i < x->places->ndirs && fd < 0; i++) {
        b = (struct base){.root = -1, .whose = "directory", .users = true, .dir = x->places->dirs[i]};
        fd = try_split(x, &b, "%s/%s", b.dir, last_name(name));
    }
    x->missing += fd < 0;
    return fd;
}
