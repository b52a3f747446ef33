/* Go: programs bring the table that their own tracebacks read (gopclntab.h). On the kernel side its stacks are switched
 * by rules of their own (XP_CFA_GO_G, bpf/go.bpf.h). */
#include "base/cleanup.h"
#include "runtime/go_rows.h"
#include "runtime/gopclntab.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <stdlib.h>

_Static_assert(GO_MAX_FRAMES <= RUNTIME_MAX_FRAMES, "all of them fit");

static int open_file(void **out, const struct elf_file *e)
{
    AUTO_FREE struct gopclntab *t = malloc(sizeof(*t));
    int rc = t ? go_open(t, e) : -ENOMEM;
    if (!rc)
        *out = TAKE_PTR(t);
    return rc;
}

static void close_file(void *file)
{
    free(file);
}

static void free_rows(void *rows)
{
    go_rows_free(rows);
    free(rows);
}

static int read_rows(void *file, struct runtime_rows *out)
{
    struct go_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    int rc = go_rows_read(file, rows);
    *out = (struct runtime_rows){.code = rows->code, .owner = rows, .free = free_rows};
    return rc;
}

static struct runtime_text text_of(struct go_text t)
{
    return (struct runtime_text){t.data, t.len};
}

static bool frames_at(void *file, u64 offset, struct runtime_frames *out)
{
    struct go_frames f;
    struct go_text head, tail;
    if (!go_frames_at(file, offset, &f))
        return false;
    out->start = f.start;
    out->n = f.n;
    for (u32 i = 0; i < f.n; i++) {
        out->v[i] =
            (struct runtime_frame){.name = text_of(f.v[i].name), .file = text_of(f.v[i].file), .line = f.v[i].line};
        if (go_name_split(f.v[i].name, &head, &tail)) {
            out->v[i].shown[0] = text_of(head);
            out->v[i].shown[1] = text_of(tail);
        }
    }
    return true;
}

static bool is_all(void *file)
{
    return go_is_all(file);
}

static bool truncated(void *file)
{
    return ((const struct gopclntab *)file)->truncated;
}

static const struct runtime_file_ops ops = {.open = open_file,
                                            .close = close_file,
                                            .rows = read_rows,
                                            .frames = frames_at,
                                            .is_all = is_all,
                                            .truncated = truncated};

const struct runtime runtime_go = {.name = "go", .file = &ops};
