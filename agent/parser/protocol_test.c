/* What the parent makes of packets that no child would send. */
#include "parser/protocol.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

/* The judgement of an answer to this operation; `text` NULL: without a descriptor. */
static int judge(enum parser_op op, struct parser_answer a, const char *text, size_t len)
{
    struct parser_request rq = {.id = 7, .op = op, .n = 1};
    struct parser_reply reply = {0};
    AUTO_CLOSE int fd = text ? fs_sealed_memfd("answer", text, len) : -1;
    int rc = answer_check(&rq, &a, fd, &reply, NULL);
    bool given = reply.data;
    parser_reply_free(&reply);
    return rc && given ? 1 : rc;
}

TEST(answers_with_a_status)
{
    struct parser_answer good = {.id = 7}, a;
    CHECK_EQ(judge(PARSER_IDENTIFY, good, NULL, 0), 0);
    CHECK_EQ(judge(PARSER_SYNTH_IDENTIFY, good, NULL, 0), 0);
    CHECK_EQ(judge(PARSER_IDENTIFY, good, "x", 1), -EPROTO);
    CHECK_EQ(judge(PARSER_TABLE, good, NULL, 0), -EPROTO);
    a = good, a.status = -4095;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -4095);
    CHECK_EQ(judge(PARSER_TABLE, a, NULL, 0), -4095);
    CHECK_EQ(judge(PARSER_TABLE, a, "x", 1), -EPROTO);
    a.status = -4096;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a.status = 1;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a = good, a.id = 8;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a = good, a.flags = PARSER_LAST;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), 0);
    a.flags = PARSER_WANTS;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a = good, a.len = 1;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
}

TEST(answers_with_keys)
{
    struct parser_answer good = {.id = 7, .key = {.build_id = {1, 2}, .build_id_len = 2}}, a;
    CHECK_EQ(judge(PARSER_IDENTIFY, good, NULL, 0), 0);
    a = good, a.key.build_id_len = 1; /* something lies behind it */
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a = good, a.key.build_id[19] = 1;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a.key.build_id_len = 20;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), 0);
    a.key.build_id_len = 21;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
    a = good, a.key.pad[2] = 1;
    CHECK_EQ(judge(PARSER_IDENTIFY, a, NULL, 0), -EPROTO);
}

/* Bytes that are no answer to any question. */
TEST(answers_that_make_no_sense)
{
    static const enum parser_op ops[] = {PARSER_TABLE, PARSER_NAMES, PARSER_LINES, PARSER_JIT,
                                         PARSER_LINKS, PARSER_FACTS, PARSER_SYNTH, PARSER_NAME_INDEX};
    static const char bytes[4096] = {[0 ... 4094] = (char)0xfe};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        for (size_t len = 1; len <= sizeof(bytes); len *= 4)
            CHECK_EQ(judge(ops[i], (struct parser_answer){.id = 7, .len = len}, bytes, len), -EPROTO);
}

/* Facts are the bytes of a struct, so that these are sound; they are, as long as the descriptor holds what is said. */
TEST(answers_are_as_long_as_they_say)
{
    struct facts facts;
    AUTO_CLOSE int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(facts_read(exe, &facts), 0);
    struct parser_answer a = {.id = 7, .len = sizeof(facts)};
    struct parser_request rq = {.id = 7, .op = PARSER_FACTS};
    struct parser_reply reply = {.len = 77};
    AUTO_CLOSE int good = fs_sealed_memfd("answer", &facts, sizeof(facts));
    CHECK_EQ(answer_check(&rq, &a, good, &reply, NULL), 0);
    CHECK(reply.len == sizeof(facts) && !memcmp(reply.data, &facts, sizeof(facts)));
    parser_reply_free(&reply);
    CHECK(!reply.data && !reply.len);
    reply.len = 77;
    CHECK_EQ(judge(PARSER_FACTS, a, (const char *)&facts, sizeof(facts) - 1), -EPROTO);
    CHECK_EQ(judge(PARSER_TABLE, a, (const char *)&facts, sizeof(facts)), -EPROTO);
    a.len = 0;
    CHECK_EQ(judge(PARSER_FACTS, a, (const char *)&facts, sizeof(facts)), -EPROTO);
    a.len = sizeof(facts);
    AUTO_CLOSE int open_end = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK_EQ(write(open_end, &facts, sizeof(facts)), sizeof(facts));
    CHECK_EQ(answer_check(&rq, &a, open_end, &reply, NULL), -EPROTO); /* it may still change */
    CHECK_EQ(reply.len, 77);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

TEST(child_needs_all_of_its_arguments)
{
    char *argv[] = {"xprof", PARSER_CHILD_ARG, "3", "1000", NULL};
    CHECK_EQ(parser_child_run(4, argv, NULL), 2);
    CHECK(parser_is_child(4, argv) && !parser_is_child(1, argv));
    argv[1] = "agent";
    CHECK(!parser_is_child(4, argv));
}
