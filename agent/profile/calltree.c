#include "profile/calltree.h"
#include "base/cleanup.h"
#include <string.h>

/* A tree as it grows: nodes in the order of first sight. */
struct growing {
    const struct profile *p;
    bool by_pid;
    struct calltree *tree;
    size_t first[XP_MAX_EVENTS]; /* the first column of each event */
    VEC(struct tree_node) nodes;
    VEC(u64) sums;
    struct lookup children; /* (parent, frame) -> node */
    VEC(u32) path;          /* nodes of the stack before: sorted stacks share most of theirs with it */
};

static int add_node(struct growing *g, u32 parent, u32 frame, u32 depth, u32 *out)
{
    size_t width = 2 * g->tree->ncolumns;
    u64 hash = hash_u64((u64)parent << 32 | frame);
    u32 row;
    for (struct probe p = lookup_start(&g->children, hash); lookup_next(&g->children, &p, &row);)
        if (g->nodes.v[row].parent == parent && g->nodes.v[row].frame == frame) {
            *out = row;
            return 0;
        }
    row = (u32)g->nodes.n;
    struct tree_node *n = VEC_PUSH(&g->nodes);
    if (!n || VEC_RESERVE(&g->sums, g->sums.n + width) || (depth && lookup_put(&g->children, hash, row)))
        return -ENOMEM;
    *n = (struct tree_node){.frame = frame, .parent = parent, .depth = depth};
    if (width)
        memset(g->sums.v + g->sums.n, 0, width * sizeof(u64));
    g->sums.n += width;
    *out = row;
    return 0;
}

static int add_frames(struct growing *g, struct frames *f, const struct prof_stack *s)
{
    u32 node = 0;
    bool shared = true; /* so far, with the stack before */
    if (!g->by_pid)
        f->v[0].pid = 0;
    if (VEC_RESERVE(&g->path, f->n))
        return -ENOMEM;
    for (u32 i = 0; i < f->n; i++) {
        s64 frame = frame_table_add(&g->tree->frames, &f->v[i]);
        if (frame < 0)
            return -ENOMEM;
        shared = shared && i < g->path.n && g->nodes.v[g->path.v[i]].frame == frame;
        if (shared)
            node = g->path.v[i];
        else if (add_node(g, node, (u32)frame, i + 1, &node))
            return -ENOMEM;
        g->path.v[i] = node;
    }
    g->path.n = f->n;
    u64 *sums = g->sums.v + 2 * ((size_t)node * g->tree->ncolumns + g->first[s->event]);
    for (size_t v = 0; v < event_width(g->p->events[s->event]); v++) {
        sums[2 * v] += s->count[v];
        sums[2 * v + 1] += s->value[v];
    }
    return 0;
}

