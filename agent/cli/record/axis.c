#include "cli/record/axis.h"
#include "base/cleanup.h"
#include "base/log.h"
#include <errno.h>
#include <string.h>

static bool is_axis(const char *name)
{
    return !strcmp(name, RECORD_TIMELINE);
}

bool axis_is_wanted(const struct record_options *o)
{
    for (size_t i = 0; i < o->events.n; i++)
        if (is_axis(o->events.v[i]))
            return true;
    return false;
}

size_t axis_others(const struct record_options *o, const char *names[XP_MAX_EVENTS + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < o->events.n && n < XP_MAX_EVENTS; i++)
        if (!is_axis(o->events.v[i]))
            names[n++] = o->events.v[i];
    return n;
}

int axis_check(const struct record_options *o, const struct outputs *outputs, char *why, size_t len)
{
    const char *others[XP_MAX_EVENTS + 1];
    size_t n = axis_others(o, others), mine = 0;
    const char *profile = NULL;
    for (size_t i = 0; i < outputs->n; i++) {
        mine += !outputs->v[i].encoder;
        profile = outputs->v[i].encoder ? outputs->v[i].path : profile;
    }
    if (!mine)
        snprintf(why, len, "-e timeline: give -o FILE.json (Perfetto) or -o FILE.gecko.json (Firefox Profiler)");
    else if (profile && !n)
        snprintf(why, len, "-o %s: a timeline has no profile: give another event, too, such as -e timeline,cpu",
                 profile);
    else
        return 0;
    return -EINVAL;
}

int axis_new(struct timeline **out, const struct record_options *o, const struct probe_config *probe, char *why,
             size_t len)
{
    const struct timeline_config config = {
        .pids = probe->target == XP_TARGET_PIDS ? probe->pids : NULL,
        .npids = probe->npids,
        .cgroup = probe->target == XP_TARGET_CGROUP ? probe->cgroup : 0,
        .cgroup_subsys = probe->cgroup_subsys,
        .bytes = o->timeline_memory,
    };
    return timeline_new(out, &config, why, len);
}

#define BROWSER_MOST 536870888 /* bytes: what is read of a file is one text, and V8's have so many characters */

/* Browsers read no more. */
static void warn_of_size(const struct output *o, u64 bytes)
{
    if (o->timeline == TIMELINE_FIREFOX && bytes > BROWSER_MOST)
        log_warn(
            "%s has %.0f MB, and the Firefox Profiler reads up to %.0f MB: record for a shorter time, or with less "
            "--timeline-memory",
            o->path, (double)bytes / 1e6, BROWSER_MOST / 1e6);
}

static int write_one(struct timeline *t, struct output *o, struct profile *p)
{
    struct output_file file;
    int rc = output_begin(o->path, o->gz, &file);
    if (!rc)
        rc = output_end(&file, timeline_write(t, o->timeline, p, (struct timeline_sink){output_add, &file}));
    if (rc)
        log_error("%s was not written: %s", o->path, strerror(-rc));
    else
        warn_of_size(o, file.bytes);
    o->written = !rc;
    return rc;
}

int axis_write(struct timeline *t, struct outputs *outputs, struct profile *p)
{
    int first = 0;
    for (size_t i = 0; i < outputs->n; i++) {
        int rc = outputs->v[i].encoder ? 0 : write_one(t, &outputs->v[i], p);
        first = first ? first : rc;
    }
    return first;
}

void axis_progress(const struct timeline *t, struct progress *out)
{
    struct timeline_report r;
    timeline_report(t, &r);
    out->switches = r.switches;
    out->lost = r.lost;
}

void axis_text(const struct timeline *t, struct buf *out)
{
    struct timeline_report r;
    timeline_report(t, &r);
    buf_printf(out, "timeline: %.1f s, %llu switches and %llu wake-ups of %u threads, %.1f MB\n", r.seconds,
               (unsigned long long)r.switches, (unsigned long long)r.wakeups, r.threads, (double)r.bytes / 1e6);
    if (r.dropped)
        buf_printf(out, "timeline: the oldest %llu events had to go (--timeline-memory): it begins later\n",
                   (unsigned long long)r.dropped);
    if (r.lost)
        buf_printf(out, "timeline: %llu events were lost: they came faster than they could be read\n",
                   (unsigned long long)r.lost);
    if (r.left_out)
        buf_printf(out, "timeline: %llu events are of threads for which there was no memory (--timeline-memory)\n",
                   (unsigned long long)r.left_out);
}

void axis_json(const struct timeline *t, struct buf *out)
{
    struct timeline_report r;
    timeline_report(t, &r);
    buf_printf(out,
               "\"timeline\":{\"seconds\":%.6f,\"switches\":%llu,\"wakeups\":%llu,\"threads\":%u,\"bytes\":%llu,"
               "\"dropped\":%llu,\"lost\":%llu,\"left_out\":%llu},",
               r.seconds, (unsigned long long)r.switches, (unsigned long long)r.wakeups, r.threads,
               (unsigned long long)r.bytes, (unsigned long long)r.dropped, (unsigned long long)r.lost,
               (unsigned long long)r.left_out);
}
