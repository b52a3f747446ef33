/* Where symbolize gets its names from: the files that were announced, by way of the parser process; and kallsyms. */
#include "agent_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "line_indexes.h"
#include "profile/named.h"
#include "object/kallsyms.h"
#include "profile/symbolize.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

static bool name_file(void *ctx, u32 id, const char **path, const char **build_id)
{
    const struct agent *a = ctx;
    const struct file *f = files_get(a->files, id);
    if (!f || !f->path)
        return false;
    *path = f->path;
    *build_id = f->build_id;
    return true;
}

int agent_open_lines(struct agent *a)
{
    struct debug_sources sources = a->config.debug;
    sources.cache_dir = a->cache ? a->config.cache_dir : NULL;
    sources.patient = !a->config.sink.profile; /* an agent goes on, and asks again */
    debug_places_open(&a->places, &sources, a->parser);
    return line_indexes_new(&a->lines, &a->places, a->cache);
}

void agent_close_lines(struct agent *a)
{
    line_indexes_free(&a->lines);
    debug_places_close(&a->places);
}

/* Where names come from besides the file itself. */
static struct names_fds sources(struct agent *a, const struct file *f)
{
    struct line_index index;
    int rc = line_indexes_get(a->lines, &f->key, f->fd, &index);
    if (rc && rc != -ENODATA)
        log_info("no lines for %s: %s", f->path ? f->path : "?", strerror(-rc));
    return (struct names_fds){
        .file = f->fd, .index = index.fd, .symbols = index.symbols, .short_names = a->config.short_names};
}

void agent_note_debug_file(struct agent *a, const struct xp_file_event *e)
{
    const struct file *f = files_get(a->files, e->id);
    if (f && f->path)
        line_indexes_seen(a->lines, &f->key, e->tgid, f->path);
}

static int ask_parser(void *ctx, u32 id, const u64 *offsets, size_t n,
                      void (*use)(void *arg, const struct names *names), void *arg)
{
    struct agent *a = ctx;
    const struct file *f = files_get(a->files, id);
    struct parser_reply reply = {0};
    struct names view;
    if (!f || f->fd < 0)
        return -ENODATA;
    int rc = files_changed(f) ? -ESTALE : 0;
    if (!rc) {
        struct names_fds fds = sources(a, f);
        rc = parser_names(a->parser, &fds, offsets, n, &reply, &view);
    }
    if (rc)
        log_info("no names for %s: %s", f->path ? f->path : "?", strerror(-rc));
    else {
        a->cut_names += ((const struct names_header *)reply.data)->cut != 0;
        use(arg, &view);
    }
    parser_reply_free(&reply);
    return rc;
}

/* Is a server being asked for the file's debug information? */
static bool is_pending(struct agent *a, u32 id)
{
    const struct file *f = files_get(a->files, id);
    struct line_index index;
    if (!a->places.server || !f || f->fd < 0)
        return false;
    line_indexes_get(a->lines, &f->key, f->fd, &index);
    return line_indexes_pending(a->lines, &f->key);
}

/* An agent asks again and again, mostly for the same. */
static int name_offsets(void *ctx, u32 id, const u64 *offsets, size_t n,
                        void (*use)(void *arg, const struct names *names), void *arg)
{
    struct agent *a = ctx;
    if (!a->named || is_pending(a, id)) /* what is not final is not kept */
        return ask_parser(a, id, offsets, n, use, arg);
    struct named_question q = {
        .id = id, .offsets = offsets, .n = n, .ask = ask_parser, .ctx = a, .use = use, .arg = arg};
    return named_answer(a->named, &q);
}

static u64 file_offset_as_address(void *ctx, u32 id, u64 offset)
{
    return offset;
}

/* Where a file's code lies, for those who will name it by addresses. One file's frames come one after the other. */
static const struct facts *segments(struct agent *a, u32 id)
{
    const struct file *f = files_get(a->files, id);
    if (a->segments.id != id) {
        a->segments.id = id;
        a->segments.known = f && f->fd >= 0 && !files_changed(f) && !parser_facts(a->parser, f->fd, &a->segments.facts);
    }
    return a->segments.known ? &a->segments.facts : NULL;
}

static u64 link_time_address(void *ctx, u32 id, u64 offset)
{
    const struct facts *f = segments(ctx, id);
    u64 address;
    return f && facts_address(f, offset, &address) ? address : offset;
}

static bool segment(void *ctx, u32 id, u64 offset, u64 *first, u64 *last, u64 *first_offset)
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

/* Megabytes: not before there is a kernel frame to name, and not twice. */
static void load_kallsyms(struct agent *a)
{
    a->kernel_asked = true;
    int rc = kallsyms_new(&a->kernel, "/proc/kallsyms");
    if (rc)
        log_warn("kernel functions have no names: /proc/kallsyms: %s", strerror(-rc));
    else if (kallsyms_hidden(a->kernel))
        log_warn("kernel functions have no names: addresses are hidden (kernel.kptr_restrict; CAP_SYSLOG is needed)");
}

static const char *name_kernel(void *ctx, u64 address, u64 *start, const char **module)
{
    struct agent *a = ctx;
    struct kallsym found;
    if (!a->kernel_asked)
        load_kallsyms(a);
    if (!a->kernel || !kallsyms_find(a->kernel, address, &found))
        return NULL;
    *start = found.start;
    *module = found.module;
    return found.name;
}

static int name_anonymous(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t n,
                          void (*use)(void *arg, const struct names *names), void *arg)
{
    const struct agent *a = ctx;
    return jit_maps_names(a->jit, tgid, start, addresses, n, use, arg);
}

int agent_name(struct agent *a, const struct span *s, struct profile *out)
{
    struct name_source source = {
        .ctx = a,
        .file = name_file,
        .names = name_offsets,
        .address = file_offset_as_address,
        .kernel = name_kernel,
        .anonymous = name_anonymous,
    };
    if (a->config.raw) {
        source.raw = true;
        source.names = NULL;
        source.address = link_time_address;
        source.segment = segment;
    }
    out->nevents = a->config.probe.nevents;
    for (size_t i = 0; i < out->nevents; i++) {
        out->events[i] = a->config.events[i];
        out->period[i] = a->config.events[i]->time ? 1000000000ull / agent_rate(a) : 1;
    }
    out->time_ns = s->time_ns;
    out->duration_ns = s->duration_ns;
    return symbolize(s->stacks, &source, out);
}

int agent_profile(struct agent *a, struct profile *out)
{
    struct span s = {.stacks = a->live, .duration_ns = a->stopped_ns - a->started_ns};
    s.time_ns = clock_ns(CLOCK_REALTIME) - (now_ns() - a->started_ns);
    return agent_name(a, &s, out);
}
