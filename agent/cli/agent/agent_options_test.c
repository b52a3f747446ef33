#include "cli/agent/agent_options.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <unistd.h>

/* What a command line, the environment and a file make together. */
struct asked {
    struct agent_options o;
    struct config_file *file;
    struct buf message;
    char line[256], path[64];
    char *argv[16];
    int rc;
};

static void asked_free(struct asked *a)
{
    agent_options_free(&a->o);
    config_file_free(&a->file);
    buf_free(&a->message);
    if (a->path[0])
        unlink(a->path);
}
#define AUTO_ASKED CLEANUP(asked_free) struct asked

/* `text` is the file's, NULL: none is named. */
static int ask(struct asked *a, const char *line, const char *text)
{
    int n = 0;
    char name[] = "agent", flag[] = "--config", *rest = a->line;
    snprintf(a->line, sizeof(a->line), "%s", line);
    a->argv[n++] = name;
    for (char *word; n < 14 && (word = strsep(&rest, " "));)
        if (*word)
            a->argv[n++] = word;
    if (text) {
        strcpy(a->path, "/tmp/xprof-options-XXXXXX");
        AUTO_CLOSE int fd = mkstemp(a->path);
        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
            return -EIO;
        a->argv[n++] = flag;
        a->argv[n++] = a->path;
    }
    a->rc = agent_options_parse(n, a->argv, &a->o, &a->file, &a->message);
    buf_char(&a->message, 0);
    return a->rc;
}

TEST(agent_options_flags_win_over_variables_over_the_file)
{
    AUTO_ASKED a = {0};
    unsigned line;
    setenv("XPROF_RATE", "30", 1);
    setenv("XPROF_INTERVAL", "30s", 1);
    int rc = ask(&a, "--rate 40", "rate: 20\ninterval: 20s\nmax-cpu: 20\npod-labels: [a, b]\n");
    unsetenv("XPROF_RATE");
    unsetenv("XPROF_INTERVAL");
    CHECK_EQ(rc, 0);
    CHECK_EQ(a.o.rate, 40);
    CHECK_EQ(a.o.interval_ns, 30000000000ull);
    CHECK_EQ(a.o.max_cpu, 20);
    CHECK_EQ(a.o.pod_labels.n, 2);
    CHECK_STR(a.o.pod_labels.v[1], "b");
    CHECK(a.o.kernel && !a.o.targets_only);
    CHECK(!config_file_left(a.file, &line)); /* what a flag decided is no unknown key of the file */
}

TEST(agent_options_keys_that_nobody_knows_are_left_in_the_file)
{
    AUTO_ASKED a = {0};
    unsigned line;
    CHECK_EQ(ask(&a, "", "rate: 20\nraet: 3\n"), 0);
    CHECK_STR(config_file_left(a.file, &line), "raet");
}

