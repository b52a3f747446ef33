/* From words of a stack to frames: their addresses are in code of modules. Words are in ascending order, so that one
 * module after the other is read. Whether it is still there is checked once more at the end. */
#include "base/cleanup.h"
#include "base/map.h"
#include "dwarf/demangle.h"
#include "runtime/beam_internal.h"
#include "runtime/frame_reply.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE     "[erlang]"
#define STUBS    "global::"
#define PROLOGUE "-CodeInfoPrologue" /* code in front of a function, which is entered when it is traced */

enum { THERE = 1, GONE };

struct query { /* one request */
    struct memory *m;
    struct frame_reply reply;
    VEC(struct beam_module) modules; /* ascending */
    struct beam_table table;         /* of the module that was read last */
    size_t at;                       /* 1 + its index; 0: none was */
    struct map checked;              /* such an index -> what was found in the end */
};

static int compare(const void *a, const void *b)
{
    const struct beam_module *x = a, *y = b;
    return x->base < y->base ? -1 : x->base > y->base;
}

static void list_modules(struct query *q, u64 descriptor)
{
    struct beam_walk w;
    struct beam_module mod;
    bool more = beam_walk_start(q->m, descriptor, &w);
    while (more && beam_walk_next(q->m, &w, &mod)) {
        struct beam_module *to = VEC_PUSH(&q->modules);
        if (!to) {
            q->reply.texts.failed = true;
            return;
        }
        *to = mod;
    }
    if (q->modules.n)
        qsort(q->modules.v, q->modules.n, sizeof(mod), compare);
}

/* 1 + the index of the module that has this address; 0: none has. */
static size_t module_at(const struct query *q, u64 pc)
{
    size_t lo = 0, hi = q->modules.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (q->modules.v[mid].base <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && pc < q->modules.v[lo - 1].end ? lo : 0;
}

static bool open_module(struct query *q, size_t at)
{
    if (q->at == at)
        return q->table.bytes;
    beam_table_free(&q->table);
    q->at = at;
    int rc = beam_table_read(q->m, &q->modules.v[at - 1], &q->table);
    q->reply.texts.failed |= rc == -ENOMEM;
    return !rc;
}

static u32 add_text(struct query *q, struct beam_text t)
{
    AUTO_BUF struct buf text = {0};
    size_t tail = sizeof(PROLOGUE) - 1;
    if (t.len > tail && !memcmp(t.data + t.len - tail, PROLOGUE, tail))
        t.len -= tail;
    if (t.len && t.len <= BEAM_MAX_FUNCTION)
        append_utf8(&text, t.data, t.len);
    return frame_reply_text_of(&q->reply, &text, true);
}

static void add_pair(void *query, const u64 *w)
{
    struct query *q = query;
    struct beam_place p = {0};
    size_t at = frame_reply_is(XP_LANGUAGE_BEAM, w) ? module_at(q, frame_reply_pc(w)) : 0;
    if (!at || !open_module(q, at) || !beam_table_find(&q->table, frame_reply_pc(w), &p)) {
        frame_reply_named(&q->reply, RUNTIME_STUB, NONE);
        return;
    }
    size_t stub = sizeof(STUBS) - 1;
    bool is_stub = p.function.len > stub && !memcmp(p.function.data, STUBS, stub);
    u32 name = add_text(q, p.function);
    frame_reply_add(&q->reply, (struct names_frame){.start = is_stub ? RUNTIME_STUB : RUNTIME_COMPILED,
                                                    .name = name,
                                                    .system_name = name,
                                                    .file = p.line ? add_text(q, p.file) : 0,
                                                    .line = p.line});
}

static bool is_gone(void *query, const u64 *w)
{
    struct query *q = query;
    size_t at = frame_reply_is(XP_LANGUAGE_BEAM, w) ? module_at(q, frame_reply_pc(w)) : 0;
    u64 *known = at ? map_put(&q->checked, at) : NULL;
    if (known && !*known)
        *known = beam_module_is_there(q->m, &q->modules.v[at - 1]) ? THERE : GONE;
    return at && (!known || *known == GONE);
}

int beam_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[erlang: gone]"};
    struct beam b;
    if (beam_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&b, attached, sizeof(b));
    struct query q = {.m = m};
    list_modules(&q, b.descriptor);
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    beam_table_free(&q.table);
    vec_free(&q.modules);
    map_free(&q.checked);
    return rc;
}
