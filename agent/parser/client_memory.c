/* Requests about the memory of a process. */
#include "parser/client_internal.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "runtime/runtime.h"
#include <errno.h>

int parser_generated(struct parser *p, int mem, int maps, int program, struct parser_reply *out)
{
    struct parser_request rq = {.op = PARSER_GENERATED};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    slots.fd[SLOT_FILE] = mem;
    slots.fd[SLOT_SYMBOLS] = maps;
    slots.fd[SLOT_DEBUG] = program;
    return client_ask(p, &rq, &slots, NULL, &a, out, NULL);
}

static int ask_of_process(struct parser *p, enum parser_op op, int mem, int maps, struct parser_reply *out)
{
    struct parser_request rq = {.op = op};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    slots.fd[SLOT_FILE] = mem;
    slots.fd[SLOT_SYMBOLS] = maps;
    return client_ask(p, &rq, &slots, NULL, &a, out, NULL);
}

int parser_attach(struct parser *p, int mem, int maps, struct parser_reply *out)
{
    return ask_of_process(p, PARSER_ATTACH, mem, maps, out);
}

int parser_about(struct parser *p, int mem, int maps, struct parser_reply *out)
{
    return ask_of_process(p, PARSER_ABOUT, mem, maps, out);
}

int parser_runtime_names(struct parser *p, int mem, int attached, const u64 *words, size_t n, struct parser_reply *out,
                         struct names *view)
{
    struct parser_request rq = {.op = PARSER_RUNTIME_NAMES, .n = n};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    if (n > RUNTIME_MAX_WORDS)
        return -E2BIG;
    AUTO_CLOSE int memfd = fs_sealed_memfd("xprof-words", words, n * sizeof(*words));
    if (memfd < 0)
        return memfd;
    slots.fd[SLOT_FILE] = mem;
    slots.fd[SLOT_INDEX] = attached;
    slots.fd[SLOT_OFFSETS] = memfd;
    return client_ask(p, &rq, &slots, NULL, &a, out, view);
}
