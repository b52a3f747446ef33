/* The parent's judgement of what a child answered: nothing of it is believed before it is checked. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "dwarf/dwarf.h"
#include "dwarf/name_index.h"
#include "generated/generated.h"
#include "parser/protocol.h"
#include "parser/synth_table.h"
#include "runtime/go_heap.h"
#include "runtime/go_locks.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_ERRNO 4095

void parser_reply_free(struct parser_reply *r)
{
    if (r->data)
        munmap((void *)r->data, r->len);
    *r = (struct parser_reply){0};
}

/* Maps a memfd that can change no more: an index checked once stays checked, and no page of it can vanish. */
static int map_sealed(int fd, u64 len, struct parser_reply *out)
{
    struct stat st;
    if (fd < 0 || !len || len > PARSER_MAX_REPLY || !fs_is_sealed(fd) || fstat(fd, &st) || (u64)st.st_size != len)
        return -EPROTO;
    void *data = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return -errno;
    *out = (struct parser_reply){.data = data, .len = len};
    return 0;
}

static int check_key(const struct table_key *k)
{
    static const u8 zero[sizeof(k->build_id)];
    if (k->build_id_len > sizeof(k->build_id) || memcmp(k->pad, zero, sizeof(k->pad)) != 0)
        return -EPROTO;
    /* Keys are compared as bytes: what lies behind a short build ID must not tell equal ones apart. */
    return memcmp(k->build_id + k->build_id_len, zero, sizeof(zero) - k->build_id_len) ? -EPROTO : 0;
}

int answer_check(const struct parser_request *rq, const struct parser_answer *a, int fd, struct parser_reply *out,
                 struct names *view)
{
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct names names = {0};
    if (a->id != rq->id || a->status > 0 || a->status < -MAX_ERRNO || (a->flags & ~PARSER_LAST))
        return -EPROTO;
    if (a->status || rq->op == PARSER_IDENTIFY || rq->op == PARSER_SYNTH_IDENTIFY) {
        if (fd >= 0 || a->len)
            return -EPROTO;
        return a->status ? a->status : check_key(&a->key);
    }
    int rc = map_sealed(fd, a->len, &reply);
    if (rc)
        return rc;
    if (rq->op == PARSER_TABLE && table_check(reply.data, reply.len))
        return -EPROTO;
    struct parser_synth synth;
    bool rows = rq->op == PARSER_SYNTH || rq->op == PARSER_STRETCHES;
    if (rows && synth_reply_open(reply.data, reply.len, &synth))
        return -EPROTO;
    if (rq->op == PARSER_FACTS && !facts_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_ALLOCATORS && !allocators_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_GO_LOCKS && !go_locks_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_GO_HEAP && !go_heap_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_FUNCTIONS && !functions_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_USDT && !usdt_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_LINKS && !debug_links_sound(reply.data, reply.len))
        return -EPROTO;
    struct generated code;
    if (rq->op == PARSER_GENERATED && generated_open(reply.data, reply.len, &code))
        return -EPROTO;
    struct name_index names_of_all;
    if (rq->op == PARSER_NAME_INDEX && name_index_open(&names_of_all, reply.data, reply.len))
        return -EPROTO;
    struct dwarf_index lines;
    if (rq->op == PARSER_LINES && dwarf_index_open(&lines, reply.data, reply.len))
        return -EPROTO;
    const void *row;
    if (rq->op == PARSER_ATTACH && !runtime_attached(reply.data, reply.len, &row))
        return -EPROTO;
    if (rq->op == PARSER_ABOUT && !runtime_about_sound(reply.data, reply.len))
        return -EPROTO;
    if (rq->op == PARSER_RUNTIME_NAMES && names_view(reply.data, reply.len, rq->n / 2, &names))
        return -EPROTO;
    if ((rq->op == PARSER_NAMES || rq->op == PARSER_JIT) && names_view(reply.data, reply.len, rq->n, &names))
        return -EPROTO;
    if (view)
        *view = names;
    *out = reply;
    reply.data = NULL; /* handed over */
    return 0;
}

int want_check(const struct parser_request *rq, const struct parser_answer *a, int fd, struct parser_want *out)
{
    CLEANUP(parser_reply_free) struct parser_reply text = {0};
    if (a->id != rq->id || a->status || a->flags != PARSER_WANTS || rq->op != PARSER_LINES || a->len > PARSER_MAX_WANT)
        return -EPROTO;
    int rc = map_sealed(fd, a->len, &text);
    if (rc)
        return rc;
    const char *dir = text.data, *end = dir + text.len, *name = memchr(dir, 0, text.len);
    if (!name || ++name == end || memchr(name, 0, (size_t)(end - name)) != end - 1)
        return -EPROTO;
    *out = (struct parser_want){.bytes = text, .dir = dir, .name = name};
    text.data = NULL; /* handed over */
    return 0;
}
