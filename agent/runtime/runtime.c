#include "runtime/runtime.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/memory.h"
#include <errno.h>
#include <string.h>

static const struct runtime *const RUNTIMES[] = {&runtime_go,     &runtime_jit,  &runtime_hotspot, &runtime_python,
                                                 &runtime_v8,     &runtime_perl, &runtime_php,     &runtime_ruby,
                                                 &runtime_dotnet, &runtime_beam};
#define LEAST_READ    ((u64)64 << 20) /* bytes, for names */
#define ABOUT_READ    ((u64)2 << 30)  /* bytes: a page for each of many methods */
#define READ_PER_WORD 32768           /* a frame that is met for the first time takes some ten pages */
#define ROWS          (sizeof(RUNTIMES) / sizeof(*RUNTIMES))

const struct runtime *const *runtimes(size_t *n)
{
    *n = ROWS;
    return RUNTIMES;
}

typedef int (*row_question)(const struct runtime_memory_ops *row, struct memory *m, struct buf *out);

/* What the first row says that knows the process. */
static int ask_rows(int mem, int maps, u64 may_read, row_question question, u32 *row, struct buf *out)
{
    CLEANUP(memory_free) struct memory m = {0};
    int rc = memory_open(&m, mem, maps);
    m.left = may_read ? may_read : m.left;
    if (rc)
        return rc;
    rc = -ENODATA;
    for (u32 i = 0; i < ROWS && rc == -ENODATA; i++) {
        *row = i;
        rc = RUNTIMES[i]->memory ? question(RUNTIMES[i]->memory, &m, out) : -ENODATA;
    }
    return !rc && out->failed ? -ENOMEM : rc;
}

static int ask_attach(const struct runtime_memory_ops *row, struct memory *m, struct buf *out)
{
    return row->attach(m, out);
}

int runtime_attach(int mem, int maps, struct buf *out)
{
    AUTO_BUF struct buf bytes = {0};
    struct runtime_attached a = {0};
    int rc = ask_rows(mem, maps, 0, ask_attach, &a.row, &bytes);
    if (rc)
        return rc;
    a.bytes = (u32)bytes.len;
    buf_add(out, &a, sizeof(a));
    buf_add(out, bytes.data, bytes.len);
    return out->failed ? -ENOMEM : 0;
}

static int ask_about(const struct runtime_memory_ops *row, struct memory *m, struct buf *out)
{
    return row->about ? row->about(m, out) : -ENODATA;
}

int runtime_about(int mem, int maps, struct buf *out)
{
    u32 row;
    return ask_rows(mem, maps, ABOUT_READ, ask_about, &row, out);
}

bool runtime_about_sound(const char *text, size_t len)
{
    bool key = true;
    for (size_t i = 0; i < len; i++) {
        bool ends = text[i] == (key ? '\t' : '\n');
        if (!ends && (key ? text[i] < 'a' || text[i] > 'z' : text[i] < ' ' || text[i] > '~'))
            return false;
        key ^= ends;
    }
    return key;
}

const struct runtime *runtime_attached(const void *reply, size_t len, const void **bytes)
{
    struct runtime_attached a;
    if (len < sizeof(a))
        return NULL;
    memcpy(&a, reply, sizeof(a));
    const void *at = (const char *)reply + sizeof(a);
    if (a.row >= ROWS || !RUNTIMES[a.row]->memory || a.bytes != len - sizeof(a) ||
        RUNTIMES[a.row]->memory->check(at, a.bytes))
        return NULL;
    *bytes = at;
    return RUNTIMES[a.row];
}

bool runtime_machine(const void *reply, size_t len, struct xp_machine *out)
{
    const void *bytes;
    const struct runtime *r = runtime_attached(reply, len, &bytes);
    if (!r)
        return false;
    *out = (struct xp_machine){0};
    r->memory->machine(bytes, out);
    return true;
}

int runtime_names(int mem, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    CLEANUP(memory_free) struct memory m = {0};
    const void *bytes;
    const struct runtime *r = runtime_attached(attached, len, &bytes);
    if (!r || n % 2)
        return -EBADMSG;
    if (n > RUNTIME_MAX_WORDS)
        return -E2BIG;
    int rc = memory_open(&m, mem, -1);
    m.left = LEAST_READ + n * READ_PER_WORD;
    return rc ? rc : r->memory->names(&m, bytes, len - sizeof(struct runtime_attached), words, n, out);
}
