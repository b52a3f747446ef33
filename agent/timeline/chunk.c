#include "timeline/chunk.h"

#define LONGEST  48   /* bytes of an event */
#define TYPE     0x3u /* of the first byte; behind it are the flags */
#define EXPLICIT 16u  /* a flag that switches do not have: the thread before is another one than the CPU had */
#define GIVEN    1u   /* the same of wake-ups: of the waker */

static void put(struct tl_chunk *c, u64 v)
{
    for (; v >= 0x80; v >>= 7)
        c->data[c->used++] = (u8)(v | 0x80);
    c->data[c->used++] = (u8)v;
}

static u64 get(struct tl_cursor *at)
{
    u64 v = 0;
    for (u32 shift = 0; shift < 64; shift += 7) {
        u8 byte = at->chunk->data[at->at++];
        v |= (u64)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return v;
}

static bool waits(u8 flags)
{
    return !(flags & (XP_TL_RUNNABLE | XP_TL_DEAD));
}

static void add_switch(struct tl_chunk *c, const struct tl_event *e)
{
    if (e->thread != c->current_end) {
        put(c, e->thread);
        put(c, e->ran);
    }
    put(c, e->other);
    put(c, e->running);
    if (waits(e->flags))
        put(c, e->stack);
    c->current_end = e->other;
}

static void add_waking(struct tl_chunk *c, const struct tl_event *e)
{
    put(c, e->thread);
    if (e->other != c->current_end)
        put(c, e->other);
}

static void add_wakeup(struct tl_chunk *c, const struct tl_event *e)
{
    put(c, e->thread);
    put(c, e->other);
    put(c, e->running);
}

static u8 flags_for(const struct tl_chunk *c, const struct tl_event *e)
{
    if (e->type == XP_TL_SWITCH)
        return (u8)((e->flags & 15) | (e->thread != c->current_end ? EXPLICIT : 0));
    if (e->type == XP_TL_WAKING)
        return (u8)((e->flags & XP_TL_INTERRUPT) | (e->other != c->current_end ? GIVEN : 0));
    return 0;
}

bool chunk_add(struct tl_chunk *c, const struct tl_event *e)
{
    if (c->used + LONGEST > TL_CHUNK_BYTES)
        return false;
    if (!c->events++)
        c->first = c->last = e->time;
    u64 time = e->time > c->last ? e->time : c->last;
    c->data[c->used++] = (u8)(e->type | flags_for(c, e) << 2);
    put(c, time - c->last);
    c->last = time;
    if (e->type == XP_TL_SWITCH)
        add_switch(c, e);
    else if (e->type == XP_TL_WAKING)
        add_waking(c, e);
    else
        add_wakeup(c, e);
    return true;
}

static void enter(struct tl_cursor *at, const struct tl_chunk *c)
{
    at->chunk = c;
    at->at = 0;
    at->time = c ? c->first : 0;
    at->current = c ? c->current : 0;
}

struct tl_cursor chunk_start(const struct tl_chunk *c, u32 cpu)
{
    struct tl_cursor at = {.cpu = cpu};
    enter(&at, c);
    return at;
}

static void get_switch(struct tl_cursor *at, struct tl_event *out)
{
    out->thread = out->flags & EXPLICIT ? (u32)get(at) : at->current;
    out->ran = out->flags & EXPLICIT ? (u32)get(at) : 0;
    out->other = at->current = (u32)get(at);
    out->running = (u16)get(at);
    out->flags &= 15;
    if (waits(out->flags))
        out->stack = (u32)get(at);
}

bool chunk_next(struct tl_cursor *at, bool all, struct tl_event *out)
{
    while (all && at->chunk && at->at == at->chunk->used)
        enter(at, at->chunk->next);
    if (!at->chunk || at->at == at->chunk->used)
        return false;
    u8 head = at->chunk->data[at->at++];
    *out = (struct tl_event){.type = head & TYPE, .flags = head >> 2, .cpu = at->cpu};
    out->time = at->time += get(at);
    if (out->type == XP_TL_SWITCH) {
        get_switch(at, out);
        return true;
    }
    out->thread = (u32)get(at);
    if (out->type == XP_TL_WAKING) {
        out->other = out->flags & GIVEN ? (u32)get(at) : at->current;
        out->flags &= XP_TL_INTERRUPT;
    } else {
        out->other = (u32)get(at);
        out->running = (u16)get(at);
    }
    return true;
}
