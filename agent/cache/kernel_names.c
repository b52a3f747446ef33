#include "cache/kernel_names.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include "cache/cache.h"
#include "cache/kernel_asked.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC       0x6b707831 /* "1xpk" */
#define HEAD_BYTES  1024       /* of kallsyms */
#define MAX_MODULES ((size_t)4 << 20)
#define MAX_INDEX   ((size_t)256 << 20)

/* Which kernel's symbols they are, and of which moment. */
struct identity {
    char boot[40];
    u64 head;    /* hash of the first lines of kallsyms: other ones where addresses are hidden */
    u64 modules; /* hash of who is loaded, and where */
};

struct header {
    u32 magic, reserved;
    struct identity of;
    u64 checksum; /* of all else */
};

struct kernel_names {
    struct kernel_paths paths;
    struct cache *cache; /* NULL: do not use it */
    struct identity of;
    struct kernel_asked *asked;    /* not NULL: it answers, and there is nothing else */
    struct kallsyms *index, *text; /* the index has all, or the text, or both */
    bool text_tried, fresh;        /* fresh: the text was read because there is no such index */
    void *map;
    size_t map_len;
};

static int hash_head(const char *path, u64 *out)
{
    char head[HEAD_BYTES];
    AUTO_FCLOSE FILE *f = fopen(path, "re");
    if (!f)
        return -errno;
    *out = hash_bytes(head, fread(head, 1, sizeof(head), f), 0); /* the kernel gives a page at a time at most */
    return ferror(f) ? -EIO : 0;
}

/* "ext4 937984 1 - Live 0xffffffffc0a00000": all but the numbers of users, which change all the time. A module that is
 * loaded again has another folder, even if it comes to lie where it was. */
static u64 hash_module(const struct kernel_paths *p, char *line, u64 seed)
{
    char *save = NULL, path[512];
    struct stat st = {0};
    const char *name = strtok_r(line, " ", &save), *size = strtok_r(NULL, " ", &save);
    strtok_r(NULL, " ", &save); /* users */
    strtok_r(NULL, " ", &save); /* their names */
    const char *state = strtok_r(NULL, " ", &save), *address = strtok_r(NULL, " ", &save);
    const char *const fields[] = {name, size, state, address};
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        seed = fields[i] ? hash_bytes(fields[i], strlen(fields[i]), seed) : hash_u64(seed + 1);
    if (name && snprintf(path, sizeof(path), "%s/%s", p->modules_dir, name) < (int)sizeof(path) && !stat(path, &st))
        seed = hash_u64(seed ^ st.st_ino);
    return seed;
}

static int hash_modules(const struct kernel_paths *p, u64 *out)
{
    AUTO_FREE char *text = NULL;
    char *save = NULL;
    u64 hash = 0;
    int rc = fs_read_file(p->modules, MAX_MODULES, &text, NULL);
    if (rc && rc != -ENOENT) /* a kernel that has none */
        return rc;
    for (char *line = rc ? NULL : strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        hash = hash_module(p, line, hash);
    *out = hash;
    return 0;
}

static int identify(const struct kernel_paths *p, struct identity *out)
{
    struct identity id = {0};
    AUTO_FREE char *boot = NULL;
    size_t len;
    int rc = fs_read_file(p->boot_id, sizeof(id.boot) - 1, &boot, &len);
    if (!rc)
        rc = hash_head(p->kallsyms, &id.head);
    if (!rc)
        rc = hash_modules(p, &id.modules);
    if (rc)
        return rc;
    memcpy(id.boot, boot, len);
    *out = id;
    return 0;
}

static u64 checksum(const struct header *h, const void *image, size_t len)
{
    struct header head = *h;
    head.checksum = 0;
    return hash_bytes(image, len, hash_bytes(&head, sizeof(head), 0));
}

static void unmap(struct kernel_names *n)
{
    if (n->map)
        munmap(n->map, n->map_len);
    n->map = NULL;
}

static int check(struct kernel_names *n)
{
    const struct header *h = n->map;
    const void *image = h + 1;
    size_t len = n->map_len - sizeof(*h);
    if (h->magic != MAGIC || memcmp(&h->of, &n->of, sizeof(n->of)) != 0)
        return -ESTALE;
    return checksum(h, image, len) == h->checksum ? kallsyms_new_view(&n->index, image, len) : -EBADMSG;
}

static int load_index(struct kernel_names *n)
{
    struct stat st;
    AUTO_CLOSE int fd = cache_get_kernel(n->cache);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) || (size_t)st.st_size <= sizeof(struct header) || (size_t)st.st_size > MAX_INDEX)
        return -EBADMSG;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    n->map = map;
    n->map_len = (size_t)st.st_size;
    int rc = check(n);
    if (rc)
        unmap(n);
    return rc;
}

static int read_text(struct kernel_names *n)
{
    n->text_tried = true;
    return kallsyms_new(&n->text, n->paths.kallsyms);
}

int kernel_names_new(struct kernel_names **out, const struct kernel_paths *paths, struct cache *cache)
{
    CLEANUP(kernel_names_free) struct kernel_names *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->paths = *paths;
    n->cache = cache && !identify(paths, &n->of) ? cache : NULL;
    int rc = n->cache ? load_index(n) : -ENODATA;
    if (rc) {
        rc = read_text(n);
        n->fresh = n->cache != NULL;
    }
    if (rc)
        return rc;
    *out = TAKE_PTR(n);
    return 0;
}

int kernel_names_open(struct kernel_names **out, struct cache *cache)
{
    static const struct kernel_paths paths = {.kallsyms = "/proc/kallsyms",
                                              .boot_id = "/proc/sys/kernel/random/boot_id",
                                              .modules = "/proc/modules",
                                              .modules_dir = "/sys/module"};
    CLEANUP(kernel_names_free) struct kernel_names *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    if (kernel_asked_open(&n->asked))
        return kernel_names_new(out, &paths, geteuid() ? NULL : cache);
    *out = TAKE_PTR(n);
    return 0;
}

void kernel_names_free(struct kernel_names **n)
{
    if (!*n)
        return;
    kernel_asked_free(&(*n)->asked);
    kallsyms_free(&(*n)->index);
    kallsyms_free(&(*n)->text);
    unmap(*n);
    free(*n);
    *n = NULL;
}

int kernel_names_keep(struct kernel_names *n)
{
    AUTO_BUF struct buf b = {0};
    struct header h = {.magic = MAGIC, .of = n->of};
    struct identity now;
    if (!n->fresh || kallsyms_hidden(n->text))
        return 0;
    n->fresh = false;
    int rc = identify(&n->paths, &now);
    if (rc || memcmp(&now, &n->of, sizeof(now)) != 0)
        return rc; /* a module came or went while the text was read */
    buf_add(&b, &h, sizeof(h));
    rc = kallsyms_encode(n->text, &b);
    if (rc)
        return rc;
    h.checksum = checksum(&h, b.data + sizeof(h), b.len - sizeof(h));
    memcpy(b.data, &h, sizeof(h));
    return cache_put_kernel(n->cache, b.data, b.len);
}

bool kernel_names_hidden(const struct kernel_names *n)
{
    return n->text && kallsyms_hidden(n->text);
}

bool kernel_names_find(struct kernel_names *n, u64 address, struct kallsym *out)
{
    if (n->asked)
        return kernel_asked_find(n->asked, address, out);
    if (n->index && kallsyms_find_inside(n->index, address, out))
        return true;
    if (!n->text_tried)
        read_text(n);
    return n->text && kallsyms_find(n->text, address, out);
}
