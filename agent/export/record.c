#include "export/record.h"
#include "base/cursor.h"
#include "base/gz.h"
#include <errno.h>

static void add_string(struct buf *out, const char *s)
{
    buf_add(out, s, strlen(s) + 1);
}

int record_encode(const struct export_item *item, struct buf *out)
{
    u64 facts[] = {item->time_ns, item->duration_ns, item->len};
    if (item->nlabels > EXPORT_MAX_LABELS || item->len > EXPORT_MAX_PPROF)
        return -E2BIG;
    buf_char(out, (char)item->nlabels);
    for (size_t i = 0; i < item->nlabels; i++) {
        add_string(out, item->labels[i].name);
        add_string(out, item->labels[i].value);
    }
    add_string(out, item->type);
    buf_add(out, facts, sizeof(facts));
    int rc = gz_compress(item->pprof, item->len, 1, out);
    return out->failed ? -ENOMEM : rc;
}

int record_decode(const void *data, size_t len, struct export_profile *out)
{
    struct cursor c = cursor_of(data, len);
    struct export_profile p = {.nlabels = cursor_u8(&c)};
    if (p.nlabels > EXPORT_MAX_LABELS)
        return -EBADMSG;
    for (size_t i = 0; i < p.nlabels; i++) {
        p.labels[i].name = cursor_str(&c);
        p.labels[i].value = cursor_str(&c);
    }
    p.type = cursor_str(&c);
    p.time_ns = cursor_u64(&c);
    p.duration_ns = cursor_u64(&c);
    p.raw_len = cursor_u64(&c);
    p.gz_len = cursor_left(&c);
    p.gz = cursor_take(&c, p.gz_len);
    if (c.bad)
        return -EBADMSG;
    *out = p;
    return 0;
}

const char *record_label(const struct export_profile *p, const char *name)
{
    for (size_t i = 0; i < p->nlabels; i++)
        if (strcmp(p->labels[i].name, name) == 0)
            return p->labels[i].value;
    return NULL;
}
