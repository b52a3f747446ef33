#include "inspect/binaries_internal.h"
#include "base/cleanup.h"
#include "runtime/processes.h"
#include "dwarf/dwarf.h"
#include "proc/proc.h"
#include "profile/name_cache.h"
#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAMED_BYTES ((size_t)64 << 20)

int binaries_new(struct binaries **out, const struct binaries_config *config)
{
    struct binaries *b = calloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    b->attached = -1;
    b->parser = config->parser;
    b->cache = b->kernel.cache = config->cache;
    b->short_names = config->short_names;
    debug_search_paths_open(&b->places, &config->debug, config->parser, NULL, NULL);
    if (b->cache)
        parser_set_secret(b->parser, cache_secret(b->cache));
    int rc = -ENOMEM;
    if (!line_indexes_new(&b->lines, &b->places, b->cache) && !name_cache_new(&b->named, NAMED_BYTES))
        rc = runtime_processes_new(&b->processes, (struct runtime_reader){b->parser, parser_jit_read, NULL});
    if (rc)
        binaries_free(&b);
    else
        *out = b;
    return rc;
}

void binaries_want_kernel(struct binaries *b)
{
    kernel_reader_start(&b->kernel);
}

static void entry_free(struct entry *e)
{
    xp_cleanup_close(&e->binary.fd);
    cache_image_free(&e->cached);
    cache_image_free(&e->whole);
    parser_reply_free(&e->made);
    parser_reply_free(&e->synth.bytes);
    binary_stretches_free(&e->stretches);
    free(e->binary.path);
    free(e);
}

void binaries_free(struct binaries **b)
{
    if (!*b)
        return;
    for (size_t i = 0; i < (*b)->list.n; i++)
        entry_free((*b)->list.v[i]);
    vec_free(&(*b)->list);
    name_cache_free(&(*b)->named);
    line_indexes_free(&(*b)->lines);
    debug_search_paths_close(&(*b)->places);
    runtime_processes_free(&(*b)->processes);
    buf_free(&(*b)->symbols);
    kernel_reader_free(&(*b)->kernel);
    xp_cleanup_close(&(*b)->attached);
    free(TAKE_PTR(*b));
}

static struct entry *find(const struct binaries *b, u32 id)
{
    for (size_t i = 0; i < b->list.n; i++)
        if (b->list.v[i]->binary.id == id)
            return b->list.v[i];
    return NULL;
}

const struct binary *binaries_get(const struct binaries *b, u32 id)
{
    struct entry *e = find(b, id);
    return e ? &e->binary : NULL;
}

/* The same as the kernel side sees where a file system shows its own inodes, so that what an agent left in the cache is
 * found again. */
static void key_of(int fd, struct xp_file_key *out)
{
    struct stat st;
    long generation = 0;
    *out = (struct xp_file_key){0};
    if (fstat(fd, &st))
        return;
    ioctl(fd, FS_IOC_GETVERSION, &generation);
    out->ino = st.st_ino;
    out->dev = major(st.st_dev) << 20 | minor(st.st_dev); /* MKDEV (include/linux/kdev_t.h) */
    out->size = (u64)st.st_size;
    out->ctime_sec = (u64)st.st_ctim.tv_sec;
    out->ctime_nsec = (u32)st.st_ctim.tv_nsec;
    out->generation = (u32)generation;
}

static void identify(struct binaries *b, struct entry *e)
{
    struct binary *f = &e->binary;
    f->error = parser_identify(b->parser, f->fd, &e->table_key);
    for (size_t i = 0; !f->error && i < e->table_key.build_id_len; i++)
        snprintf(f->build_id + 2 * i, 3, "%02x", e->table_key.build_id[i]);
}

static u32 add(struct binaries *b, u32 id, int fd, const char *path, u32 tgid)
{
    struct xp_file_key key;
    key_of(fd, &key);
    for (size_t i = 0; i < b->list.n; i++)
        if (!memcmp(&b->list.v[i]->binary.key, &key, sizeof(key))) {
            close(fd);
            return b->list.v[i]->binary.id;
        }
    struct entry *e = calloc(1, sizeof(*e)), **place = e ? VEC_PUSH(&b->list) : NULL;
    if (!place) {
        free(e);
        close(fd);
        return 0;
    }
    *place = e;
    e->binary = (struct binary){.id = id, .fd = fd, .path = strdup(path), .key = key};
    identify(b, e);
    if (tgid && e->binary.path && !e->binary.error)
        line_indexes_seen(b->lines, &key, LINE_INDEXES_ALL, tgid, path);
    return id;
}

