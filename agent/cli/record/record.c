/* xprof record: one recording, from options to files. */
#include "cli/record/record.h"
#include "cli/record/axis.h"
#include "cli/record/comments.h"
#include "cli/record/functions.h"
#include "cli/record/nothing.h"
#include "cli/record/output.h"
#include "cli/record/program.h"
#include "cli/record/record_options.h"
#include "cli/record/summary.h"
#include "cli/record/target.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "events/made.h"
#include "profile/ahead.h"
#include "profile/runtime_only.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#define POLL_MS         100
#define PREPARE_MS      1500
#define CACHE_BYTES     ((size_t)1 << 30)
#define AGGREGATE_BYTES ((size_t)1 << 30)
#define DEFAULT_TOP     20

struct recording {
    struct record_options options;
    struct pipeline_config config;
    struct target target;
    struct outputs outputs;
    struct event_made made; /* events of tracepoints and functions */
    struct program_probed probed;
    struct pipeline *agent;
    struct timeline *timeline; /* NULL: nobody wants one */
    int signals;               /* signalfd */
    int command_end;           /* wait status of the COMMAND; valid once `ended` */
    bool ended;
    char why[512];
};

static void recording_free(struct recording *r)
{
    pipeline_free(&r->agent);
    timeline_free(&r->timeline);
    record_target_free(&r->target);
    outputs_free(&r->outputs);
    event_made_free(&r->made);
    record_options_free(&r->options);
    xp_cleanup_close(&r->signals);
}

/* Signals are read, not handled: before any thread starts, so that all of them inherit the mask. SIGINT counts also
 * where it is ignored: shells that run a script ignore it in what they start with `&`, and `kill -INT` is to end that,
 * too. */
static int open_signals(void)
{
    struct sigaction old;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN) /* nohup */
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static const struct event_kind *make_event(void *ctx, const char *name)
{
    struct recording *r = ctx;
    const struct record_options *o = &r->options;
    struct event_choice choice = {
        .condition = o->filter,
        .value = o->value,
        .period = o->period,
        .find = record_find_function,
        .find_usdt = record_find_usdt,
        .ctx = &r->options,
    };
    return event_make(&r->made, name, &choice, r->why, sizeof(r->why));
}

static int add_events(struct recording *r)
{
    const struct record_options *o = &r->options;
    struct pipeline_config *c = &r->config;
    const char *names[XP_MAX_EVENTS + 1];
    struct events_wanted wanted = {
        .names = names,
        .n = axis_others(o, names),
        .hz = (unsigned)o->frequency,
        .find = make_event,
        .ctx = r,
    };
    int rc = events_choose(&wanted, c->events, c->probe.events, &c->probe.nevents);
    for (size_t e = 0; e < c->probe.nevents && o->leaks; e++)
        if (c->probe.events[e].levels == PROBE_LEVELS_HELD)
            c->events[e] = event_kind_leaks();
    events_tag((const char *const *)o->labels.v, o->labels.n, c->events, c->probe.events, c->probe.nevents);
    if (rc && !r->why[0])
        snprintf(r->why, sizeof(r->why), "-e %s: %s", names[c->probe.nevents],
                 rc == -EEXIST  ? "this event is listed twice"
                 : rc == -E2BIG ? "too many events"
                                : "there is no such event");
    return rc ? -EINVAL : 0;
}

static int configure(struct recording *r, char *cache, size_t len)
{
    const struct record_options *o = &r->options;
    struct pipeline_config *c = &r->config;
    c->cache_dir = o->no_cache ? NULL : o->cache_dir ? o->cache_dir : output_cache_dir(cache, len);
    c->cache_bytes = CACHE_BYTES;
    c->debug.dirs = (const char *const *)o->debug_dirs.v;
    c->debug.ndirs = o->debug_dirs.n;
    c->debug.urls = (const char *const *)o->debuginfod_urls.v;
    c->debug.nurls = o->debuginfod_urls.n;
    c->debug.more_urls = getenv("DEBUGINFOD_URLS");
    c->short_names = o->short_names;
    c->hide_idle = o->offcpu_hide;
    c->aggregate_bytes = AGGREGATE_BYTES;
    c->prepare_ms = PREPARE_MS;
    c->raw = o->raw;
    c->no_synth = !o->synth;
    c->probe.kernel = !o->no_kernel;
    c->probe.user = !o->no_user;
    c->probe.thread_names = o->threads;
    c->probe.thread_labels = true;
    c->probe.kernel_threads = o->kernel_threads;
    c->probe.wait_min_ns = o->offcpu_min;
    c->probe.wait_stacks = event_wait_stacks_of(o->wait_stacks);
    c->probe.links = event_probe_links_of(o->probe_links);
    c->probe.heap_period = o->memory_exact ? 1 : o->memory_period;
    c->heap_old_ns = o->older_than;
    c->heap_cost = o->memory_exact ? 0 : (unsigned)o->memory_max_cost;
    c->probe.max_cost = (unsigned)o->max_cost;
    c->probe.heap_hold = o->command != NULL;
    c->probe.measure = c->probe.run_time = o->summary || o->verbose;
    c->probe.table_bytes = o->table_memory;
    int rc = add_events(r);
    for (size_t i = 0; i < c->probe.nevents && o->capped; i++)
        c->probe.events[i].max_cost = 0;
    if (!rc)
        rc = outputs_open(&r->outputs, &o->outputs, o->format, axis_is_wanted(o), r->why, sizeof(r->why));
    if (!rc && axis_is_wanted(o))
        rc = axis_check(o, &r->outputs, r->why, sizeof(r->why));
    c->probe.user &= c->probe.nevents != 0;
    c->times = axis_is_wanted(o);
    c->probe.thread_ids = o->raw; /* what is made of it later may want them */
    for (size_t i = 0; i < r->outputs.n && !rc; i++)
        c->probe.thread_ids |= r->outputs.v[i].encoder && r->outputs.v[i].encoder->threads;
    if (!rc && o->summary && (rc = output_writable(o->summary)))
        snprintf(r->why, sizeof(r->why), "--summary %s: cannot be written: %s", o->summary, strerror(-rc));
    return rc;
}

