#include "jit_maps.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "parser/parser.h"
#include "proc/proc.h"
#include <errno.h>
#include <string.h>

#define MAX_PROCESSES 1024 /* a descriptor each, two with a jitdump */

struct entry {
    struct jit_process *process;
    bool used;
};
struct jit_maps {
    struct parser *parser;
    VEC(struct entry) list;
};

struct jit_process *jit_process_new(u32 tgid, u64 start)
{
    struct jit_process *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->tgid = tgid;
    p->start = start;
    if (jit_place_open(tgid, start, &p->place)) {
        free(p);
        return NULL;
    }
    return p;
}

void jit_process_free(struct jit_process **p)
{
    if (!*p)
        return;
    jit_place_close(&(*p)->place);
    free(TAKE_PTR(*p));
}

int jit_maps_new(struct jit_maps **out, struct parser *parser)
{
    struct jit_maps *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    j->parser = parser;
    *out = j;
    return 0;
}

void jit_maps_free(struct jit_maps **j)
{
    if (!*j)
        return;
    for (size_t i = 0; i < (*j)->list.n; i++)
        jit_process_free(&(*j)->list.v[i].process);
    vec_free(&(*j)->list);
    free(TAKE_PTR(*j));
}

static struct entry *find(struct jit_maps *j, u32 tgid, u64 start)
{
    for (size_t i = 0; i < j->list.n; i++)
        if (j->list.v[i].process->tgid == tgid && j->list.v[i].process->start == start)
            return &j->list.v[i];
    return NULL;
}

static void drop(struct jit_maps *j, size_t i)
{
    jit_process_free(&j->list.v[i].process);
    memmove(&j->list.v[i], &j->list.v[i + 1], (--j->list.n - i) * sizeof(j->list.v[0]));
}

void jit_maps_add(struct jit_maps *j, struct jit_process *p)
{
    if (find(j, p->tgid, p->start)) {
        jit_process_free(&p);
        return;
    }
    if (j->list.n == MAX_PROCESSES)
        drop(j, 0); /* the one known longest */
    jit_place_look(&p->place, p->tgid);
    struct entry *e = VEC_PUSH(&j->list);
    if (e)
        *e = (struct entry){.process = p, .used = true};
    else
        jit_process_free(&p);
}

int jit_maps_names(struct jit_maps *j, u32 tgid, u64 start, const u64 *addresses, size_t n,
                   void (*use)(void *arg, const struct names *names), void *arg)
{
    struct entry *e = find(j, tgid, start);
    struct parser_reply reply = {0};
    struct names view;
    if (!e)
        return -ENOENT;
    e->used = true;
    AUTO_CLOSE int fd = jit_place_map(&e->process->place, tgid);
    int rc = fd < 0 ? fd : parser_jit(j->parser, fd, addresses, n, &reply, &view);
    if (!rc)
        use(arg, &view);
    else if (rc != -ENOENT)
        log_info("no names for what process %u made: its map: %s", tgid, strerror(-rc));
    parser_reply_free(&reply);
    return rc;
}

void jit_maps_age(struct jit_maps *j)
{
    for (size_t i = j->list.n; i--;) {
        struct entry *e = &j->list.v[i];
        if (!e->used && !proc_alive(e->process->tgid))
            drop(j, i);
        else
            e->used = false;
    }
}

bool jit_sample(const struct xp_sample *s)
{
    for (unsigned i = s->nkernel; i < (unsigned)s->nkernel + s->nuser; i++)
        if (XP_WORD_KIND(s->words[i]) == XP_WORD_ANON)
            return true;
    return false;
}
