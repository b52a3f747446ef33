/* Requests about a file, whose reply is a struct, or structs. */
#include "parser/child_internal.h"
#include "base/buf.h"
#include <errno.h>
#include <unistd.h>

static int do_links(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                    struct parser_answer *a, int *fd)
{
    struct debug_links links;
    int rc = work->links(fds[SLOT_FILE], rq->n != 0, &links);
    return rc ? rc : child_reply(&links, sizeof(links), a, fd);
}

static int do_facts(const struct parser_work *work, int file, struct parser_answer *a, int *fd)
{
    struct facts facts;
    int rc = work->facts(file, &facts);
    return rc ? rc : child_reply(&facts, sizeof(facts), a, fd);
}

static int do_sites(int (*read)(int fd, struct allocators *out), int file, struct parser_answer *a, int *fd)
{
    struct allocators found;
    int rc = read(file, &found);
    return rc ? rc : child_reply(&found, sizeof(found), a, fd);
}

static int do_go_heap(const struct parser_work *work, int file, struct parser_answer *a, int *fd)
{
    struct go_heap found;
    int rc = work->go_heap(file, &found);
    return rc ? rc : child_reply(&found, sizeof(found), a, fd);
}

/* What is found by name. */
static int do_find(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                   struct parser_answer *a, int *fd)
{
    AUTO_BUF struct buf found = {0};
    char pattern[FUNCTIONS_NAME + 1] = "";
    if (!rq->n || rq->n > FUNCTIONS_NAME || pread(fds[SLOT_OFFSETS], pattern, rq->n, 0) != (ssize_t)rq->n)
        return -EPROTO;
    int rc = rq->op == PARSER_USDT ? work->usdt(fds[SLOT_FILE], pattern, &found)
                                   : work->functions(fds[SLOT_FILE], fds[SLOT_DEBUG], pattern, &found);
    return rc ? rc : child_reply(found.data, found.len, a, fd);
}

int child_facts(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                struct parser_answer *a, int *fd)
{
    switch (rq->op) {
    case PARSER_LINKS:
        return do_links(work, rq, fds, a, fd);
    case PARSER_FACTS:
        return do_facts(work, fds[SLOT_FILE], a, fd);
    case PARSER_ALLOCATORS:
        return do_sites(work->allocators, fds[SLOT_FILE], a, fd);
    case PARSER_GO_LOCKS:
        return do_sites(work->go_locks, fds[SLOT_FILE], a, fd);
    case PARSER_GO_HEAP:
        return do_go_heap(work, fds[SLOT_FILE], a, fd);
    default:
        return do_find(work, rq, fds, a, fd);
    }
}
