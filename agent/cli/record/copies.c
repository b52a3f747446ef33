#include "cli/record/copies.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(struct probed_file) probed_files;

struct identity {
    unsigned long long dev, ino;
};
struct copies {
    const char *name;
    VEC(struct identity) known;
    probed_files *out;
    unsigned remote, refused, too_many; /* that are not probed, and why */
};

static void probed_files_free(probed_files *all)
{
    for (size_t i = 0; i < all->n; i++)
        probed_file_free(&all->v[i]);
    vec_free(all);
}

static bool is_new(struct copies *c, struct identity file)
{
    for (size_t i = 0; i < c->known.n; i++)
        if (c->known.v[i].dev == file.dev && c->known.v[i].ino == file.ino)
            return false;
    struct identity *place = VEC_PUSH(&c->known);
    if (place)
        *place = file;
    return place;
}

/* The file that is mapped at `range` (START-END), or else what is at its path by now: the former takes CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE. */
static int open_mapped(u64 pid, const char *range, const char *path, struct probed_file *out)
{
    char link[96], why[128];
    struct probed_file f = PROBED_FILE_NONE;
    snprintf(link, sizeof(link), "/proc/%llu/map_files/%s", (unsigned long long)pid, range);
    f.fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f.fd < 0 && !record_open_in(pid, path, out))
        return 0;
    if (f.fd < 0) /* of a process in another root directory, but with our mounts, it is a path of ours */
        return record_open_probed(&(struct probed_where){0}, path, out, why, sizeof(why));
    snprintf(link, sizeof(link), "/proc/%llu/root", (unsigned long long)pid);
    f.root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    f.path = strdup(path);
    if (!f.path) {
        probed_file_free(&f);
        return -ENOMEM;
    }
    *out = f;
    return 0;
}

/* Takes it over. Returns 0 or -ENOMEM. */
static int keep(probed_files *all, struct probed_file *f)
{
    struct probed_file *place = VEC_PUSH(all);
    if (place)
        *place = *f;
    else
        probed_file_free(f);
    return place ? 0 : -ENOMEM;
}

static void add(struct copies *c, u64 pid, const char *range, const char *path)
{
    struct probed_file f = PROBED_FILE_NONE;
    if (c->out->n == PROBED_COPIES)
        c->too_many++;
    else if (open_mapped(pid, range, path, &f) || keep(c->out, &f))
        c->refused++;
}

/* Whether a mount of the process is of a file system that may not answer: whoever opens a file there may wait for ever,
 * and whoever probes it has all forks of the machine wait (kernel/events/uprobes.c). */
static bool may_hang(u64 pid, unsigned major, unsigned minor)
{
    static const char *const types[] = {"fuse", "nfs", "virtiofs", "9p", "cifs", "smb3", "ceph", "afs"};
    char path[64], type[32];
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    bool hangs = false;
    snprintf(path, sizeof(path), "/proc/%llu/mountinfo", (unsigned long long)pid);
    FILE *mounts = fopen(path, "re");
    while (mounts && !hangs && getline(&line, &size, mounts) > 0) {
        unsigned of_major, of_minor;
        const char *end = strstr(line, " - ");
        if (!end || sscanf(end, " - %31s", type) != 1 || sscanf(line, "%*u %*u %u:%u", &of_major, &of_minor) != 2 ||
            of_major != major || of_minor != minor)
            continue;
        for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
            hangs |= !strncmp(type, types[i], strlen(types[i]));
    }
    if (mounts)
        fclose(mounts);
    return hangs;
}

/* Of one process. */
static void look(struct copies *c, u64 pid)
{
    char path[64], range[40], access[8];
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "/proc/%llu/maps", (unsigned long long)pid);
    FILE *maps = fopen(path, "re");
    while (maps && getline(&line, &size, maps) > 0) {
        struct identity file;
        unsigned major, minor;
        line[strcspn(line, "\n")] = 0;
        const char *at = strchr(line, '/'), *base = at ? strrchr(at, '/') + 1 : "";
        if (strcmp(base, c->name) != 0 ||
            sscanf(line, "%39s %7s %*s %x:%x %llu", range, access, &major, &minor, &file.ino) != 5 ||
            !strchr(access, 'x'))
            continue;
        file.dev = (unsigned long long)major << 32 | minor;
        if (!is_new(c, file))
            continue;
        if (may_hang(pid, major, minor))
            c->remote++;
        else
            add(c, pid, range, at);
    }
    if (maps)
        fclose(maps);
}

