/* Labels that kinds of events have on request: what their events were about. */
#include "events/events.h"
#include <string.h>

bool event_has_tag(const struct event_kind *kind, const char *label)
{
    return kind->tag && !strcmp(kind->tag, label);
}

const struct event_kind *event_kind_with_tag(const char *label)
{
    size_t n;
    const struct event_kind *kinds = event_kinds(&n);
    for (size_t k = 0; k < n; k++)
        if (event_has_tag(&kinds[k], label))
            return &kinds[k];
    return NULL;
}

bool event_is_tag(const char *name)
{
    return event_kind_with_tag(name);
}

const char *event_tag(size_t i)
{
    size_t n;
    const struct event_kind *kinds = event_kinds(&n);
    for (size_t k = 0; k < n; k++)
        if (kinds[k].tag && event_kind_with_tag(kinds[k].tag) == &kinds[k] && !i--)
            return kinds[k].tag;
    return NULL;
}

void events_tag(const char *const *labels, size_t count, const struct event_kind *const *kinds,
                struct probe_event *probes, size_t n)
{
    for (size_t l = 0; l < count; l++)
        for (size_t i = 0; i < n; i++)
            probes[i].tagged |= event_has_tag(kinds[i], labels[l]);
}
