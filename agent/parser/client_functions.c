/* Requests for what is in a file by name: functions and probes. */
#include "parser/client_internal.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <string.h>

static int ask_by_name(struct parser *p, enum parser_op op, int fd, int debug, const char *pattern,
                       struct parser_reply *out)
{
    struct parser_request rq = {.op = op, .n = strlen(pattern)};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    if (!rq.n || rq.n > FUNCTIONS_NAME)
        return -ENAMETOOLONG;
    AUTO_CLOSE int memfd = fs_sealed_memfd("xprof-pattern", pattern, rq.n);
    if (memfd < 0)
        return memfd;
    slots.fd[SLOT_FILE] = fd;
    slots.fd[SLOT_OFFSETS] = memfd;
    slots.fd[SLOT_DEBUG] = debug;
    return client_ask(p, &rq, &slots, NULL, &a, out, NULL);
}

int parser_functions(struct parser *p, int fd, int debug, const char *pattern, struct parser_reply *out)
{
    return ask_by_name(p, PARSER_FUNCTIONS, fd, debug, pattern, out);
}

int parser_usdt(struct parser *p, int fd, const char *pattern, struct parser_reply *out)
{
    return ask_by_name(p, PARSER_USDT, fd, -1, pattern, out);
}
