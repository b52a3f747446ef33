/* From an instruction to the code that it is part of. V8 aligns code, and puts a header in front of it that leads to
 * all that is known of it, so the way back to the start of the code is short. */
#include "runtime/v8_internal.h"

#define ALIGNMENT 32
#define MAX_CODE  (1u << 20) /* bytes of a function's */
#define MAX_CODES 4096       /* that are remembered */

static bool is_head(struct v8_query *q, u64 head)
{
    bool ok = true;
    u64 map = memory_u(q->m, head, sizeof(map), &ok);
    if (!ok || !XP_V8_IS_OBJECT(map) || (q->map && map != q->map))
        return false;
    if (!q->map && v8_type(q->m, q->v8, head) != q->v8->layout.stream_type)
        return false;
    q->map = map;
    return true;
}

static bool read_code(struct v8_query *q, u64 head, struct v8_code *out)
{
    const struct v8_layout *l = &q->v8->layout;
    bool ok = true;
    u64 code = l->stream_code ? v8_object(q->m, head + l->stream_code, &ok) : head;
    if (!code || !ok)
        return false;
    out->size = (u32)memory_u(q->m, code + l->code_size, sizeof(u32), &ok);
    out->data = v8_object(q->m, code + l->code_data, &ok);
    out->places = v8_object(q->m, code + l->code_places, &ok);
    out->baseline = v8_type(q->m, q->v8, out->data) == q->v8->machine.array_type;
    return ok && out->size <= MAX_CODE;
}

static bool search(struct v8_query *q, u64 pc, struct v8_code *out)
{
    u64 first = pc & ~(ALIGNMENT - 1ull), head = q->v8->layout.stream_head;
    for (u64 start = first; start > head && first - start < MAX_CODE && q->search_left;
         start -= ALIGNMENT, q->search_left--)
        if (is_head(q, start - head)) {
            out->start = start;
            return read_code(q, start - head, out) && pc - start < out->size;
        }
    return false;
}

const struct v8_code *v8_code_at(struct v8_query *q, u64 pc)
{
    struct v8_code code;
    if (!q->v8->layout.stream_type)
        return NULL;
    for (size_t i = q->codes.n; i-- > 0;)
        if (pc - q->codes.v[i].start < q->codes.v[i].size)
            return &q->codes.v[i];
    if (!search(q, pc, &code))
        return NULL;
    struct v8_code *to = q->codes.n < MAX_CODES ? VEC_PUSH(&q->codes) : &q->codes.v[MAX_CODES - 1];
    if (to)
        *to = code;
    return to;
}
