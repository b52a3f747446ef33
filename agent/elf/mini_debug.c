#include "elf/mini_debug.h"
#include "base/cleanup.h"
#include <errno.h>
#include <lzma.h>

#define FIRST_GUESS 8                /* times the compressed size */
#define MAX_MEMORY  ((u64)128 << 20) /* of the decoder: xz -9 needs 65 MiB */

/* Grows *data until all is there. */
static int inflate_all(lzma_stream *z, u8 **data, size_t cap)
{
    size_t n = 0;
    for (;;) {
        u8 *more = realloc(*data, cap);
        if (!more)
            return -ENOMEM;
        *data = more;
        z->next_out = more + n;
        z->avail_out = cap - n;
        lzma_ret rc = lzma_code(z, LZMA_FINISH);
        if (rc == LZMA_STREAM_END)
            return 0;
        if (rc != LZMA_OK && rc != LZMA_BUF_ERROR)
            return rc == LZMA_MEM_ERROR || rc == LZMA_MEMLIMIT_ERROR ? -ENOMEM : -EBADMSG;
        if (z->avail_out) /* it wants more input, and there is none */
            return -EBADMSG;
        n = cap;
        if (cap >= MINI_DEBUG_MAX)
            return -ENOSPC;
        cap = 2 * cap < MINI_DEBUG_MAX ? 2 * cap : MINI_DEBUG_MAX;
    }
}

static int inflate_xz(const struct elf_section *s, struct elf_bytes *out)
{
    AUTO_FREE u8 *data = NULL;
    lzma_stream z = LZMA_STREAM_INIT;
    size_t cap = s->len < MINI_DEBUG_MAX / FIRST_GUESS ? s->len * FIRST_GUESS + 64 : MINI_DEBUG_MAX;
    if (lzma_stream_decoder(&z, MAX_MEMORY, 0) != LZMA_OK)
        return -ENOMEM;
    z.next_in = s->data;
    z.avail_in = s->len;
    int err = inflate_all(&z, &data, cap);
    if (!err)
        *out = (struct elf_bytes){.data = data, .len = z.total_out, .owned = data};
    lzma_end(&z);
    if (!err)
        (void)TAKE_PTR(data);
    return err;
}

int mini_debug_open(const struct elf_file *e, struct elf_bytes *bytes, struct elf_file *out)
{
    struct elf_section s;
    AUTO_BYTES struct elf_bytes b = {0};
    if (!elf_section(e, ".gnu_debugdata", &s) || !s.len)
        return -ENODATA;
    int err = inflate_xz(&s, &b);
    if (!err && elf_open_memory(out, b.data, b.len))
        err = -EBADMSG;
    if (err)
        return err;
    *bytes = b;
    b.owned = NULL; /* handed over */
    return 0;
}
