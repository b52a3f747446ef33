/* Where the code of the kernel's slab allocators and of its interrupts is, for kind `kmem`. */
#include "probe/kinds.h"
#include "bpf/kmem.h"
#include <stdio.h>
#include <string.h>

/* Beginnings of their names in all versions of Linux. The exported ones are never inlined. */
static bool is_allocator(const char *name)
{
    static const char *const begin[] = {"kmem_cache_alloc", "__kmem_cache_alloc", "__kmalloc",     "___kmalloc",
                                        "kmalloc_trace",    "kmalloc_node_trace", "kmalloc_large", "kmalloc_order",
                                        "kmalloc_nolock",   "___slab_alloc",      "__slab_alloc",  "allocate_slab",
                                        "new_slab",         "cache_grow_begin",   "refill_sheaf",  "refill_objects"};
    for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
        if (!strncmp(name, begin[i], strlen(begin[i])))
            return true;
    return false;
}

static bool is_interrupt(const char *name)
{
    return !strncmp(name, "asm_sysvec_", 11) || !strcmp(name, "asm_common_interrupt") ||
           !strcmp(name, "asm_spurious_interrupt");
}

struct stretches { /* of code */
    bool (*is)(const char *name);
    struct xp_kmem_code *v;
    size_t n, room;
    bool open; /* the end of the last one is not known yet */
    bool full; /* not all have room */
};

/* A function ends where the next symbol begins. */
static void see_symbol(struct stretches *s, u64 at, const char *name)
{
    if (s->open && at > s->v[s->n - 1].from) {
        s->v[s->n - 1].to = at;
        s->open = false;
    }
    if (s->open || !s->is(name))
        return;
    bool goes_on = s->n && s->v[s->n - 1].to == at;
    if (!goes_on && s->n == s->room) {
        s->full = true;
        return;
    }
    if (!goes_on)
        s->v[s->n++].from = at;
    s->open = true;
}

/* Lines are sorted by address, as far as they are the kernel's own. */
bool kmem_find_code(FILE *symbols, struct xp_kmem_settings *out)
{
    struct stretches slabs = {.is = is_allocator, .v = out->slabs, .room = XP_KMEM_SLABS},
                     interrupts = {.is = is_interrupt, .v = out->interrupts, .room = XP_KMEM_INTERRUPTS};
    char line[512], name[256], type;
    unsigned long long at;
    while (fgets(line, sizeof(line), symbols) && !strchr(line, '[')) {
        if (sscanf(line, "%llx %c %255s", &at, &type, name) != 3 || !at || !strchr("tTwW", type))
            continue;
        see_symbol(&slabs, at, name);
        see_symbol(&interrupts, at, name);
    }
    return slabs.n && !slabs.open && !slabs.full;
}
