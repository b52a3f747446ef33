#include "probe/rules.h"
#include "base/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rules_init(struct rules *r, struct xp_rule *array)
{
    *r = (struct rules){.array = array, .n = 1, .shares.limit = XP_MAX_RULES - 1};
    r->uses = calloc(XP_MAX_RULES, sizeof(*r->uses));
    return r->uses ? 0 : -ENOMEM;
}

void rules_fini(struct rules *r)
{
    free(r->uses);
    map_free(&r->ids);
    shares_free(&r->shares);
}

static u64 key_of(const struct xp_rule *rule)
{
    u64 key;
    memcpy(&key, rule, sizeof(key));
    return key;
}

/* An upper bound: one that stands twice in a table is counted twice. */
static u32 count_new(const struct rules *r, const struct xp_rule *rules, u32 n)
{
    u32 fresh = 0;
    for (u32 i = 0; i < n; i++)
        fresh += key_of(&rules[i]) && !map_get(&r->ids, key_of(&rules[i]));
    return fresh;
}

/* Can so many numbers be given out now? */
static bool has_numbers(const struct rules *r, u32 n)
{
    u32 free = XP_MAX_RULES - r->n;
    u64 now = now_ns();
    for (u32 i = r->oldest; i && free < n && now - r->uses[i].since_ns >= PROBE_GRACE_NS; i = r->uses[i].next)
        free++;
    return free >= n;
}

static u32 free_number(struct rules *r)
{
    u32 number = r->oldest;
    if (r->n < XP_MAX_RULES)
        return r->n++;
    r->oldest = r->uses[number].next;
    return number;
}

static int number_of(struct rules *r, u64 owner, const struct xp_rule *rule, u16 *out)
{
    u64 key = key_of(rule), *id = key ? map_put(&r->ids, key) : NULL;
    *out = 0;
    if (!id)
        return key ? -ENOMEM : 0;
    if (!*id) {
        *id = free_number(r);
        r->array[*id] = *rule;
        r->uses[*id] = (struct rule_use){.owner = owner};
    }
    r->uses[*id].tables++;
    *out = (u16)*id;
    return 0;
}

static void rest(struct rules *r, u32 number)
{
    struct rule_use *u = &r->uses[number];
    map_remove(&r->ids, key_of(&r->array[number]));
    shares_give(&r->shares, u->owner, 1);
    u->since_ns = now_ns();
    u->next = 0;
    if (r->oldest)
        r->uses[r->youngest].next = number;
    else
        r->oldest = number;
    r->youngest = number;
}

void rules_give(struct rules *r, const u16 *numbers, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (numbers[i] && !--r->uses[numbers[i]].tables)
            rest(r, numbers[i]);
}

int rules_take(struct rules *r, u64 owner, const struct xp_rule *rules, u32 n, u16 *numbers)
{
    if (n > PROBE_FILE_RULES)
        return -EOVERFLOW;
    u32 fresh = count_new(r, rules, n);
    if (!has_numbers(r, fresh))
        return -ENOSPC;
    if (!shares_take(&r->shares, owner, fresh))
        return -EUSERS;
    size_t known = r->ids.n;
    int rc = 0;
    u32 i = 0;
    while (i < n && !(rc = number_of(r, owner, &rules[i], &numbers[i])))
        i++;
    shares_give(&r->shares, owner, fresh - (r->ids.n - known)); /* what stands twice in the table */
    if (rc)
        rules_give(r, numbers, i);
    return rc;
}
