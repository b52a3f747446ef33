/* Files that the child wants while it makes a line index. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/dwarf.h"
#include "cfi/fixture.h"
#include "parser/protocol.h"
#include <errno.h>
#include <sys/mman.h>

static const struct parser_limits patient = PARSER_LIMITS_DEFAULT;

struct shelf { /* what files->dwo is asked for */
    char asked[256];
    int error; /* 0: the fixture's unit is given */
    bool writable;
};

static int take_from_shelf(void *ctx, const char *dir, const char *name)
{
    struct shelf *s = ctx;
    snprintf(s->asked, sizeof(s->asked), "%s|%s", dir, name);
    if (s->error)
        return s->error;
    return s->writable ? memfd_create("unit", MFD_CLOEXEC) : fixture_fd("dwarf-split-5-dwarf.dwo");
}

static int functions_with(struct parser *p, struct shelf *shelf)
{
    CLEANUP(parser_reply_free) struct parser_reply lines = {0};
    AUTO_CLOSE int fd = fixture_fd("dwarf-split-5");
    struct dwarf_fds files = DWARF_FDS_OF(fd);
    files.dwo = shelf ? take_from_shelf : NULL;
    files.ctx = shelf;
    int rc = parser_lines(p, &files, &lines);
    return rc ? rc : (int)((const struct dwarf_index_header *)lines.data)->functions;
}

TEST(parser_opens_what_the_child_wants)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    AUTO_CLOSE int unit = fixture_fd("dwarf-split-5-dwarf.dwo");
    struct shelf shelf = {.error = 0};
    if (unit < 0)
        SKIP("no fixture");
    CHECK_EQ(parser_new(&p, &patient), 0);
    CHECK(functions_with(p, &shelf) > 2);
    CHECK(strstr(shelf.asked, "|dwarf-split-5-dwarf.dwo") || strstr(shelf.asked, "/dwarf-split-5-dwarf.dwo"));
    shelf.error = -EACCES;
    CHECK_EQ(functions_with(p, &shelf), 0);
    shelf = (struct shelf){.writable = true}; /* the child never gets what it could write to */
    CHECK_EQ(functions_with(p, &shelf), 0);
    CHECK_EQ(functions_with(p, NULL), 0);
    CHECK_EQ(parser_restarts(p), 0);
}

static int check_want(const char *text, size_t len, enum parser_op op, u32 flags)
{
    struct parser_request rq = {.id = 7, .op = op};
    struct parser_answer a = {.id = 7, .len = len, .flags = flags};
    AUTO_CLOSE int fd = fs_sealed_memfd("want", text, len);
    struct parser_want want = {0};
    int rc = want_check(&rq, &a, fd, &want);
    if (!rc && (strcmp(want.dir, "dir") || strcmp(want.name, "name")))
        rc = 1;
    parser_reply_free(&want.bytes);
    return rc;
}

TEST(parser_believes_no_wish_that_is_malformed)
{
    char large[PARSER_MAX_WANT + 2] = "dir";
    memset(large + 4, 'x', sizeof(large) - 5);
    CHECK_EQ(check_want("dir\0name", 9, PARSER_LINES, PARSER_WANTS), 0);
    CHECK_EQ(check_want("dir\0name", 8, PARSER_LINES, PARSER_WANTS), -EPROTO);
    CHECK_EQ(check_want("dirname", 8, PARSER_LINES, PARSER_WANTS), -EPROTO);
    CHECK_EQ(check_want("dir\0name\0more", 14, PARSER_LINES, PARSER_WANTS), -EPROTO);
    CHECK_EQ(check_want("dir\0name", 9, PARSER_TABLE, PARSER_WANTS), -EPROTO);
    CHECK_EQ(check_want("dir\0name", 9, PARSER_LINES, PARSER_WANTS | PARSER_LAST), -EPROTO);
    CHECK_EQ(check_want(large, sizeof(large), PARSER_LINES, PARSER_WANTS), -EPROTO);
}

/* One that is as long as it may be, and what could be said of it. */
TEST(parser_takes_wishes_up_to_the_limit)
{
    char text[PARSER_MAX_WANT] = "dir";
    memset(text + 4, 'x', sizeof(text) - 5);
    struct parser_request rq = {.id = 7, .op = PARSER_LINES};
    struct parser_answer a = {.id = 7, .len = sizeof(text), .flags = PARSER_WANTS};
    AUTO_CLOSE int fd = fs_sealed_memfd("want", text, sizeof(text));
    struct parser_want want = {0};
    CHECK_EQ(want_check(&rq, &a, fd, &want), 0); /* as long as it may be */
    CHECK_EQ(strlen(want.name), sizeof(text) - 5);
    parser_reply_free(&want.bytes);
    a.status = -1;
    CHECK_EQ(want_check(&rq, &a, fd, &want), -EPROTO);
    a.status = 0;
    a.id = 8;
    CHECK_EQ(want_check(&rq, &a, fd, &want), -EPROTO);
    a.id = 7;
    CHECK_EQ(want_check(&rq, &a, -1, &want), -EPROTO);
}
