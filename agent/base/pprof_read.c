#include "base/pprof_read.h"
#include "base/vec.h"
#include <errno.h>

bool pb_next(struct cursor *c, struct pb_field *out)
{
    if (c->bad || !cursor_left(c))
        return false;
    uint64_t tag = cursor_uleb(c);
    struct pb_field f = {.number = (unsigned)(tag >> 3 & 0x1fffffff), .wire = tag & 7};
    switch (f.wire) {
    case PB_VARINT:
        f.value = cursor_uleb(c);
        break;
    case PB_FIXED64:
        f.value = cursor_u64(c);
        break;
    case PB_FIXED32:
        f.value = cursor_u32(c);
        break;
    case PB_BYTES:
        f.bytes = cursor_sub(c, cursor_uleb(c));
        break;
    default:
        c->bad = true;
    }
    if (c->bad || !f.number)
        c->bad = true;
    else
        *out = f;
    return !c->bad;
}

uint64_t pb_number(struct cursor message, unsigned number)
{
    uint64_t found = 0;
    for (struct pb_field f; pb_next(&message, &f);)
        if (f.number == number && f.wire != PB_BYTES)
            found = f.value;
    return found;
}

bool pb_repeated(struct pb_field *f, uint64_t *out)
{
    if (f->wire == PB_BYTES) {
        if (!cursor_left(&f->bytes))
            return false;
        *out = cursor_uleb(&f->bytes);
        return !f->bytes.bad;
    }
    *out = f->value;
    f->wire = PB_BYTES; /* a single value: next time it is an empty list */
    return true;
}

/* ---- The tables -------------------------------------------------------------------------------------------------- */

static int add(struct cursor_list *l, struct cursor message)
{
    if (l->n == PPROF_MAX_ITEMS)
        return -E2BIG;
    struct cursor *place = VEC_PUSH(l);
    if (!place)
        return -ENOMEM;
    *place = message;
    return 0;
}

/* An item with an id in field 1, which nobody else has. */
static int add_with_id(struct cursor_list *l, struct map *ids, struct cursor message)
{
    uint64_t id = pb_number(message, 1);
    uint64_t *place = id ? map_put(ids, id) : NULL;
    if (!id || (place && *place))
        return -EBADMSG;
    int rc = place ? add(l, message) : -ENOMEM;
    if (!rc)
        *place = l->n;
    return rc;
}

static int take_field(struct pprof *p, const struct pb_field *f)
{
    switch (f->number) {
    case 1:
        return add(&p->sample_types, f->bytes);
    case 2:
        return add(&p->samples, f->bytes);
    case 3:
        return add_with_id(&p->mappings, &p->mapping_ids, f->bytes);
    case 4:
        return add_with_id(&p->locations, &p->location_ids, f->bytes);
    case 5:
        return add_with_id(&p->functions, &p->function_ids, f->bytes);
    case 6:
        return add(&p->strings, f->bytes);
    case 9:
        p->time_ns = f->value;
        return 0;
    case 10:
        p->duration_ns = f->value;
        return 0;
    case 11:
        p->period_type = f->bytes;
        return 0;
    case 12:
        p->period = f->value;
        return 0;
    default:
        return 0;
    }
}

static bool is_message(unsigned number)
{
    return (number >= 1 && number <= 6) || number == 11;
}

int pprof_read(struct pprof *out, const void *data, size_t len)
{
    struct cursor c = cursor_of(data, len);
    int rc = 0;
    *out = (struct pprof){0};
    for (struct pb_field f; !rc && pb_next(&c, &f);)
        rc = is_message(f.number) && f.wire != PB_BYTES ? -EBADMSG : take_field(out, &f);
    if (rc)
        return rc;
    bool empty_first = out->strings.n && !out->strings.v[0].len;
    return c.bad || !out->sample_types.n || !empty_first ? -EBADMSG : 0;
}

void pprof_free(struct pprof *p)
{
    vec_free(&p->sample_types);
    vec_free(&p->samples);
    vec_free(&p->mappings);
    vec_free(&p->locations);
    vec_free(&p->functions);
    vec_free(&p->strings);
    map_free(&p->mapping_ids);
    map_free(&p->location_ids);
    map_free(&p->function_ids);
}

uint64_t pprof_place(const struct map *ids, uint64_t id)
{
    const uint64_t *place = id ? map_get(ids, id) : NULL;
    return place ? *place : 0;
}
