#include "pipeline/namer_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "generated/generated.h"
#include "parser/parser.h"
#include "cache/kernel_names.h"
#include "profile/symbolize.h"
#include "runtime/processes.h"
#include <errno.h>
#include <string.h>

#define NAME_CACHE_BYTES ((size_t)6 << 20)
#define MIN_TURNS_NS     NS_PER_SEC
#define ROOT_AGE_NS      (15 * NS_PER_SEC) /* of roots that are held for files which nobody named: so long at least */

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
        frame_names_new(&n->frames, config->neighbours) ||
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
    frame_names_free(&n->frames);
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

static int name_runtime(void *ctx, u32 tgid, u64 start, const u64 *words, size_t count,
                        void (*use)(void *arg, const struct names *names), void *arg)
{
    struct namer *n = ctx;
    return frame_names_answer(n->frames, tgid, start, words, count, use, arg);
}

void namer_add_frames(struct namer *n, const struct names_job *job)
{
    struct names view;
    for (size_t i = 0; i < job->ncodes; i++)
        frame_names_code(n->frames, &job->codes[i]);
    if (!names_view(job->reply.data, job->reply.len, job->n, &view)) /* as answer_check has found */
        frame_names_add(n->frames, job->tgid, job->start, job->cgroup, job->words, job->n, &view);
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
        .file = namer_file,
        .names_id = names_id,
        .rank = n->kept ? rank : NULL,
        .names = namer_offsets,
        .address = namer_plain_address,
        .kernel = name_kernel,
        .anonymous = name_anonymous,
        .runtime = name_runtime,
        .hide_idle = n->config.hide_idle,
    };
    if (n->config.raw) {
        source.raw = true;
        source.names = NULL;
        source.names_id = NULL;
        source.address = namer_linked_address;
        source.segment = namer_segment;
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
    frame_names_age(n->frames);
    if (n->kept)
        name_cache_age(n->kept);
    line_indexes_release(n->lines, root_age > ROOT_AGE_NS ? root_age : ROOT_AGE_NS);
}

void namer_count(const struct namer *n, struct worker_figures *out)
{
    out->lines = line_indexes_stats(n->lines);
    out->names = name_indexes_stats(n->names);
    out->runtime.frames = frame_names_stats(n->frames);
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
