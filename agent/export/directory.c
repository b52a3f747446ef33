/* The exporter without a server: pprof files below a folder,
 *
 *     NAMESPACE/POD/CONTAINER/TYPE-20260131T235959.123Z.pb.gz      or  host/UNIT or COMM/...
 *
 * each written beside and renamed, so that readers see whole files. Bytes and age are bounded: the oldest files (by
 * mtime) are removed, and the folders they leave empty. Other files in the folder are not ours and stay.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/vec.h"
#include "export/exporter.h"
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX     ".pb.gz"
#define MAX_BYTES  (1ull << 30)
#define MAX_AGE_NS (24 * 3600 * NS_PER_SEC)
#define LOOK_NS    (60 * NS_PER_SEC) /* between looks for files that are too old */
#define MAX_FILE   (64u << 20)
#define MAX_SAME   1000 /* files of one type and time: profiles that were split */

struct directory {
    const struct export_target *target;
    u64 max_bytes, max_age_ns;
    u64 bytes;   /* in it, as far as we know; exact after a look */
    u64 look_ns; /* monotonic; 0: never */
};

static int directory_new(void **out, const struct export_target *t, char *why, size_t size)
{
    struct directory *d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->target = t;
    d->max_bytes = t->max_bytes ? t->max_bytes : MAX_BYTES;
    d->max_age_ns = t->max_age_ns ? t->max_age_ns : MAX_AGE_NS;
    *out = d;
    return 0;
}

static void directory_free(void *self)
{
    free(self);
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

struct old_file {
    char *path;
    u64 bytes, mtime_ns;
};

static int by_age(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    return x->mtime_ns != y->mtime_ns ? (x->mtime_ns < y->mtime_ns ? -1 : 1) : strcmp(x->path, y->path);
}

static void remove_empty(const struct directory *d, char *path)
{
    size_t root = strlen(d->target->path);
    for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) > root;) {
        *slash = 0;
        if (rmdir(path))
            return;
    }
}

typedef VEC(struct old_file) old_files;

/* TYPE-TIME.pb.gz, with a number for more than one, and what a crash left of writing it. Nobody else's recording. */
static bool is_ours(const char *name)
{
    static const char time[] = "-00000000T000000.000Z";
    for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-')) {
        size_t i = 0;
        while (time[i] && dash[i] && (time[i] == '0' ? dash[i] >= '0' && dash[i] <= '9' : dash[i] == time[i]))
            i++;
        if (!time[i])
            return strstr(dash + i, SUFFIX);
    }
    return false;
}

