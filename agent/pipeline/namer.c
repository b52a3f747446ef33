#include "pipeline/namer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/turns.h"
#include "debug/line_indexes.h"
#include "debug/name_indexes.h"
#include "generated/generated.h"
#include "parser/parser.h"
#include "pipeline/askers.h"
#include "pipeline/private_names.h"
#include "cache/kernel_names.h"
#include "profile/name_cache.h"
#include "profile/symbolize.h"
#include "runtime/processes.h"
#include <errno.h>
#include <string.h>

#define NAME_CACHE_BYTES ((size_t)6 << 20)
#define MIN_TURNS_NS     NS_PER_SEC
#define ROOT_AGE_NS      (15 * NS_PER_SEC) /* of roots that are held for files which nobody named: so long at least */

struct namer {
    struct namer_config config;
    struct kernel_names *kernel; /* NULL: not needed yet, or not to be had */
    bool kernel_asked;
    struct debug_search_paths places;
    struct line_indexes *lines;
    struct name_indexes *names;
    struct private_names *privates;
    struct turns line_turns, name_turns; /* the time of an interval for indexes of lines, and for looking up names */
    struct askers askers;                /* while an interval is symbolized */
    u64 cut_names, late_names;
    u64 left_out, left_out_ns; /* waits for what is no lock */
    u64 idle, idle_ns;         /* waits of idle threads */
    struct {                   /* what the parser said of the file asked for last */
        u32 id;
        bool known;
        struct facts facts;
    } segments;
    struct runtime_processes *processes; /* whose runtimes make code */
    struct name_cache *kept;             /* from interval to interval; NULL: there is only one */
};

int namer_new(struct namer **out, const struct namer_config *config)
{
    CLEANUP(namer_free) struct namer *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->config = *config;
    n->places.host = -1;
    struct debug_sources sources = config->debug;
    sources.patient = !config->again; /* who goes on asks again */
    debug_search_paths_open(&n->places, &sources, config->parser, config->opener, config->hung);
    if (line_indexes_new(&n->lines, &n->places, config->cache) ||
        private_names_new(&n->privates, config->files, n->lines, &n->line_turns, config->again) ||
        name_indexes_new(&n->names, config->parser, config->cache) ||
        runtime_processes_new(&n->processes,
                              (struct runtime_reader){config->parser, parser_jit_read, config->opener}) ||
        (config->again && name_cache_new(&n->kept, NAME_CACHE_BYTES)))
        return -ENOMEM;
    *out = TAKE_PTR(n);
    return 0;
}

void namer_free(struct namer **nn)
{
    struct namer *n = *nn;
    if (!n)
        return;
    kernel_names_free(&n->kernel);
    name_cache_free(&n->kept);
    runtime_processes_free(&n->processes);
    private_names_free(&n->privates);
    line_indexes_free(&n->lines);
    name_indexes_free(&n->names);
    debug_search_paths_close(&n->places);
    askers_free(&n->askers);
    turns_free(&n->line_turns);
    turns_free(&n->name_turns);
    free(n);
    *nn = NULL;
}

/* ---- Files ---- */

