#include "base/map.h"
#include "base/hash.h"
#include <stdlib.h>

static struct map_slot *probe(const struct map *m, uint64_t key)
{
    size_t i = hash_u64(key) & (m->cap - 1);
    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

static int grow(struct map *m)
{
    struct map bigger = {.n = m->n, .cap = m->cap ? m->cap * 2 : 16};
    bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].used)
            *probe(&bigger, m->slots[i].key) = m->slots[i];
    free(m->slots);
    *m = bigger;
    return 0;
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
    if (!m->cap)
        return NULL;
    struct map_slot *s = probe(m, key);
    return s->used ? &s->value : NULL;
}

uint64_t *map_put(struct map *m, uint64_t key)
{
    if (m->n * 4 >= m->cap * 3 && grow(m))
        return NULL;
    struct map_slot *s = probe(m, key);
    if (!s->used) {
        *s = (struct map_slot){.key = key, .used = 1};
        m->n++;
    }
    return &s->value;
}

/* Whatever stands behind it and would no longer be found moves up (Knuth, The Art of Computer Programming, volume 3,
 * 6.4, algorithm R). */
void map_remove(struct map *m, uint64_t key)
{
    struct map_slot *gone = m->cap ? probe(m, key) : NULL;
    if (!gone || !gone->used)
        return;
    size_t mask = m->cap - 1, hole = (size_t)(gone - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
        size_t home = hash_u64(m->slots[i].key) & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* its home is behind the hole */
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole].used = 0;
    m->n--;
}

void map_free(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}
