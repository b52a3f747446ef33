/* Merges all stacks of a profile into one tree, root first, for flame graphs. Nodes are in preorder, children sorted by
 * name, so that equal profiles give equal trees regardless of the order of their stacks.
 */
#pragma once
#include "profile/frames.h"

struct tree_node {
    u32 frame;  /* row of `frames`; unused in node 0, the root */
    u32 parent; /* node; that of node 0 is 0 */
    u32 depth;  /* 0 for node 0, 1 for processes */
    u32 end;    /* first node after its subtree */
};
struct calltree {
    struct frame_table frames;
    struct tree_node *nodes;
    size_t n;
    /* Two numbers per column (profile_columns): self count and self value of node i at sums + i * 2 * ncolumns. */
    u64 *sums;
    size_t ncolumns;
    u64 *totals; /* self and below, laid out like sums */
};

/* Processes are distinguished by PID, or merged by name. *out must be zeroed; release it with calltree_free. Returns 0
 * or -ENOMEM. */
int calltree_build(const struct profile *p, bool by_pid, struct calltree *out);
void calltree_free(struct calltree *t);

static inline const u64 *calltree_self(const struct calltree *t, size_t node, size_t column)
{
    return t->sums + (node * t->ncolumns + column) * 2;
}
static inline const u64 *calltree_total(const struct calltree *t, size_t node, size_t column)
{
    return t->totals + (node * t->ncolumns + column) * 2;
}
