/* Labels that kinds of events have on request: what their events were about. */
#include "events/events.h"
#include <string.h>

/* Whether an earlier kind has the label of this one. */
static bool repeats(const struct event_kind *kinds, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (kinds[i].tag && !strcmp(kinds[i].tag, kinds[k].tag))
            return true;
    return false;
}

const char *event_tag(size_t i)
{
    size_t n;
    const struct event_kind *kinds = event_kinds(&n);
    for (size_t k = 0; k < n; k++)
        if (kinds[k].tag && !repeats(kinds, k) && !i--)
            return kinds[k].tag;
    return NULL;
}

const struct event_kind *event_kind_with_tag(const char *label)
{
    size_t n;
    const struct event_kind *kinds = event_kinds(&n);
    for (size_t k = 0; k < n; k++)
        if (kinds[k].tag && !strcmp(kinds[k].tag, label))
            return &kinds[k];
    return NULL;
}

bool event_is_tag(const char *name)
{
    return event_kind_with_tag(name);
}

void events_tag(const char *const *labels, size_t count, const struct event_kind *const *kinds,
                struct probe_event *probes, size_t n)
{
    for (size_t l = 0; l < count; l++)
        for (size_t i = 0; i < n; i++)
            probes[i].tagged |= kinds[i]->tag && !strcmp(kinds[i]->tag, labels[l]);
}
