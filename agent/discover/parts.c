#include "discover/parts.h"
#include <string.h>

static bool is_free(const struct part_row *r)
{
    static const struct xp_parts none;
    return !memcmp(&r->parts, &none, sizeof(none));
}

void parts_free(struct parts *p)
{
    vec_free(&p->rows);
    p->full = false;
}

static struct part_row *find(struct parts *p, const struct xp_parts *parts)
{
    for (size_t i = 0; i < p->rows.n; i++)
        if (!memcmp(&p->rows.v[i].parts, parts, sizeof(*parts)))
            return &p->rows.v[i];
    return NULL;
}

static struct part_row *room(struct parts *p)
{
    for (size_t i = 0; i < p->rows.n; i++)
        if (is_free(&p->rows.v[i]))
            return &p->rows.v[i];
    return p->rows.n + 1 < XP_MAX_PARTS ? VEC_PUSH(&p->rows) : NULL;
}

u32 parts_row(struct parts *p, const struct xp_parts *parts)
{
    struct part_row *r = find(p, parts);
    if (!r) {
        r = room(p);
        p->full |= !r;
        if (!r)
            return 0;
        *r = (struct part_row){.parts = *parts};
    }
    r->used = true;
    return (u32)(r - p->rows.v) + 1;
}

int parts_tell(struct parts *p, u32 row, int (*set)(void *ctx, u32 row, const struct xp_parts *parts), void *ctx)
{
    struct part_row *r = row && row <= p->rows.n ? &p->rows.v[row - 1] : NULL;
    if (!r || r->told)
        return 0;
    int rc = set(ctx, row, &r->parts);
    r->told = !rc;
    return rc;
}

void parts_begin(struct parts *p)
{
    p->full = false;
    for (size_t i = 0; i < p->rows.n; i++)
        p->rows.v[i].used = false;
}

void parts_end(struct parts *p)
{
    for (size_t i = 0; i < p->rows.n; i++)
        if (!p->rows.v[i].used)
            p->rows.v[i] = (struct part_row){.parts = {{0}}};
}
