#include "probe/records.h"
#include <string.h>

bool record_dispatch(const struct probe_handlers *h, const void *data, size_t len)
{
    u32 type;
    if (len < sizeof(type))
        return false;
    memcpy(&type, data, sizeof(type));
    if (type == XP_RECORD_SAMPLE && len >= sizeof(struct xp_sample))
        h->sample(h->ctx, data, len);
    else if (type == XP_RECORD_STACK && len >= sizeof(struct xp_sample))
        h->stack(h->ctx, data, len);
    else if (type == XP_RECORD_FILE && len >= sizeof(struct xp_file_event))
        h->file(h->ctx, data);
    else if (type == XP_RECORD_DUMP && len >= sizeof(struct xp_dump))
        h->dump(h->ctx, data);
    else if (type == XP_RECORD_MAPPED && len >= sizeof(struct xp_mapped_event) && h->mapped)
        h->mapped(h->ctx, data);
    else if (type == XP_RECORD_TAG && len >= sizeof(struct xp_tag_event) && h->tag)
        h->tag(h->ctx, data);
    else if (type == XP_RECORD_CODE && len >= sizeof(struct xp_code_event) && h->code)
        h->code(h->ctx, data);
    else if (type == XP_RECORD_CGROUP && len >= sizeof(struct xp_cgroup_event))
        h->cgroup(h->ctx, data);
    else
        return false;
    return true;
}
