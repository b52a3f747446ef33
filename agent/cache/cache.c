#include "cache/cache.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "dwarf/name_index.h"
#include "synth/stretch_image.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#define SUFFIX     ".xpt" /* tables */
#define KERNEL     "kernel.xpk"
#define MAX_FILES  (1u << 20)
#define MAX_IMAGE  ((size_t)1 << 30)
#define NAME_BYTES (2 * 36 + sizeof(SUFFIX)) /* digest and build ID in hex */
#define MAX_NAME   (NAME_BYTES + 8)          /* ".XXXXXX" while it is being written */

struct cache {
    char *dir;
    int fd; /* of the directory */
    size_t max_bytes, bytes;
    u8 secret[16];
};

struct cached {
    char name[MAX_NAME];
    struct timespec used;
    size_t size;
};
typedef VEC(struct cached) cached_list;

static void list_free(cached_list *l)
{
    vec_free(l);
}

static void close_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

static void hex_name(const u8 *b, size_t n, const char *suffix, char out[NAME_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = hex[b[i] >> 4];
        *out++ = hex[b[i] & 15];
    }
    memcpy(out, suffix, sizeof(SUFFIX));
}

static const char *const mark_suffix[CACHE_MARKS] = {".xps", ".xpn"}; /* as long as SUFFIX */

static void file_name(const struct table_key *key, const char *suffix, char out[NAME_BYTES])
{
    size_t id = key->build_id_len <= 20 ? key->build_id_len : 20;
    hex_name((const u8 *)key, sizeof(key->digest) + id, suffix, out); /* it follows the digest in struct table_key */
}
_Static_assert(offsetof(struct table_key, build_id) == 16, "file_name reads both at once");

static const struct {
    const char *suffix; /* as long as SUFFIX */
    int (*check)(const void *data, size_t len);
} index_kind[CACHE_INDEXES] = {
    {".xpl", dwarf_index_check},
    {".xpf", name_index_check},
    {".xpr", stretch_image_check},
};

/* Tables, indexes and marks, and what was left of one that was being written. */
static bool is_ours(const char *name)
{
    bool ours = strstr(name, SUFFIX) || !strncmp(name, KERNEL, strlen(KERNEL));
    for (size_t i = 0; i < CACHE_INDEXES; i++)
        ours |= strstr(name, index_kind[i].suffix) != NULL;
    for (size_t i = 0; i < CACHE_MARKS; i++)
        ours |= strstr(name, mark_suffix[i]) != NULL;
    return ours && strlen(name) < MAX_NAME;
}

/* All of them in the directory. 0, -ENOMEM or -errno. */
static int list_files(const struct cache *c, cached_list *out)
{
    CLEANUP(close_dir) DIR *d = opendir(c->dir);
    struct stat st;
    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d)) && out->n < MAX_FILES;) {
        if (!is_ours(e->d_name) || fstatat(c->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        struct cached *f = VEC_PUSH(out);
        if (!f)
            return -ENOMEM;
        *f = (struct cached){.used = st.st_mtim, .size = fs_disk_bytes((size_t)st.st_size)};
        memcpy(f->name, e->d_name, strlen(e->d_name) + 1);
    }
    return 0;
}

static int by_use(const void *a, const void *b)
{
    const struct cached *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Recounts, and removes the tables used longest ago until `room` more bytes fit. */
static int evict(struct cache *c, size_t room)
{
    CLEANUP(list_free) cached_list all = {0};
    int err = list_files(c, &all);
    if (err)
        return err;
    c->bytes = fs_disk_bytes(sizeof(c->secret));
    for (size_t i = 0; i < all.n; i++)
        c->bytes += all.v[i].size;
    if (c->bytes + room <= c->max_bytes)
        return 0;
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), by_use);
    for (size_t i = 0; i < all.n && c->bytes + room > c->max_bytes; i++)
        if (!unlinkat(c->fd, all.v[i].name, 0))
            c->bytes -= all.v[i].size;
    return 0;
}

/* The secret, made at first use. Another process that makes it at the same time wins or loses as a whole: what counts
 * is what can be read back. */
static int load_secret(struct cache *c)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        AUTO_CLOSE int fd = openat(c->fd, "secret", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && read(fd, c->secret, sizeof(c->secret)) == sizeof(c->secret))
            return 0;
        if (fd < 0 && errno != ENOENT)
            return -errno;
        AUTO_FREE char *path = NULL;
        u8 random[sizeof(c->secret)];
        if (asprintf(&path, "%s/secret", c->dir) < 0) {
            path = NULL;
            return -ENOMEM;
        }
        if (getrandom(random, sizeof(random), 0) != sizeof(random))
            return -EIO;
        int err = fs_replace_file(path, random, sizeof(random), 0600);
        if (err)
            return err;
    }
    return -EIO;
}

