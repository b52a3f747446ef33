/* The memory of a process, read through /proc/PID/mem. */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct mapping {
    u64 start, end;
    u64 offset;
    bool read, write, exec;
    bool shared; /* reading a hole would take memory of the process */
    bool plain;  /* memory of no file, or that only looks like one; not that of the kernel */
};

struct memory {
    int fd;
    VEC(struct mapping) maps; /* ascending */
    u64 left;                 /* bytes that may still be read */
};

/* Both descriptors are borrowed. Returns 0, -ENOMEM or the -errno of reading the mappings. */
int memory_open(struct memory *m, int mem, int maps);
void memory_free(struct memory *m);
/* Reads exactly `len` bytes. False: they are not there, or too much was read already. */
bool memory_read(struct memory *m, u64 at, void *to, size_t len);
/* NULL: none. */
const struct mapping *memory_mapping(const struct memory *m, u64 at);

/* Tells whether a line of /proc/PID/maps was understood. A pure function. */
bool mapping_parse(const char *line, const char *end, struct mapping *out);
static inline bool mapping_is_code(const struct mapping *m)
{
    return m->plain && m->exec;
}
