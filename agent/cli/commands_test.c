#include "cli/commands.h"
#include "base/test.h"
#include "base/cleanup.h"
#include <fcntl.h>
#include <unistd.h>

static int run_check(int argc, char **argv)
{
    return strcmp(argv[0], "check") != 0 ? 99 : 10 + argc;
}

struct said {
    char out[32768], err[4096];
    int rc;
};

/* Output and errors of a command line in other files than the tests' own. */
static int into(int fd, int *saved)
{
    fflush(NULL);
    *saved = dup(fd);
    AUTO_CLOSE int file = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    return file < 0 || *saved < 0 ? -1 : dup2(file, fd);
}

static void back(int fd, int saved, char *text, size_t size)
{
    fflush(NULL);
    ssize_t n = pread(fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = 0;
    dup2(saved, fd);
    close(saved);
}

static int dispatch(struct said *s, const char *line)
{
    static const struct command_run runs[] = {{"check", run_check}};
    char copy[128], *argv[8] = {NULL}, *rest = copy;
    int argc = 0, out, err;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; argc < 7 && (word = strsep(&rest, " "));)
        argv[argc++] = word;
    if (into(1, &out) < 0 || into(2, &err) < 0)
        return -1;
    s->rc = commands_dispatch(argc, argv, runs, 1);
    back(1, out, s->out, sizeof(s->out));
    back(2, err, s->err, sizeof(s->err));
    return s->rc;
}

TEST(commands_run_by_their_name)
{
    struct said s;
    CHECK_EQ(dispatch(&s, "xprof check --fast x"), 13);
    CHECK_EQ(dispatch(&s, "xprof chec"), 2);
    CHECK(strstr(s.err, "there is no command \"chec\"") && !s.out[0]);
}

TEST(commands_every_program_has)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"xprof version", "xprof " XPROF_VERSION "\n"},
        {"xprof --version", "xprof " XPROF_VERSION "\n"},
        {"xprof -V", "xprof " XPROF_VERSION "\n"},
        {"xprof help", "\nCommands:\n"},
        {"xprof --help", "\nCommands:\n"},
        {"xprof -h", "\nCommands:\n"},
        {"xprof help agent", "Usage: xprof agent"},
        {"xprof help --help", "Usage: xprof help [COMMAND]"},
        {"xprof completion bash", "# bash completion for xprof"},
        {"xprof options-table", "`xprof record [OPTION...]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s;
        CHECK_EQ(dispatch(&s, cases[i].line), 0);
        CHECK(strstr(s.out, cases[i].says));
        CHECK_STR(s.err, "");
    }
}

TEST(commands_mistakes_end_with_2)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"xprof", "Usage: xprof COMMAND"},
        {"xprof help nothing", "there is no command \"nothing\""},
        {"xprof completion", "completion without \"bash\""},
        {"xprof completion zsh", "there is no command \"zsh\""},
        {"xprof version --nope", "unknown option --nope"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s;
        CHECK_EQ(dispatch(&s, cases[i].line), 2);
        CHECK(strstr(s.err, cases[i].says));
        CHECK_STR(s.out, "");
    }
}