static void list_files(struct directory *d, old_files *files)
{
    char *const roots[] = {(char *)(uintptr_t)d->target->path, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    d->bytes = 0;
    for (const FTSENT *e; fts && (e = fts_read(fts));) {
        if (e->fts_info != FTS_F || !is_ours(e->fts_name))
            continue;
        struct old_file *f = VEC_PUSH(files);
        if (!f)
            break;
        *f = (struct old_file){.path = strdup(e->fts_path),
                               .bytes = (u64)e->fts_statp->st_blocks * 512,
                               .mtime_ns =
                                   (u64)e->fts_statp->st_mtim.tv_sec * NS_PER_SEC + (u64)e->fts_statp->st_mtim.tv_nsec};
        d->bytes += f->bytes;
        if (!f->path)
            files->n--;
    }
    if (fts)
        fts_close(fts);
}

/* Removes what is too old, and the oldest until `need` more bytes fit, with a tenth to spare. */
static void prune(struct directory *d, u64 need)
{
    old_files files = {0};
    u64 now = clock_ns(CLOCK_REALTIME);
    list_files(d, &files);
    u64 goal = d->bytes + need > d->max_bytes ? d->max_bytes - d->max_bytes / 10 : d->max_bytes;
    if (files.n)
        qsort(files.v, files.n, sizeof(*files.v), by_age);
    for (size_t i = 0; i < files.n; i++) {
        struct old_file *f = &files.v[i];
        bool aged = f->mtime_ns < now && now - f->mtime_ns > d->max_age_ns;
        if ((aged || d->bytes + need > goal) && unlink(f->path) == 0) {
            d->bytes -= f->bytes;
            remove_empty(d, f->path);
        }
        free(f->path);
    }
    vec_free(&files);
    d->look_ns = now_ns();
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* One component: what is no letter, digit, '.', '_', '-' becomes '_'; no dot in front; 100 bytes. */
static void add_component(struct buf *b, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    buf_char(b, '/');
    if (!s || !*s)
        buf_char(b, '_');
    for (size_t i = 0; s && s[i] && i < 100; i++)
        buf_char(b, strchr(plain, s[i]) && (i || s[i] != '.') ? s[i] : '_');
}

static void add_folder(struct buf *b, const struct directory *d, const struct export_profile *p)
{
    const char *pod = record_label(p, "pod");
    buf_str(b, d->target->path);
    if (pod) {
        add_component(b, record_label(p, "namespace"));
        add_component(b, pod);
        add_component(b, record_label(p, "container"));
        return;
    }
    const char *keys[] = {"unit", "container", "comm", "service_name"}, *who = NULL;
    for (size_t i = 0; !who && i < sizeof(keys) / sizeof(*keys); i++)
        who = record_label(p, keys[i]);
    add_component(b, "host");
    add_component(b, who);
}

static void add_file(struct buf *b, const struct export_profile *p, unsigned nth)
{
    time_t seconds = (time_t)(p->time_ns / NS_PER_SEC);
    char text[32];
    struct tm tm;
    strftime(text, sizeof(text), "%Y%m%dT%H%M%S", gmtime_r(&seconds, &tm));
    add_component(b, p->type);
    buf_printf(b, "-%s.%03uZ", text, (unsigned)(p->time_ns % NS_PER_SEC / 1000000));
    if (nth)
        buf_printf(b, "-%u", nth + 1);
    buf_str(b, SUFFIX);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* 1: exactly this file is there already: it was written before the agent was killed. 0: no such file. -EEXIST. */
static int is_there(const char *path, const struct export_profile *p)
{
    AUTO_FREE char *have = NULL;
    size_t n = 0;
    int rc = fs_read_file(path, MAX_FILE, &have, &n);
    if (rc == -ENOENT)
        return 0;
    return !rc && n == p->gz_len && memcmp(have, p->gz, n) == 0 ? 1 : -EEXIST;
}

static int write_profile(struct directory *d, const struct export_profile *p)
{
    AUTO_BUF struct buf folder = {0};
    add_folder(&folder, d, p);
    int rc = folder.failed ? -ENOMEM : fs_mkdirs(folder.data);
    for (unsigned nth = 0; !rc && nth < MAX_SAME; nth++) {
        AUTO_BUF struct buf path = {0};
        buf_str(&path, folder.data);
        add_file(&path, p, nth);
        int there = path.failed ? -ENOMEM : is_there(path.data, p);
        if (there == -EEXIST)
            continue;
        if (there)
            return there > 0 ? 0 : there;
        rc = fs_replace_file(path.data, p->gz, p->gz_len, 0600);
        if (!rc)
            d->bytes += (p->gz_len + 4095) / 4096 * 4096;
        return rc;
    }
    return rc ? rc : -EEXIST;
}

static void directory_send(void *self, const struct export_profile *p, const volatile bool *stop, struct verdict *out)
{
    struct directory *d = self;
    u64 start = now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!d->look_ns || start - d->look_ns > LOOK_NS || d->bytes + p->gz_len > d->max_bytes)
        prune(d, p->gz_len);
    int rc = write_profile(d, p);
    *out = (struct verdict){.bytes = p->gz_len};
    if (rc) {
        out->kind = VERDICT_RETRY;
        out->reason = EXPORT_DISK;
        snprintf(out->message, sizeof(out->message), "%.200s: %s", d->target->path, strerror(-rc));
        log_clean(out->message);
    }
    out->seconds = (double)(now_ns() - start) / 1e9;
    out->cpu_seconds = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / 1e9;
}

const struct exporter exporter_directory = {
    .slug = "directory", .serial = true, .new = directory_new, .send = directory_send, .free = directory_free};