/* A signal asks for the end. */
static bool interrupted(const struct recording *r)
{
    struct signalfd_siginfo info;
    return read(r->signals, &info, sizeof(info)) == sizeof(info);
}

/* The COMMAND or all -p processes are gone. */
static bool target_ended(struct recording *r)
{
    struct target *t = &r->target;
    if (!t->command)
        return r->config.probe.target == XP_TARGET_PIDS && record_target_gone(t);
    if (waitpid(t->command, &r->command_end, WNOHANG) != t->command)
        return false;
    t->command = 0;
    return r->ended = true;
}

static void show_progress(struct recording *r, u64 began, u64 end)
{
    AUTO_BUF struct buf line = {0};
    struct progress p = {0};
    pipeline_progress(r->agent, &p.samples, &p.lost, &p.user, &p.complete);
    p.only_timeline = r->timeline && !r->config.probe.nevents;
    if (p.only_timeline)
        axis_progress(r->timeline, &p);
    summary_progress(&p, began, now_ns(), end, &line);
    fprintf(stderr, "\r\033[K%s", line.data ? line.data : "");
    fflush(stderr);
}

static void sample(struct recording *r)
{
    bool terminal = isatty(STDERR_FILENO);
    u64 began = now_ns(), shown = began, end = r->options.duration_ns ? began + r->options.duration_ns : 0;
    for (u64 now = began; !end || now < end; now = now_ns()) {
        u64 left_ms = end ? (end - now) / 1000000 + 1 : POLL_MS;
        pipeline_poll(r->agent, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
        int rc = r->timeline ? timeline_poll(r->timeline) : 0;
        if (rc) {
            log_error("the recording ends here: the timeline cannot be kept: %s", strerror(-rc));
            break;
        }
        if (interrupted(r) || target_ended(r))
            break;
        if (terminal && now - shown > NS_PER_SEC / 4 && (!end || now < end)) {
            show_progress(r, began, end);
            shown = now;
        }
    }
    if (terminal)
        fprintf(stderr, "\r\033[K");
}

/* A COMMAND that outlives the recording has been asked to end, and takes its time. Its status is ours, so it is waited
 * for; whoever loses patience (Ctrl-C) has it killed. */
static void await_command(struct recording *r)
{
    struct pollfd signals = {.fd = r->signals, .events = POLLIN};
    while (r->target.command && !target_ended(r))
        if (poll(&signals, 1, POLL_MS) > 0 && interrupted(r))
            kill(r->target.command, SIGKILL);
}

/* What a profile is of that did not see everything. */
static void add_shares(struct profile *p, const struct pipeline_report *report)
{
    AUTO_BUF struct buf lines = {0};
    summary_shares(report, &lines);
    for (char *rest = lines.data, *line; rest && (line = strsep(&rest, "\n"));) {
        u32 *c = line[0] ? VEC_PUSH(&p->comments) : NULL;
        if (c)
            *c = profile_string(p, line);
    }
}

static int print_top(const struct recording *r, const struct profile *p)
{
    AUTO_BUF struct buf table = {0};
    size_t rows = r->options.top ? r->options.top : r->outputs.n ? 0 : DEFAULT_TOP;
    if (!rows)
        return 0;
    int rc = encode_top(p, rows, &table);
    return rc ? rc : fs_write_all(STDOUT_FILENO, table.data ? table.data : "", table.len);
}

static int write_summary(const struct recording *r, const struct pipeline_report *report, u64 start_ns, double seconds)
{
    AUTO_BUF struct buf text = {0}, json = {0}, more = {0};
    if (report->nevents)
        summary_text(report, seconds, &text);
    if (r->timeline) {
        axis_text(r->timeline, &text);
        axis_json(r->timeline, &more);
    }
    summary_leaks(&report->heaps, r->config.heap_old_ns, &text);
    fputs(text.data ? text.data : "", stderr);
    if (!r->options.summary)
        return 0;
    summary_json(report, start_ns, seconds, more.data ? more.data : "", &json);
    int rc = output_write_file(r->options.summary, json.data, json.len);
    if (rc)
        log_error("--summary %s was not written: %s", r->options.summary, strerror(-rc));
    return rc;
}

static void explain_no_samples(struct recording *r, const struct pipeline_report *report)
{
    const struct record_options *o = &r->options;
    const char *cause = nothing_because(&r->config.probe);
    if (report->samples || !report->nevents || !o->pids.n || !cause || record_target_gone(&r->target))
        return;
    fprintf(stderr, "no samples: %s %s; `xprof stack %llu` shows what its threads do now\n",
            o->pids.n > 1 ? "these processes" : "this process", cause, (unsigned long long)o->pids.v[0]);
}

/* Names, writes, tells. 0, or 1 when something could not be written. */
static int finish(struct recording *r, int argc, char **argv)
{
    struct profile p;
    struct pipeline_report report;
    if (profile_init(&p))
        return 1;
    int rc = pipeline_profile(r->agent, &p);
    comments_add(&p, argc, argv);
    pipeline_figures(r->agent, &report);
    add_shares(&p, &report);
    if (r->options.runtime_only)
        profile_runtime_only(&p);
    u64 start_ns = p.time_ns;
    double seconds = (double)p.duration_ns / 1e9;
    int axis = r->timeline ? axis_write(r->timeline, &r->outputs, &p) : 0;
    profile_forget_times(&p);
    if (!rc)
        rc = outputs_write(&r->outputs, &p);
    int table = print_top(r, &p);
    AUTO_BUF struct buf advice = {0};
    ahead_advice(&p, &advice);
    profile_free(&p);
    pipeline_report(r->agent, &report);
    int summary = write_summary(r, &report, start_ns, seconds);
    fputs(advice.data ? advice.data : "", stderr);
    explain_no_samples(r, &report);
    outputs_report(&r->outputs, stderr);
    return rc || axis || table || summary;
}

static int exit_status(const struct recording *r)
{
    if (!r->ended)
        return 0;
    return WIFEXITED(r->command_end) ? WEXITSTATUS(r->command_end) : 128 + WTERMSIG(r->command_end);
}

/* Children that were born between the look at /proc and the attachment of the program that follows forks. */
static int add_newborn(struct recording *r)
{
    proc_pids *pids = &r->target.pids;
    size_t known = pids->n;
    int rc = r->options.pids.n ? proc_add_descendants(pids) : 0;
    for (size_t i = known; i < pids->n && !rc; i++)
        rc = pipeline_add_pid(r->agent, pids->v[i]);
    if (rc)
        snprintf(r->why, sizeof(r->why), "cannot follow the children of the processes: %s", strerror(-rc));
    return rc;
}

static int start_timeline(struct recording *r)
{
    int rc = axis_new(&r->timeline, &r->options, &r->config.probe, r->why, sizeof(r->why));
    return rc ? rc : timeline_start(r->timeline, r->why, sizeof(r->why));
}

static int start(struct recording *r)
{
    int rc = pipeline_new(&r->agent, &r->config, r->why, sizeof(r->why));
    if (!rc)
        rc = add_newborn(r);
    if (rc)
        return rc;
    if (r->config.probe.user)
        pipeline_prepare(r->agent);
    program_unmap_probed(&r->probed);
    if (axis_is_wanted(&r->options)) /* samples are to have their place on it */
        rc = start_timeline(r);
    if (!rc)
        rc = pipeline_start(r->agent, r->why, sizeof(r->why));
    if (rc)
        return rc;
    rc = record_target_release(&r->target);
    if (rc)
        snprintf(r->why, sizeof(r->why), "cannot run %s: %s", r->options.command[0], strerror(-rc));
    return rc;
}

static int record(struct recording *r, int argc, char **argv)
{
    char cache[512];
    int rc = configure(r, cache, sizeof(cache));
    r->signals = open_signals();
    program_map_probed(&r->config.probe, &r->probed); /* before the command is forked */
    if (!rc)
        rc = record_target_resolve(&r->target, &r->options, &r->config.probe, r->why, sizeof(r->why));
    bool usage = rc == -EINVAL; /* what was asked for makes no sense; later on it is the kernel that says so */
    if (!rc)
        rc = start(r);
    if (rc) {
        log_error("%s", r->why);
        return usage ? 2 : 1;
    }
    sample(r);
    if (r->timeline)
        timeline_stop(r->timeline);
    pipeline_stop(r->agent);
    if (r->target.command)
        kill(r->target.command, SIGTERM);
    rc = finish(r, argc, argv);
    await_command(r);
    return rc ? rc : exit_status(r);
}

int cli_record(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    struct recording r = {.signals = -1, .target = {.go = -1, .exec_error = -1}};
    int rc = record_options_parse(argc, argv, &r.options, &message);
    if (rc) {
        record_options_free(&r.options);
        return options_report(rc, &message);
    }
    log_set_level(r.options.verbose ? LOG_INFO : LOG_WARN);
    rc = record(&r, argc, argv);
    recording_free(&r);
    return rc;
}
