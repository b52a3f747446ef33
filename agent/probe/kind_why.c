/* What to say when a kind of event cannot be counted here, or not all of it. */
#include "probe/denied.h"
#include "probe/kinds.h"
#include "probe/places.h"
#include "probe/probe_internal.h"
#include <errno.h>

static int explain_perf(const struct probe_event *event, char *why, size_t len)
{
    return probe_why(-EPERM, why, len,
                     "%s: the kernel lets only CAP_SYS_ADMIN probe functions by perf events: without it, that takes "
                     "uprobe_multi links (Linux 6.6)",
                     event->how == PROBE_LOCK ? "locks of Go" : event->object);
}

/* Whether it is for places that are found in files later. */
static bool is_mapped(const struct probe_event *event)
{
    return event->allocators || event->how == PROBE_LOCK || (event->places && event->places->file);
}

/* Of places that are known from the start. Returns false: it is about something else. */
static bool explain_places(int rc, const struct probe_event *event, char *why, size_t len)
{
    const struct probe_places *places = event->places;
    const char *name = event->object;
    if (rc == -E2BIG)
        probe_why(rc, why, len,
                  "%s: of %zu places, %d can be probed at once on this kernel, which has no %s: "
                  "give a narrower pattern",
                  name, places->n, PLACES_PERF_MOST,
                  places->kernel ? "kprobe_multi links (Linux 5.18)" : "uprobe_multi links (Linux 6.6)");
    else if (rc == -EPERM && !places->kernel)
        explain_perf(event, why, len);
    else if (rc == -EDOM)
        probe_why(rc, why, len,
                  "%s: an argument that --filter or --value is about is not at one place at all sites "
                  "of the probe, which takes Linux 5.15",
                  name);
    else if (rc == -ENODEV)
        probe_why(rc, why, len, "%s: this kernel has neither links to many places nor perf events of them (%s)", name,
                  places->kernel ? "CONFIG_KPROBE_EVENTS" : "CONFIG_UPROBE_EVENTS");
    else if (places->kernel ? rc == -EINVAL || places_is_of_instruction(rc) : places_is_of_instruction(rc))
        probe_why(rc, why, len,
                  places->kernel ? "the kernel allows no probe of these functions"
                                 : "the kernel does not probe the instruction there: +OFFSET names one behind it");
    else
        return false;
    return true;
}

int kind_explain(int rc, const struct probe_event *event, char *why, size_t len)
{
    const char *name = event->object, *since = event->since ? event->since : "";
    if (event->symbol && (rc == -EINVAL || rc == -EILSEQ || rc == -EADDRNOTAVAIL || rc == -ENOENT))
        return probe_why(rc, why, len,
                         "%s:%s: the kernel allows no probe there: no instruction begins there, or it is "
                         "needed for probes themselves",
                         name, event->symbol->name);
    if (event->places && !event->places->file && explain_places(rc, event, why, len))
        return rc;
    if (rc == -EPERM && is_mapped(event) && probe_links_here(false) != PROBE_LINKS_MULTI)
        return explain_perf(event, why, len);
    if (denied_explains(rc, DENIED_BPF, why, len))
        return rc;
    if (rc == -ENOTSUP && event->how == PROBE_LOCK)
        return probe_why(rc, why, len, "the event lock has no locks of Go: that takes Linux 5.15 or later");
    if (rc == -ENOTSUP)
        return probe_why(rc, why, len, "%s: needs probes that know their place%s%s", name, since[0] ? ": Linux " : "",
                         since);
    if (rc == -ESRCH || rc == -ENOENT)
        return probe_why(rc, why, len, "%s: this kernel has not all the tracepoints that it needs%s%s", name,
                         since[0] ? ": Linux " : "", since);
    return probe_why(rc, why, len, "%s: the kernel rejected its eBPF programs (%s)%s%s: run `xprof check`", name,
                     denied_rejection(rc), since[0] ? "; it needs Linux " : "", since);
}

/* Functions of the kernel, some of which it does not let us probe. */
static void say_of_kernel(const struct probe_places *places, size_t refused, char *why, size_t len)
{
    if (refused + places->left_out)
        snprintf(why, len, "%zu of %zu functions are not probed: the kernel refuses them", refused + places->left_out,
                 places->n + places->left_out);
}

/* Those of files, some of which a probe would harm. */
static void say_of_files(const struct probe_places *places, size_t refused, char *why, size_t len)
{
    const char *some = places->harmed ? "some" : "their";
    if (!(refused || places->harmed))
        return;
    int n =
        snprintf(why, len, "%zu of %zu places are not probed: ", refused + places->harmed, places->n + places->harmed);
    if (refused)
        n += snprintf(why + n, len - (size_t)n, "the kernel refuses %s instructions%s", some,
                      places->harmed ? ", and " : "");
    if (places->harmed)
        snprintf(why + n, len - (size_t)n, "%zu do not return as other functions do", places->harmed);
}

void kind_say_refused(const struct probe_event *event, size_t refused, char *why, size_t len)
{
    if (event->places && !why[0])
        (event->places->kernel ? say_of_kernel : say_of_files)(event->places, refused, why, len);
}