static int grow(struct growing *g)
{
    struct frames f = {0};
    u32 root;
    int r = add_node(g, 0, UINT32_MAX, 0, &root);
    for (size_t i = 0; i < g->p->stacks.n && !r; i++) {
        const struct prof_stack *s = &g->p->stacks.v[i];
        if (s->event >= g->p->nevents || !stack_has_any(s))
            continue;
        r = frames_of(g->p, s, &f);
        if (!r)
            r = add_frames(g, &f, s);
    }
    vec_free(&f);
    return r;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static int by_text(const void *x, const void *y, void *arg)
{
    const struct growing *g = arg;
    const struct frame_row *a = &g->tree->frames.rows.v[*(const u32 *)x];
    const struct frame_row *b = &g->tree->frames.rows.v[*(const u32 *)y];
    int r = a->name == b->name ? 0 : strcmp(frame_text(g->p, a->name), frame_text(g->p, b->name));
    if (!r && a->module != b->module)
        r = strcmp(profile_text(g->p, a->module), profile_text(g->p, b->module));
    if (!r && a->file != b->file)
        r = strcmp(profile_text(g->p, a->file), profile_text(g->p, b->file));
    if (!r)
        r = (a->pid > b->pid) - (a->pid < b->pid);
    if (!r)
        r = (int)a->kind - (int)b->kind;
    return r ? r : (int)a->inlined - (int)b->inlined;
}

/* Puts frames in the order of their texts and renumbers them in the nodes. */
static int order_frames(struct growing *g)
{
    size_t n = g->tree->frames.rows.n;
    AUTO_FREE u32 *order = calloc(n + 1, sizeof(*order));
    AUTO_FREE u32 *rank = calloc(n + 1, sizeof(*rank));
    struct frame_row *rows = calloc(n + 1, sizeof(*rows));
    if (!order || !rank || !rows) {
        free(rows);
        return -ENOMEM;
    }
    for (u32 i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof(*order), by_text, g);
    for (u32 i = 0; i < n; i++) {
        rank[order[i]] = i;
        rows[i] = g->tree->frames.rows.v[order[i]];
    }
    for (size_t i = 1; i < g->nodes.n; i++)
        g->nodes.v[i].frame = rank[g->nodes.v[i].frame];
    free(g->tree->frames.rows.v);
    g->tree->frames.rows.v = rows;
    g->tree->frames.rows.cap = n + 1;
    lookup_free(&g->tree->frames.index); /* rows are no longer where it says */
    return 0;
}

/* Rows of `nodes`, sorted by frame (counting: as many frames as there are, each once). */
static int nodes_by_frame(const struct growing *g, u32 *out)
{
    size_t nframes = g->tree->frames.rows.n;
    AUTO_FREE u32 *start = calloc(nframes + 2, sizeof(*start));
    if (!start)
        return -ENOMEM;
    for (size_t i = 1; i < g->nodes.n; i++)
        start[g->nodes.v[i].frame + 1]++;
    for (size_t i = 1; i <= nframes; i++)
        start[i] += start[i - 1];
    for (u32 i = 1; i < g->nodes.n; i++)
        out[start[g->nodes.v[i].frame]++] = i;
    return 0;
}

/* first[] and next[] of each node's children, ascending by frame: nodes are put in front of the list, last frame
 * first. */
static int link_children(const struct growing *g, u32 *first, u32 *next)
{
    AUTO_FREE u32 *sorted = calloc(g->nodes.n, sizeof(*sorted));
    if (!sorted || nodes_by_frame(g, sorted))
        return -ENOMEM;
    for (size_t i = g->nodes.n - 1; i--;) {
        u32 node = sorted[i], parent = g->nodes.v[node].parent;
        next[node] = first[parent];
        first[parent] = node;
    }
    return 0;
}

/* Copies nodes and sums to the tree in preorder. `first` is used up: it becomes the new number of each node. */
static void copy_preorder(const struct growing *g, u32 *first, const u32 *next)
{
    struct calltree *t = g->tree;
    size_t width = 2 * t->ncolumns;
    u32 node = 0;
    while (t->n < g->nodes.n) {
        const struct tree_node *old = &g->nodes.v[node];
        u32 child = first[node], number = (u32)t->n++;
        t->nodes[number] = *old;
        t->nodes[number].parent = number ? first[old->parent] : 0;
        if (width)
            memcpy(t->sums + number * width, g->sums.v + node * width, width * sizeof(u64));
        first[node] = number;
        while (!child && node) { /* no further down: the next sibling of the nearest that has one */
            child = next[node];
            node = g->nodes.v[node].parent;
        }
        node = child;
    }
}

/* Totals and ends, from the last node to the first: children come behind their parents. */
static void sum_up(struct calltree *t)
{
    size_t width = 2 * t->ncolumns;
    if (width)
        memcpy(t->totals, t->sums, t->n * width * sizeof(u64));
    for (size_t i = 0; i < t->n; i++)
        t->nodes[i].end = (u32)i + 1;
    for (size_t i = t->n; i-- > 1;) {
        u32 parent = t->nodes[i].parent;
        if (t->nodes[parent].end < t->nodes[i].end)
            t->nodes[parent].end = t->nodes[i].end;
        for (size_t k = 0; k < width; k++)
            t->totals[parent * width + k] += t->totals[i * width + k];
    }
}

static int finish(struct growing *g)
{
    struct calltree *t = g->tree;
    AUTO_FREE u32 *first = calloc(g->nodes.n, sizeof(*first));
    AUTO_FREE u32 *next = calloc(g->nodes.n, sizeof(*next));
    t->nodes = calloc(g->nodes.n, sizeof(*t->nodes));
    t->sums = calloc(g->sums.n + 1, sizeof(*t->sums));
    t->totals = calloc(g->sums.n + 1, sizeof(*t->totals));
    if (!first || !next || !t->nodes || !t->sums || !t->totals || order_frames(g) || link_children(g, first, next))
        return -ENOMEM;
    copy_preorder(g, first, next);
    sum_up(t);
    return 0;
}

int calltree_build(const struct profile *p, bool by_pid, struct calltree *out)
{
    struct growing g = {.p = p, .by_pid = by_pid, .tree = out};
    for (size_t e = 0; e < p->nevents; e++) {
        g.first[e] = out->ncolumns;
        out->ncolumns += event_width(p->events[e]);
    }
    out->frames.inlines = true;
    int r = grow(&g);
    if (!r)
        r = finish(&g);
    vec_free(&g.nodes);
    vec_free(&g.sums);
    vec_free(&g.path);
    lookup_free(&g.children);
    return r;
}

void calltree_free(struct calltree *t)
{
    frame_table_free(&t->frames);
    free(t->nodes);
    free(t->sums);
    free(t->totals);
    *t = (struct calltree){0};
}
