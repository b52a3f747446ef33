/* Names of kernel addresses that the running kernel is asked for one by one. That takes a microsecond each, where
 * /proc/kallsyms formats 100,000 names for every reader; and the kernel knows what was loaded since.
 */
#pragma once
#include "proc/kallsyms.h"

/* Who is asked; tests ask others. `ask` writes "NAME+0xOFFSET/0xSIZE [MODULE]" for an address that has a name, and
 * returns 0 or -errno. */
struct kernel_oracle {
    void *ctx;
    int (*ask)(void *ctx, u64 address, char *text, size_t len);
    void (*free)(void *ctx);
};

struct kernel_asked;

/* Asks the running kernel. Returns 0, or -errno: it is too old, or does not answer this process. */
int kernel_asked_open(struct kernel_asked **out);
/* Takes over `oracle`. Returns 0 or -ENOMEM. */
int kernel_asked_new(struct kernel_asked **out, const struct kernel_oracle *oracle);
void kernel_asked_free(struct kernel_asked **k);
/* The symbol that holds the address; its strings live as long as `k`. false: none. */
bool kernel_asked_find(struct kernel_asked *k, u64 address, struct kallsym *out);
