/* Names of what can be chosen for events of waits, and for probes. */
#include "events/events.h"
#include <string.h>

const char *event_hideable(size_t i)
{
    return i ? NULL : "idle";
}

const char *event_wait_stacks(size_t i)
{
    static const char *const names[] = {
        [PROBE_STACKS_AUTO] = "auto",
        [PROBE_STACKS_SWITCH] = "switch",
        [PROBE_STACKS_TASK_WORK] = "task-work",
        [PROBE_STACKS_FINISH] = "finish",
    };
    return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

enum probe_wait_stacks event_wait_stacks_of(const char *name)
{
    const char *known;
    for (size_t i = 0; name && (known = event_wait_stacks(i)); i++)
        if (!strcmp(known, name))
            return (enum probe_wait_stacks)i;
    return PROBE_STACKS_AUTO;
}

const char *event_probe_links(size_t i)
{
    static const char *const names[] = {
        [PROBE_LINKS_AUTO] = "auto",
        [PROBE_LINKS_MULTI] = "multi",
        [PROBE_LINKS_PERF] = "perf",
        [PROBE_LINKS_PLAIN] = "plain",
    };
    return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

enum probe_links event_probe_links_of(const char *name)
{
    const char *known;
    for (size_t i = 0; name && (known = event_probe_links(i)); i++)
        if (!strcmp(known, name))
            return (enum probe_links)i;
    return PROBE_LINKS_AUTO;
}
