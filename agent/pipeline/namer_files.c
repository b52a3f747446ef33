/* Names of files, asked of the parser process. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/namer_internal.h"
#include <errno.h>
#include <string.h>

bool namer_file(void *ctx, u32 id, const char **path, const char **build_id)
{
    const struct namer *n = ctx;
    const struct file *f = files_get(n->config.files, id);
    if (!f || !f->path)
        return false;
    *path = f->path;
    *build_id = f->build_id;
    return true;
}

/* The cgroup that looking up the names of an ID counts against. */
static u64 payer_of(const struct namer *n, u32 id)
{
    const struct file *f = private_names_file(n->privates, id);
    return f ? askers_payer(&n->askers, f->id) : 0;
}

/* Does the index of lines have to wait, because that container's time is used up? */
static bool is_late(const struct namer *n, u32 id, const struct file *f)
{
    return !turns_may(&n->line_turns, payer_of(n, id)) && !line_indexes_tried(n->lines, &f->key, LINE_INDEXES_ALL);
}

/* Where names of an ID come from besides its file. */
static struct names_fds sources(struct namer *n, u32 id, const struct file *f)
{
    struct line_index index = {.fd = -1, .symbols = -1};
    int rc = is_late(n, id, f) ? -ENODATA : private_names_index(n->privates, id, &index);
    if (rc && rc != -ENODATA)
        log_info("no source lines for %s: %s", f->path ? f->path : "?", strerror(-rc));
    struct names_fds fds = {
        .file = f->fd, .index = index.fd, .symbols = index.symbols, .names = -1, .short_names = n->config.short_names};
    fds.names = line_indexes_pending(n->lines, &f->key) ? -1 : name_indexes_get(n->names, &f->key, f->owner, &fds);
    return fds;
}

void namer_note_file(struct namer *n, const struct xp_file_event *e)
{
    const struct file *f = files_get(n->config.files, e->id);
    if (f && f->path)
        line_indexes_seen(n->lines, &f->key, e->cgroup, e->tgid, f->path);
}

static int ask_parser(struct namer *n, u32 id, const u64 *offsets, size_t count,
                      void (*use)(void *arg, const struct names *names), void *arg)
{
    const struct file *f = private_names_file(n->privates, id);
    struct parser_reply reply = {0};
    struct names view;
    if (!f || f->fd < 0)
        return -ENODATA;
    int rc = files_is_hung(n->config.files, f) ? -EREMOTEIO : files_changed(f) ? -ESTALE : 0;
    if (!rc) {
        struct names_fds fds = sources(n, id, f);
        rc = parser_names(n->config.parser, &fds, offsets, count, &reply, &view);
        if (rc == -EREMOTEIO && fds.symbols < 0) /* else it may be the debug file's */
            files_hung(n->config.files, f);
    }
    if (rc)
        log_info("no function names for %s: %s", f->path ? f->path : "?", strerror(-rc));
    else {
        n->cut_names += ((const struct names_header *)reply.data)->cut != 0;
        use(arg, &view);
    }
    parser_reply_free(&reply);
    return rc;
}

/* No names, for now. */
static int put_off(struct namer *n, size_t count, void (*use)(void *arg, const struct names *names), void *arg)
{
    AUTO_FREE u32 *first = calloc(count + 1, sizeof(*first));
    if (!first)
        return -ENOMEM;
    n->late_names += count;
    use(arg, &(struct names){.first = first, .strings = "", .n = (u32)count});
    return 0;
}

static int ask(void *ctx, u32 id, const u64 *offsets, size_t count, void (*use)(void *arg, const struct names *names),
               void *arg)
{
    struct namer *n = ctx;
    u64 payer = payer_of(n, id), began_ns = now_ns();
    if (!turns_may(&n->name_turns, payer))
        return put_off(n, count, use, arg);
    int rc = ask_parser(n, id, offsets, count, use, arg);
    turns_spend(&n->name_turns, payer, now_ns() - began_ns);
    return rc;
}

/* May better names be found later? */
static bool is_pending(struct namer *n, u32 id)
{
    const struct file *f = private_names_file(n->privates, id);
    struct line_index index;
    if (!f || f->fd < 0)
        return false;
    if (is_late(n, id, f) || !turns_may(&n->name_turns, payer_of(n, id)))
        return true;
    if (!n->places.server)
        return false;
    line_indexes_get(n->lines, &f->key, f->fd, &index);
    return line_indexes_pending(n->lines, &f->key);
}

/* An agent asks again and again, mostly for the same. */
int namer_offsets(void *ctx, u32 id, const u64 *offsets, size_t count,
                  void (*use)(void *arg, const struct names *names), void *arg)
{
    struct namer *n = ctx;
    if (!n->kept)
        return ask(n, id, offsets, count, use, arg);
    const struct file *f = private_names_file(n->privates, id);
    struct name_cache_query q = {.id = id,
                                 .owner = f ? f->owner : SHARES_ALL,
                                 .offsets = offsets,
                                 .n = count,
                                 .passing = is_pending(n, id),
                                 .ask = ask,
                                 .ctx = n,
                                 .use = use,
                                 .arg = arg};
    return name_cache_answer(n->kept, &q);
}

u64 namer_plain_address(void *ctx, u32 id, u64 offset)
{
    return offset;
}

/* Where a file's code lies, for those who will name it by addresses. One file's frames come one after the other. */
static const struct facts *segments(struct namer *n, u32 id)
{
    const struct file *f = files_get(n->config.files, id);
    if (n->segments.id != id) {
        n->segments.id = id;
        n->segments.known =
            f && f->fd >= 0 && !files_changed(f) && !parser_facts(n->config.parser, f->fd, &n->segments.facts);
    }
    return n->segments.known ? &n->segments.facts : NULL;
}

u64 namer_linked_address(void *ctx, u32 id, u64 offset)
{
    const struct facts *f = segments(ctx, id);
    u64 address;
    return f && facts_address(f, offset, &address) ? address : offset;
}

bool namer_segment(void *ctx, u32 id, u64 offset, u64 *first, u64 *last, u64 *first_offset)
{
    const struct facts *f = segments(ctx, id);
    for (size_t i = 0; f && i < f->nsegments; i++) {
        const struct facts_segment *s = &f->segments[i];
        if (offset - s->offset >= s->size)
            continue;
        *first = s->vaddr;
        *last = s->vaddr + s->size - 1;
        *first_offset = s->offset;
        return true;
    }
    return false;
}
