/* The memory of a process, read through /proc/PID/mem: no rights are needed for that, and no other process can be
 * reached. Bytes are limited. Many small reads go through pages that are kept (memory_near).
 */
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

#define MEMORY_PAGE  4096u
#define MEMORY_PAGES 512 /* kept */
struct memory_pages {
    struct memory_page {
        u64 number; /* address / MEMORY_PAGE + 1; 0: none */
        u64 len;    /* what could be read of it */
    } page[MEMORY_PAGES];
    u8 bytes[MEMORY_PAGES][MEMORY_PAGE]; /* apart: to forget pages touches none of those that are not used */
};

struct memory {
    int fd;
    VEC(struct mapping) maps;   /* ascending */
    u64 left;                   /* bytes that may still be read */
    struct memory_pages *pages; /* NULL: none yet */
};

/* Both descriptors are borrowed; `maps` -1: the mappings are not needed. Returns 0, -ENOMEM or the -errno of reading
 * the mappings. */
int memory_open(struct memory *m, int mem, int maps);
void memory_free(struct memory *m);
/* Reads exactly `len` bytes. False: they are not there, or too much was read already. */
bool memory_read(struct memory *m, u64 at, void *to, size_t len);
/* The same through pages that are kept until memory_forget: what it returns may have changed in the meantime. */
bool memory_near(struct memory *m, u64 at, void *to, size_t len);
void memory_forget(struct memory *m);
/* Reads a NUL-terminated text of less than `size` bytes in this way. False: it cannot be read, or is longer. */
bool memory_text(struct memory *m, u64 at, char *to, size_t size);
/* An unsigned number of up to 8 bytes, read in this way. 0 if *ok is false or becomes so: it cannot be read. */
static inline u64 memory_u(struct memory *m, u64 at, unsigned bytes, bool *ok)
{
    u64 v = 0;
    *ok = *ok && memory_near(m, at, &v, bytes);
    return *ok ? v : 0;
}
/* NULL: none. */
const struct mapping *memory_mapping(const struct memory *m, u64 at);

/* Tells whether a line of /proc/PID/maps was understood. A pure function. */
bool mapping_parse(const char *line, const char *end, struct mapping *out);
static inline bool mapping_is_code(const struct mapping *m)
{
    return m->plain && m->exec;
}