u32 binaries_add(struct binaries *b, int fd, const char *path, u32 tgid)
{
    return add(b, XP_FILE_FIRST + (u32)b->list.n, fd, path, tgid);
}

void binaries_add_vdso(struct binaries *b)
{
    int fd = proc_vdso();
    if (fd >= 0)
        add(b, XP_FILE_VDSO, fd, "[vdso]", 0);
}

static int fetch_table(struct binaries *b, struct entry *e)
{
    if (e->binary.error)
        return e->binary.error;
    if (b->cache && !cache_get(b->cache, &e->table_key, &e->cached))
        return 0;
    int rc = parser_table(b->parser, e->binary.fd, &e->table_key, &e->made);
    if (!rc && b->cache)
        cache_put(b->cache, &e->table_key, e->made.data, e->made.len);
    return rc;
}

int binaries_table(struct binaries *b, u32 id, const struct xp_table **out)
{
    struct entry *e = find(b, id);
    if (!e)
        return -ENOENT;
    if (!e->table_tried)
        e->table_error = fetch_table(b, e);
    e->table_tried = true;
    if (!e->table_error)
        *out = e->cached.table ? e->cached.table : e->made.data;
    return e->table_error;
}

/* `key`: it may become other files' table, too; or NULL. */
static int fetch_synth(struct binaries *b, struct entry *e, const struct table_key *key)
{
    if (!e->synth_tried)
        e->synth_error = e->binary.error ? e->binary.error : parser_synth(b->parser, e->binary.fd, key, &e->synth);
    e->synth_tried = true;
    return e->synth_error;
}

int binaries_synth(struct binaries *b, u32 id, const struct parser_synth **out)
{
    struct entry *e = find(b, id);
    int rc = e ? fetch_synth(b, e, NULL) : -ENOENT;
    if (!rc)
        *out = &e->synth;
    return rc;
}

int binaries_whole_table(struct binaries *b, u32 id, const struct xp_table **out)
{
    struct table_key key;
    struct entry *e = find(b, id);
    if (!e)
        return -ENOENT;
    bool keyed = b->cache && !e->whole.table && !e->synth_tried && !e->binary.error &&
                 !parser_synth_identify(b->parser, e->binary.fd, &key);
    if (keyed)
        cache_get(b->cache, &key, &e->whole);
    if (e->whole.table)
        return *out = e->whole.table, 0;
    int rc = fetch_synth(b, e, keyed ? &key : NULL);
    if (rc || !e->synth.table)
        return rc ? rc : synth_drop_is_limit(e->synth.dropped) ? -E2BIG : -ENODATA;
    if (keyed)
        cache_put(b->cache, &key, e->synth.table, e->synth.len);
    *out = e->synth.table;
    return 0;
}

int binaries_stretches(struct binaries *b, u32 id, const u64 *offsets, size_t n, const struct parser_synth **out)
{
    struct entry *e = find(b, id);
    if (!e || e->binary.error)
        return e ? e->binary.error : -ENOENT;
    const struct binary_stretches_source from = {b->parser, b->cache, e->binary.fd, &e->binary.key};
    int rc = binary_stretches_want(&e->stretches, &from, offsets, n);
    *out = &e->stretches.made;
    return rc;
}

int binaries_facts(struct binaries *b, u32 id, struct facts *out)
{
    struct entry *e = find(b, id);
    if (!e)
        return -ENOENT;
    if (!e->facts_tried)
        e->facts_error = parser_facts(b->parser, e->binary.fd, &e->facts);
    e->facts_tried = true;
    if (!e->facts_error)
        *out = e->facts;
    return e->facts_error;
}

int binaries_debug_files(struct binaries *b, u32 id, int root, struct debug_files *out, struct debug_trace *trace)
{
    const struct binary *f = binaries_get(b, id);
    if (!f)
        return -ENOENT;
    struct debug_subject subject = {.fd = f->fd, .root = root, .path = f->path};
    return debug_files_find(&b->places, &subject, out, trace);
}

int binaries_lines(struct binaries *b, u32 id, struct dwarf_index_header *out)
{
    const struct binary *f = binaries_get(b, id);
    struct line_index index = {.fd = -1, .symbols = -1};
    int rc = f ? line_indexes_get(b->lines, &f->key, f->fd, &index) : -ENOENT;
    if (!rc && pread(index.fd, out, sizeof(*out), 0) != sizeof(*out))
        rc = -EIO;
    return rc;
}