static void look_at_all(struct copies *c)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *e; proc && (e = readdir(proc));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            look(c, strtoull(e->d_name, NULL, 10));
    if (proc)
        closedir(proc);
}

static void say_left_out(const struct copies *c)
{
    if (c->remote + c->refused + c->too_many)
        log_warn(
            "%s: %u files of that name are not probed: %u are on file systems that may not answer, %u cannot be "
            "opened, and %u are more than %d",
            c->name, c->remote + c->refused + c->too_many, c->remote, c->refused, c->too_many, PROBED_COPIES);
}

static int open_all(const struct probed_where *where, const char *file, probed_files *out, char *why, size_t len)
{
    struct copies c = {.name = file, .out = out};
    if (where->running && !strchr(file, '/') && !strchr(file, ':')) {
        for (size_t i = 0; i < where->pids.n; i++)
            look(&c, where->pids.v[i]);
        if (!where->pids.n)
            look_at_all(&c);
    }
    vec_free(&c.known);
    say_left_out(&c);
    if (out->n)
        return 0;
    struct probed_file one = PROBED_FILE_NONE;
    int rc = record_open_probed(where, file, &one, why, len);
    return rc ? rc : keep(out, &one);
}

/* ---- What is found in them --------------------------------------------------------------------------------------- */

/* Makes room for more, and copies them there; `more` NULL: there are none. Returns false: no memory. */
static bool extend(void *to, size_t n, const void *more, size_t nmore, size_t size)
{
    char **old = to;
    if (!more)
        return true;
    char *all = realloc(*old, (n + nmore) * size);
    if (!all)
        return false;
    memcpy(all + n * size, more, nmore * size);
    *old = all;
    return true;
}

static int append(struct probe_places *to, const struct probe_places *one, struct probed_file *f)
{
    AUTO_FREE int *files = calloc(one->n + 1, sizeof(*files));
    for (size_t i = 0; files && i < one->n; i++)
        files[i] = f->fd;
    if (!files || !extend(&to->offsets, to->n, one->offsets, one->n, sizeof(*to->offsets)) ||
        !extend(&to->counters, to->n, one->counters, one->n, sizeof(*to->counters)) ||
        !extend(&to->sites, to->n, one->sites, one->n, sizeof(*to->sites)) ||
        !extend(&to->files, to->n, files, one->n, sizeof(*to->files)))
        return -ENOMEM;
    f->fd = -1; /* it is theirs */
    to->n += one->n;
    to->harmed += one->harmed;
    to->stepped += one->stepped;
    return 0;
}

struct probed_where record_probed_where(const struct record_options *o)
{
    return (struct probed_where){o->pids, o->cri_socket, o->debug_dirs, o->all || o->cgroup || o->pids.n};
}

int record_find_in_copies(const struct probed_where *where, const char *file, record_find_in *find, void *ctx,
                          struct probe_places *out, char *why, size_t len)
{
    CLEANUP(probed_files_free) probed_files files = {0};
    int rc = open_all(where, file, &files, why, len);
    if (!rc && files.n == 1) {
        rc = find(ctx, &files.v[0], file, out, why, len);
        out->fd = rc ? -1 : TAKE_FD(files.v[0].fd);
        return rc;
    }
    for (size_t i = 0; i < files.n && rc != -ENOMEM; i++) {
        struct probe_places one = {.fd = -1, .when = out->when};
        rc = find(ctx, &files.v[i], file, &one, why, len);
        if (!rc && one.n)
            rc = append(out, &one, &files.v[i]);
        free(one.offsets);
        free(one.counters);
        free(one.sites);
    }
    return out->n && rc != -ENOMEM ? 0 : rc;
}
