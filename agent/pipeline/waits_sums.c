/* Sums of kinds that are counted per distinct stack: those whose values are what came, and those one of whose values is
 * what is left of that.
 */
#include "pipeline/waits_internal.h"
#include "base/cleanup.h"
#include "pipeline/wrong_frees.h"
#include <errno.h>
#include <string.h>

static void make_of_kind(struct xp_sample *to, const struct wait_stack *stack, u64 label, u8 event, u64 count)
{
    bool labelled = XP_WORD_KIND(label) == XP_WORD_LABEL;
    *to = *stack->sample;
    to->words[0] = label;
    memcpy(to->words + labelled, stack->sample->words, 8 * waits_words(stack->sample));
    to->nkernel = (u16)(to->nkernel + labelled);
    to->type = XP_RECORD_SAMPLE;
    to->event = event;
    to->count = count > UINT32_MAX ? UINT32_MAX : (u32)count;
}

/* Turns a value into the change of what is left: less than nothing is never left. Changes may be negative: they are
 * added modulo 2^64, and what an interval began with is there already (waits_carry). Returns what went away without
 * having come. */
static u64 change_level(struct wait_stack *stack, struct xp_amount came, struct xp_amount gone, struct xp_amount *value)
{
    struct xp_amount old = stack->level;
    struct xp_amount now = {old.count + came.count, old.value + came.value};
    u64 unknown = gone.count > now.count ? gone.count - now.count : 0;
    now.count -= gone.count - unknown;
    now.value -= gone.value < now.value ? gone.value : now.value;
    if (!now.count)
        now.value = 0;
    stack->level = now;
    *value = (struct xp_amount){now.count - old.count, now.value - old.value};
    return unknown;
}

/* What an ended process had left was dropped (waits_carry), and may be decided, or freed, later: that is no loss. */
static void change_levels(struct waits *w, struct wait_stack *stack, const struct probe_sum *row,
                          const struct wait_events *events, struct xp_amount values[XP_MAX_VALUES])
{
    bool open = events->open_levels >> row->event & 1, lent = events->lent_levels >> row->event & 1;
    struct xp_amount closed = {values[0].count + values[1].count, values[0].value + values[1].value};
    stack->event = row->event;
    stack->value = open ? 2 : 1;
    if (open)
        change_level(stack, values[2], closed, &values[2]);
    else
        w->lost += change_level(stack, values[0], values[1], &values[1]) * !lent;
}

static const struct xp_sample *stack_of(const void *waits, u64 key)
{
    const struct wait_stack *k = waits_find(waits, key);
    return k ? k->sample : NULL;
}

/* Its stack is one, kernel words and user words. */
void waits_take_sum(struct waits *w, const struct probe_sum *row, const struct wait_events *events,
                    struct xp_sample *room, const struct waits_user *to)
{
    bool levels = events->levels >> row->event & 1, open = events->open_levels >> row->event & 1;
    struct wait_stack *stack = waits_find(w, row->key.stack);
    struct xp_amount values[XP_MAX_VALUES];
    u64 count = 0, counted = events->lent_levels >> row->event & 1 ? 1 : XP_MAX_VALUES;
    for (size_t i = 0; i < counted; i++)
        count += row->sum.of[i].count;
    if (!stack || (!stack->sample->tgid && !(stack->sample->flags & XP_SAMPLE_NOBODY))) {
        w->lost += open ? row->sum.of[2].count : count;
        return;
    }
    stack->used = w->interval;
    memcpy(values, row->sum.of, sizeof(values));
    make_of_kind(room, stack, row->key.label, row->event, levels ? values[0].count : open ? values[2].count : count);
    if (levels || open)
        change_levels(w, stack, row, events, values);
    tags_put(&w->tags, row->key.tag, room);
    if (wrong_free_is(stack->sample))
        wrong_free_join(room, stack->sample, stack_of, w);
    to->sample(to->ctx, room, values, XP_MAX_VALUES);
}

int waits_add(const struct waits *w, u64 key, u8 event, const struct xp_amount values[XP_MAX_VALUES], waits_use *use,
              void *ctx)
{
    const struct wait_stack *stack = waits_find(w, key);
    AUTO_FREE struct xp_sample *room = stack ? waits_room() : NULL;
    if (!room)
        return stack ? -ENOMEM : -ENODATA;
    make_of_kind(room, stack, 0, event, 0);
    use(ctx, room, values, XP_MAX_VALUES);
    return 0;
}

int waits_carry(struct waits *w, bool (*lives)(u32 tgid), waits_use *use, void *ctx)
{
    AUTO_FREE struct xp_sample *room = waits_room();
    if (!room)
        return -ENOMEM;
    u32 asked = 0;
    bool alive = false;
    for (size_t i = 0; i < w->stacks.n; i++) {
        struct wait_stack *k = &w->stacks.v[i];
        if (!waits_has_level(k) && !k->kept)
            continue;
        if (!asked || asked != k->sample->tgid)
            alive = lives(asked = k->sample->tgid);
        if (!alive) {
            k->level = (struct xp_amount){0};
            k->kept = false;
        }
        if (!waits_has_level(k))
            continue;
        struct xp_amount values[XP_MAX_VALUES] = {{0}};
        values[k->value] = k->level;
        make_of_kind(room, k, 0, k->event, 0);
        use(ctx, room, values, XP_MAX_VALUES);
    }
    return 0;
}
