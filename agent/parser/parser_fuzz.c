/* Whatever a child may answer: the input is the operation, the packet, and the bytes of the memfd beside it. */
#include "base/fs.h"
#include "parser/protocol.h"
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte that a checked view promises. */
static u64 walk(const struct names *view)
{
    u64 sum = 0;
    for (u32 i = 0; i < view->n; i++)
        for (u32 k = view->first[i]; k < view->first[i + 1]; k++)
            sum += strlen(view->strings + view->frames[k].name) + strlen(view->strings + view->frames[k].system_name) +
                   strlen(view->strings + view->frames[k].file);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct parser_answer a;
    struct parser_reply reply = {0};
    struct names view = {0};
    if (size < sizeof(a) + 2)
        return 0;
    struct parser_request rq = {
        .id = 1, .op = PARSER_IDENTIFY + data[0] % (PARSER_GIVE - PARSER_IDENTIFY), .n = data[1]};
    memcpy(&a, data + 2, sizeof(a));
    data += 2 + sizeof(a);
    size -= 2 + sizeof(a);
    if (a.flags & 4) /* the honest frame, so that the content is reached */
        a = (struct parser_answer){.id = 1, .len = size, .flags = a.flags & (PARSER_LAST | PARSER_WANTS)};
    int fd = size ? fs_sealed_memfd("fuzz", data, size) : -1;
    if (!answer_check(&rq, &a, fd, &reply, &view) && rq.op == PARSER_NAMES && walk(&view) == ~0ull)
        __builtin_trap();
    struct parser_want want = {0};
    if (a.flags & PARSER_WANTS && !want_check(&rq, &a, fd, &want) && strlen(want.dir) + strlen(want.name) > size)
        __builtin_trap();
    parser_reply_free(&want.bytes);
    parser_reply_free(&reply);
    if (fd >= 0)
        close(fd);
    return 0;
}