static bool name_file(void *ctx, u32 id, const char **path, const char **build_id)
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
static int name_offsets(void *ctx, u32 id, const u64 *offsets, size_t count,
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

static u64 file_offset_as_address(void *ctx, u32 id, u64 offset)
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

/* ---- The kernel, and code of no file ---- */

/* Megabytes: not before there is a kernel frame to name, and not twice. */
static void load_kernel_names(struct namer *n)
{
    n->kernel_asked = true;
    int rc = kernel_names_open(&n->kernel, n->config.cache);
    if (rc)
        log_warn("kernel functions have no names: /proc/kallsyms: %s", strerror(-rc));
    else if (kernel_names_hidden(n->kernel))
        log_warn("kernel functions have no names: addresses are hidden (kernel.kptr_restrict; CAP_SYSLOG is needed)");
    else if ((rc = kernel_names_keep(n->kernel)))
        log_info("the index of kernel symbols was not stored: %s", strerror(-rc));
}

static const char *name_kernel(void *ctx, u64 address, u64 *start, const char **module)
{
    struct namer *n = ctx;
    struct kallsym found;
    if (!n->kernel_asked)
        load_kernel_names(n);
    if (!n->kernel || !kernel_names_find(n->kernel, address, &found))
        return NULL;
    *start = found.start;
    *module = found.module;
    return found.name;
}

static int name_anonymous(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t count,
                          void (*use)(void *arg, const struct names *names), void *arg)
{
    const struct namer *n = ctx;
    return runtime_processes_names(n->processes, tgid, start, addresses, count, use, arg);
}

void namer_add_process(struct namer *n, struct runtime_process *p)
{
    runtime_processes_add(n->processes, p);
}

void namer_add_code(struct namer *n, const struct code_job *job, const struct generated *code)
{
    if (code->text_len)
        runtime_processes_add_symbols(n->processes, job->tgid, job->start, job->cgroup, code->text, code->text_len);
}

/* ---- An interval ---- */

static u32 names_id(void *ctx, u32 file, const struct agg_process *who)
{
    const struct namer *n = ctx;
    return private_names_id(n->privates, file, who);
}

/* Files of those come first who used less time before this interval. */
static u64 rank(void *ctx, u32 file)
{
    const struct namer *n = ctx;
    return turns_spent(&n->name_turns, askers_payer(&n->askers, file));
}

/* Divides the time that an interval's names may take among containers, and looks for debug information in that order,
 * so that those who used more of it before come last. A recording has all the time. */
static int take_turns(struct namer *n, const struct span *s)
{
    u64 quarter = s->duration_ns / 4 > MIN_TURNS_NS ? s->duration_ns / 4 : MIN_TURNS_NS;
    if (!n->kept || n->config.raw)
        return 0;
    turns_begin(&n->line_turns, quarter);
    turns_begin(&n->name_turns, quarter / 2);
    int rc = askers_find(&n->askers, s->stacks, &n->line_turns);
    for (size_t i = 0; i < n->askers.all.n; i++) {
        const struct asker *a = &n->askers.all.v[i];
        private_names_id(n->privates, a->file, &n->askers.processes[a->process]);
    }
    return rc;
}

int namer_run(struct namer *n, const struct span *s, struct profile *out)
{
    struct name_source source = {
        .ctx = n,
        .file = name_file,
        .names_id = names_id,
        .rank = n->kept ? rank : NULL,
        .names = name_offsets,
        .address = file_offset_as_address,
        .kernel = name_kernel,
        .anonymous = name_anonymous,
        .hide_idle = n->config.hide_idle,
    };
    if (n->config.raw) {
        source.raw = true;
        source.names = NULL;
        source.names_id = NULL;
        source.address = link_time_address;
        source.segment = segment;
    }
    private_names_begin(n->privates);
    int rc = take_turns(n, s);
    if (rc)
        return rc;
    out->nevents = n->config.nevents;
    for (size_t i = 0; i < out->nevents; i++) {
        out->events[i] = n->config.events[i];
        out->period[i] = event_period(n->config.events[i], s->hz, n->config.heap_period);
    }
    out->time_ns = s->time_ns;
    out->duration_ns = s->duration_ns;
    rc = symbolize(s->stacks, &source, out);
    n->left_out += out->left_out.count;
    n->left_out_ns += out->left_out.value;
    n->idle += out->idle.count;
    n->idle_ns += out->idle.value;
    askers_free(&n->askers);
    return rc;
}

/* A file that came at the start of an interval is named after its end. */
void namer_age(struct namer *n, u64 interval_ns)
{
    size_t left;
    const struct xp_file_key *keys = files_left(n->config.files, &left);
    u64 root_age = interval_ns + interval_ns / 2;
    for (size_t i = 0; i < left; i++) {
        line_indexes_forget(n->lines, &keys[i]);
        name_indexes_forget(n->names, &keys[i]);
    }
    runtime_processes_age(n->processes);
    if (n->kept)
        name_cache_age(n->kept);
    line_indexes_release(n->lines, root_age > ROOT_AGE_NS ? root_age : ROOT_AGE_NS);
}

void namer_count(const struct namer *n, struct worker_figures *out)
{
    out->lines = line_indexes_stats(n->lines);
    out->names = name_indexes_stats(n->names);
    out->cut_names = n->cut_names;
    out->late_names = n->late_names;
    out->left_out = n->left_out;
    out->left_out_ns = n->left_out_ns;
    out->idle = n->idle;
    out->idle_ns = n->idle_ns;
    out->late_lines = private_names_late(n->privates);
    if (n->places.server)
        debuginfod_stats(n->places.server, &out->server);
}