int cache_open(struct cache **out, const char *dir, size_t max_bytes)
{
    struct stat st;
    CLEANUP(cache_free) struct cache *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->fd = -1;
    c->max_bytes = max_bytes;
    int err = fs_mkdirs(dir);
    if (err)
        return err;
    c->dir = strdup(dir);
    c->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!c->dir || c->fd < 0)
        return c->dir ? -errno : -ENOMEM;
    if (fstat(c->fd, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return -EPERM;
    err = load_secret(c);
    if (!err)
        err = evict(c, 0);
    if (err)
        return err;
    *out = TAKE_PTR(c);
    return 0;
}

void cache_free(struct cache **c)
{
    if (!*c)
        return;
    if ((*c)->fd >= 0)
        close((*c)->fd);
    free((*c)->dir);
    free(*c);
    *c = NULL;
}

const u8 *cache_secret(const struct cache *c)
{
    return c->secret;
}

void cache_image_free(struct cache_image *i)
{
    if (i->table)
        munmap((void *)i->table, i->len);
    *i = (struct cache_image){0};
}

/* All of a file, mapped; NULL: it is not a regular one, empty, or larger than anything of ours. */
static const void *map_file(int fd, size_t *len)
{
    struct stat st;
    bool fits = !fstat(fd, &st) && S_ISREG(st.st_mode) && (size_t)st.st_size <= MAX_IMAGE;
    *len = fits ? (size_t)st.st_size : 0;
    void *map = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0); /* nothing of length 0 */
    return map == MAP_FAILED ? NULL : map;
}

int cache_get(struct cache *c, const struct table_key *key, struct cache_image *out)
{
    char name[NAME_BYTES];
    file_name(key, SUFFIX, name);
    AUTO_CLOSE int fd = openat(c->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? -ENODATA : -errno;
    struct cache_image image = {0};
    image.table = map_file(fd, &image.len);
    if (!image.table || table_check(image.table, image.len)) {
        cache_image_free(&image);
        unlinkat(c->fd, name, 0);
        return -ENODATA;
    }
    futimens(fd, NULL); /* used now */
    *out = image;
    return 0;
}

static int put(struct cache *c, const char *name, const void *data, size_t len)
{
    AUTO_FREE char *path = NULL;
    size_t room = fs_disk_bytes(len);
    if (room > c->max_bytes || len > MAX_IMAGE)
        return -EFBIG;
    if (c->bytes + room > c->max_bytes) {
        int err = evict(c, room);
        if (err)
            return err;
    }
    if (asprintf(&path, "%s/%s", c->dir, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    int err = fs_replace_file(path, data, len, 0600);
    if (!err)
        c->bytes += room; /* too much when it replaced one: the next count is right again */
    return err;
}

int cache_put(struct cache *c, const struct table_key *key, const void *image, size_t len)
{
    char name[NAME_BYTES];
    file_name(key, SUFFIX, name);
    return put(c, name, image, len);
}

bool cache_marked(struct cache *c, const struct table_key *key, enum cache_mark mark)
{
    char name[NAME_BYTES];
    file_name(key, mark_suffix[mark], name);
    return !utimensat(c->fd, name, NULL, AT_SYMLINK_NOFOLLOW); /* used now */
}

int cache_mark(struct cache *c, const struct table_key *key, enum cache_mark mark)
{
    char name[NAME_BYTES];
    file_name(key, mark_suffix[mark], name);
    return put(c, name, "1\n", 2);
}

int cache_put_index(struct cache *c, enum cache_index kind, const u8 digest[16], const void *index, size_t len)
{
    char name[NAME_BYTES];
    hex_name(digest, 16, index_kind[kind].suffix, name);
    return put(c, name, index, len);
}

static bool is_sound_index(int fd, int (*check)(const void *data, size_t len))
{
    size_t len;
    const void *map = map_file(fd, &len);
    bool sound = map && !check(map, len);
    if (map)
        munmap((void *)map, len);
    return sound;
}

int cache_get_index(struct cache *c, enum cache_index kind, const u8 digest[16])
{
    char name[NAME_BYTES];
    hex_name(digest, 16, index_kind[kind].suffix, name);
    AUTO_CLOSE int fd = openat(c->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? -ENODATA : -errno;
    if (!is_sound_index(fd, index_kind[kind].check)) {
        unlinkat(c->fd, name, 0);
        return -ENODATA;
    }
    futimens(fd, NULL); /* used now */
    return TAKE_FD(fd);
}

int cache_put_kernel(struct cache *c, const void *index, size_t len)
{
    return put(c, KERNEL, index, len);
}

int cache_get_kernel(struct cache *c)
{
    struct stat st;
    AUTO_CLOSE int fd = openat(c->fd, KERNEL, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? -ENODATA : -errno;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO))
        return -EPERM;
    futimens(fd, NULL); /* used now */
    return TAKE_FD(fd);
}
