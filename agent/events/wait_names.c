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

/* The number of a name in a list; that of the first one for NULL and for unknown names. */
static size_t number_of(const char *list(size_t i), const char *name)
{
    const char *known;
    for (size_t i = 0; name && (known = list(i)); i++)
        if (!strcmp(known, name))
            return i;
    return 0;
}

enum probe_wait_stacks event_wait_stacks_of(const char *name)
{
    return (enum probe_wait_stacks)number_of(event_wait_stacks, name);
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
    return (enum probe_links)number_of(event_probe_links, name);
}