TEST(agent_options_mistakes_name_their_place)
{
    static const struct {
        const char *line, *file, *says;
    } cases[] = {
        {"", "rate: 20\nmax-cpu: 0\n", ":2: max-cpu: 0 is not in the range"},
        {"", "debug-dir: [/a, '']\n", ":1: debug-dir: an empty"},
        {"--config /nowhere/xprof.yaml", NULL, "/nowhere/xprof.yaml"},
        {"--pod-selector a=", "pod-selector: '=='\n", NULL},
        {"--pod-selector ==", NULL, "--pod-selector: "},
        {"--namespace-selector ==", NULL, "--namespace-selector: "},
        {"--kernel=off --user=off", NULL, "--kernel=off and --user=off"},
        {"--kernel=off", NULL, NULL},
        {"--user=off", NULL, NULL},
        {"--cert-file /x", NULL, "--cert-file and --key-file"},
        {"--key-file /x", NULL, "--cert-file and --key-file"},
        {"--cert-file /x --key-file /y", NULL, NULL},
        {"--rate 500", NULL, "--max-rate"},
        {"--rate 500 --max-rate 500", NULL, NULL},
        {"--annotation-prefix xprof.io/", NULL, "--annotation-prefix"},
        {"--annotation-prefix .io", NULL, "--annotation-prefix"},
        {"--annotation-prefix io-", NULL, "--annotation-prefix"},
        {"--annotation-prefix my-prof.example", NULL, NULL},
        {"--proxy proxy:3128", NULL, "--proxy"},
        {"--proxy http://", NULL, "--proxy"},
        {"--proxy ftp://proxy", NULL, "--proxy"},
        {"--proxy http://me:secret@proxy:3128", NULL, NULL},
        {"--proxy off", "no-proxy: .svc,10.0.0.0/8\n", NULL},
        {"--label a=b --label c", NULL, "--label"},
        {"--label =b", NULL, "--label"},
        {"--label a=", NULL, NULL},
        {"--kube nowhere", NULL, "auto, api, kubelet, cri, off"},
        {"--events nothing", NULL, "--events: unknown value \"nothing\"; see \"xprof list\"\n"},
        {"", "rate: 20\nevents: [cpu, nothing]\n", ":2: events: unknown value \"nothing\"; see \"xprof list\"\n"},
        {"--events offcpu,off-cpu", NULL, "--events: offcpu is listed twice\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_ASKED a = {0};
        CHECK_EQ(ask(&a, cases[i].line, cases[i].file), cases[i].says ? -EINVAL : 0);
        CHECK(strstr(a.message.data, cases[i].says ? cases[i].says : ""));
        CHECK(!cases[i].says == !a.message.data[0]);
    }
}

/* What takes effect at the next start only is named when a new configuration changes it, and nothing else is. */
TEST(agent_options_that_need_a_start)
{
    AUTO_ASKED a = {0}, b = {0};
    size_t at = 0;
    CHECK_EQ(ask(&a, "--rate 20 --label a=b --debug-dir /x", NULL), 0);
    CHECK_EQ(ask(&b, "--rate 30 --label a=c --debug-dir /x --stack-memory 32M --node-name n --io-labels file", NULL),
             0);
    CHECK_STR(agent_options_fixed(&a.o, &b.o, &at), "io-labels");
    CHECK_STR(agent_options_fixed(&a.o, &b.o, &at), "stack-memory");
    CHECK_STR(agent_options_fixed(&a.o, &b.o, &at), "node-name");
    CHECK_STR(agent_options_fixed(&a.o, &b.o, &at), "label");
    CHECK(!agent_options_fixed(&a.o, &b.o, &at));
    at = 0;
    CHECK(!agent_options_fixed(&a.o, &a.o, &at));
}

TEST(agent_options_as_a_file_say_the_same_again)
{
    AUTO_ASKED a = {0}, again = {0};
    AUTO_BUF struct buf first = {0}, second = {0};
    CHECK_EQ(ask(&a, "--rate 20 --kernel=off -e cpu --pod-labels a,b --label x=y --tenant \"t\" --listen off",
                 "exporters: [{name: a, type: directory, path: /a}]\ndefault-labels: {a: b}\n"),
             0);
    agent_options_print(&a.o, a.file, &first);
    buf_char(&first, 0);
    CHECK(strstr(first.data, "\nrate: 20\n") && strstr(first.data, "\nkernel: off\n"));
    CHECK(strstr(first.data, "\npod-labels:\n  - \"a\"\n  - \"b\"\n"));
    CHECK(strstr(first.data, "\ntenant: \"\\\"t\\\"\"\n"));
    CHECK(strstr(first.data, "\n# user-name:\n")); /* not given, but told of */
    CHECK(strstr(first.data, "\nexporters: [{\"name\": \"a\", \"type\": \"directory\", \"path\": \"/a\"}]\n"));
    CHECK(strstr(first.data, "\n# targets: [{") && strstr(first.data, "\ndefault-labels: {\"a\": \"b\"}\n"));
    CHECK(!strstr(first.data, "\nconfig:") && !strstr(first.data, "print-config"));
    CHECK_EQ(ask(&again, "", first.data), 0);
    CHECK_EQ(again.o.rate, 20);
    CHECK(!again.o.kernel);
    agent_options_print(&again.o, again.file, &second);
    buf_char(&second, 0);
    CHECK_STR(second.data, first.data);
    AUTO_BUF struct buf without = {0};
    agent_options_print(&a.o, NULL, &without);
    buf_char(&without, 0);
    CHECK(strstr(without.data, "\n# exporters: [{") && !strstr(without.data, "default-labels"));
}
