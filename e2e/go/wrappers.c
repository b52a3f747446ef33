/* wrappers PROGRAM...: the wrappers that Go's compiler made, one a line, which runtime/pprof leaves out: "all NAME",
 * or "twice NAME" where another function has the same name (those between two calling conventions).
 */
#include "runtime/gopclntab_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct name {
    struct go_text text;
    bool wrapper;
};

static int by_text(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    u32 len = x->text.len < y->text.len ? x->text.len : y->text.len;
    int order = len ? memcmp(x->text.data, y->text.data, len) : 0;
    return order ? order : (x->text.len > y->text.len) - (x->text.len < y->text.len);
}

/* Their id is the largest of all versions' lists (src/internal/abi/symtab.go). */
static u8 wrapper_id(const struct gopclntab *t)
{
    struct go_func f;
    u8 id = 0;
    for (u64 i = 0; i < t->nfuncs; i++)
        if (go_func_read(t, i, &f) && f.id > id)
            id = f.id;
    return id;
}

static void print(const struct name *n, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        size_t wrappers = 0;
        for (end = i; end < count && !by_text(&n[i], &n[end]); end++)
            wrappers += n[end].wrapper;
        if (wrappers)
            printf("%s %.*s\n", wrappers == end - i ? "all" : "twice", (int)n[i].text.len, n[i].text.data);
    }
}

static int list(const char *path)
{
    struct gopclntab t;
    AUTO_ELF struct elf_file e = {0};
    struct go_func f;
    int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : elf_open(&e, fd);
    if (!err)
        err = go_open(&t, &e);
    if (err)
        return err;
    struct name *names = calloc(t.nfuncs, sizeof(*names));
    u8 id = wrapper_id(&t);
    for (u64 i = 0; names && i < t.nfuncs; i++)
        if (go_func_read(&t, i, &f))
            names[i] = (struct name){go_text_at(t.names, f.name), f.id == id};
    if (names) {
        qsort(names, t.nfuncs, sizeof(*names), by_text);
        print(names, t.nfuncs);
    }
    free(names);
    close(fd);
    return names ? 0 : -ENOMEM;
}

int main(int argc, char **argv)
{
    int err = 0;
    for (int i = 1; i < argc && !err; i++)
        err = list(argv[i]);
    return err != 0;
}
