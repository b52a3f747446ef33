/* A hash map from u64 to u64 (open addressing, linear probing). Key 0 is allowed. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot {
        uint64_t key, value;
        uint8_t used;
    } * slots;
    size_t n, cap; /* cap is a power of two */
};

/* Returns the address of the value, valid until the next map_put; NULL if the key does not exist. */
uint64_t *map_get(const struct map *m, uint64_t key);
/* Returns the address of the value, which is 0 for a new key; NULL if out of memory. */
uint64_t *map_put(struct map *m, uint64_t key);
/* Removes a key. Values of other keys may move. */
void map_remove(struct map *m, uint64_t key);
void map_free(struct map *m);
