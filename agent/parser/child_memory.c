/* The child's side of requests about the memory of a process. */
#include "base/cleanup.h"
#include "parser/child_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_ATTACHED 65536

struct view { /* a memfd of the parent */
    const void *data;
    size_t len;
};

static void view_free(struct view *v)
{
    if (v->len)
        munmap((void *)v->data, v->len);
}

/* 0; -EPROTO: there is none, or it has more than `max` bytes; or -errno. */
static int view_open(int fd, size_t max, struct view *out)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || st.st_size < 0 || (size_t)st.st_size > max)
        return -EPROTO;
    if (!st.st_size)
        return 0;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return -errno;
    *out = (struct view){.data = data, .len = (size_t)st.st_size};
    return 0;
}

static int names(const struct parser_work *work, const struct parser_request *rq, const int *fds, struct buf *out)
{
    CLEANUP(view_free) struct view attached = {0};
    CLEANUP(view_free) struct view words = {0};
    int rc = rq->n > RUNTIME_MAX_WORDS ? -EPROTO : view_open(fds[SLOT_INDEX], MAX_ATTACHED, &attached);
    if (!rc)
        rc = view_open(fds[SLOT_OFFSETS], RUNTIME_MAX_WORDS * sizeof(u64), &words);
    if (!rc && words.len != rq->n * sizeof(u64))
        rc = -EPROTO;
    return rc ? rc : work->runtime_names(fds[SLOT_FILE], attached.data, attached.len, words.data, rq->n, out);
}

int child_memory(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                 struct parser_answer *a, int *fd)
{
    AUTO_BUF struct buf out = {0};
    int maps = fds[SLOT_SYMBOLS], rc = -EPROTO;
    if (rq->op == PARSER_RUNTIME_NAMES)
        rc = names(work, rq, fds, &out);
    else if (maps >= 0)
        rc = rq->op == PARSER_ATTACH  ? work->attach(fds[SLOT_FILE], maps, &out)
             : rq->op == PARSER_ABOUT ? work->about(fds[SLOT_FILE], maps, &out)
                                      : work->generated(fds[SLOT_FILE], maps, fds[SLOT_DEBUG], &out);
    return rc ? rc : child_reply(out.data, out.len, a, fd);
}
