#include "inspect/kernel_reader.h"
#include <stddef.h>

static void *read_names(void *reader)
{
    struct kernel_reader *r = reader;
    kernel_names_open(&r->names, r->cache);
    return NULL;
}

void kernel_reader_start(struct kernel_reader *r)
{
    if (!r->tried)
        r->running = !pthread_create(&r->thread, NULL, read_names, r);
    r->tried |= r->running;
}

static void await(struct kernel_reader *r)
{
    if (r->running)
        pthread_join(r->thread, NULL);
    r->running = false;
}

bool kernel_reader_find(struct kernel_reader *r, u64 address, struct kallsym *out)
{
    await(r);
    if (!r->tried)
        read_names(r);
    r->tried = true;
    if (r->names)
        kernel_names_keep(r->names);
    return r->names && kernel_names_find(r->names, address, out);
}

void kernel_reader_free(struct kernel_reader *r)
{
    await(r);
    kernel_names_free(&r->names);
}
