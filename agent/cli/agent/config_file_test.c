#include "base/cleanup.h"
#include "base/test.h"
#include "cli/options/config_file.h"
#include "cli/agent/kubeconfig.h"
#include <errno.h>
#include <unistd.h>

static char path[64];
static char why[512];

/* The text as a file; its name is in `path`. */
static int load(struct config_file **f, const char *text)
{
    snprintf(path, sizeof(path), "/tmp/xprof-config-XXXXXX");
    AUTO_CLOSE int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return -EIO;
    int rc = config_file_new(f, path, why, sizeof(why));
    if (rc)
        unlink(path);
    return rc;
}

static void done(struct config_file **f)
{
    config_file_free(f);
    unlink(path);
}

TEST(config_file_is_flat)
{
    struct config_file *f = NULL;
    unsigned line = 0;
    CHECK_EQ(load(&f, "# nothing\nrate: 49\nlist: [a, b]\nmany:\n  - {x: 1, y: 'two words'}\n  - x: 3\n"), 0);
    CHECK_STR(config_file_take(f, "rate", &line), "49");
    CHECK_EQ(line, 2);
    CHECK_STR(config_file_take(f, "list.1", &line), "b");
    CHECK_EQ(config_file_items(f, "list"), 2);
    CHECK_EQ(config_file_items(f, "many"), 2);
    CHECK_STR(config_file_take(f, "many.0.y", NULL), "two words");
    CHECK_STR(config_file_key(f, "many.0", 0, NULL), "x");
    CHECK_STR(config_file_key(f, "many.0", 1, NULL), "y");
    CHECK(!config_file_key(f, "many.0", 2, NULL));
    CHECK(!config_file_take(f, "many", NULL));
    CHECK(!config_file_take(f, "rat", NULL));
    done(&f);
}

TEST(config_file_names_what_nobody_took)
{
    struct config_file *f = NULL;
    unsigned line = 0;
    CHECK_EQ(load(&f, "rate: 49\n\nintervall: 3s\n"), 0);
    CHECK_STR(config_file_left(f, &line), "rate");
    config_file_take(f, "rate", NULL);
    CHECK_STR(config_file_left(f, &line), "intervall");
    CHECK_EQ(line, 3);
    config_file_take(f, "intervall", NULL);
    CHECK(!config_file_left(f, &line));
    done(&f);
}

TEST(config_file_takes_underscores)
{
    struct config_file *f = NULL;
    unsigned line = 0;
    CHECK_EQ(load(&f, "max_rate: 5\ntargets:\n  - {container_id: a, labels: {a_b: c, a-b: d}}\n"), 0);
    CHECK_STR(config_file_take(f, "max-rate", &line), "5");
    CHECK(!config_file_take(f, "max-rat", NULL));
    CHECK(!config_file_take(f, "max-rate-", NULL));
    CHECK_STR(config_file_take(f, "targets.0.container-id", NULL), "a");
    CHECK_STR(config_file_take(f, "targets.0.labels.a_b", NULL), "c");
    CHECK_STR(config_file_key(f, "targets.0.labels", 0, NULL), "a_b");
    done(&f);
}

TEST(config_file_keys_with_dots)
{
    AUTO_BUF struct buf out = {0};
    struct config_file *f = NULL;
    unsigned line = 0;
    CHECK_EQ(load(&f, "labels: {service.name: a, b: c}\nlist.0: d\nx:\n  y.z: {}\n  q: [1]\n"), 0);
    CHECK_STR(config_file_key(f, "labels", 0, NULL), "service.name");
    CHECK_STR(config_file_key(f, "labels", 1, NULL), "b");
    CHECK_STR(config_file_take(f, "labels.service.name", NULL), "a");
    CHECK_STR(config_file_take(f, "labels.b", NULL), "c");
    CHECK_EQ(config_file_items(f, "list"), 0);
    CHECK(config_file_print(f, "labels", &out));
    buf_char(&out, 0);
    CHECK_STR(out.data, "{\"service.name\": \"a\", \"b\": \"c\"}");
    CHECK_STR(config_file_left(f, &line), "list.0");
    config_file_take(f, "list.0", NULL);
    CHECK_STR(config_file_left(f, &line), "x.q.0");
    done(&f);
}

TEST(config_file_prints_what_it_read)
{
    AUTO_BUF struct buf out = {0};
    struct config_file *f = NULL;
    CHECK_EQ(load(&f, "a:\n  - name: 'x \"y\"'\n    b: {c_d: 1, e: }\n  - f\nempty: {}\n"), 0);
    CHECK(config_file_print(f, "a", &out));
    buf_char(&out, 0);
    CHECK_STR(out.data, "[{\"name\": \"x \\\"y\\\"\", \"b\": {\"c_d\": \"1\", \"e\": \"\"}}, \"f\"]");
    out.len = 0;
    CHECK(config_file_print(f, "empty", &out));
    CHECK(!config_file_print(f, "nothing", &out));
    buf_char(&out, 0);
    CHECK_STR(out.data, "{}");
    done(&f);
}

TEST(config_file_refuses)
{
    static const struct {
        const char *text, *says;
    } all[] = {
        {"a: 1\na: 2\n", ":2: a is set twice: first in line 1"},
        {"a:\n  b: 1\n  b: 2\n", ":3: a.b is set twice: first in line 2"},
        {"- a\n", ":1: expected \"key: value\""},
        {"just words\n", ":1: expected"},
        {"a: &x 1\nb: *x\n", ":2: anchors"},
        {"a: [1\nb: 2\n", ":2: "},
        {"? [x]\n: 1\n", ":1: a key must be a word"},
        {"a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", "nested more than"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct config_file *f = NULL;
        CHECK_EQ(load(&f, all[i].text), -EINVAL);
        CHECK(strstr(why, all[i].says) != NULL);
        CHECK(!f);
    }
    struct config_file *f = NULL;
    CHECK_EQ(load(&f, "# only words\n"), 0);
    done(&f);
    CHECK_EQ(config_file_new(&f, "/nowhere/x.yaml", why, sizeof(why)), -ENOENT);
}

static int read_kubeconfig(struct kubeconfig *k, struct kube_config *out, const char *text)
{
    struct config_file *f = NULL;
    if (load(&f, text))
        return -EIO;
    config_file_free(&f);
    int rc = kubeconfig_read(k, path, out, why, sizeof(why));
    unlink(path);
    return rc;
}

#define CLUSTERS                                                                                         \
    "current-context: b\n"                                                                               \
    "contexts: [{name: a, context: {cluster: x, user: u}}, {name: b, context: {cluster: y, user: v}}]\n" \
    "clusters:\n- {name: x, cluster: {server: 'https://x'}}\n"                                           \
    "- {name: y, cluster: {server: 'https://y:6443', certificate-authority-data: aGVsbG8=}}\n"

TEST(kubeconfig_of_the_current_context)
{
    struct kubeconfig k;
    struct kube_config c = {0};
    char text[16] = "";
    CHECK_EQ(read_kubeconfig(&k, &c, CLUSTERS "users: [{name: v, user: {token: secret, client-key: pki/key}}]\n"), 0);
    CHECK_STR(c.url, "https://y:6443");
    CHECK_STR(c.token, "secret");
    CHECK_STR(c.key_file, "/tmp/pki/key");
    CHECK(!c.cert_file);
    AUTO_FCLOSE FILE *ca = fopen(c.ca_file, "r");
    CHECK(ca && fgets(text, sizeof(text), ca));
    CHECK_STR(text, "hello");
    kubeconfig_free(&k);
}

TEST(kubeconfig_says_what_is_missing)
{
    struct kubeconfig k;
    struct kube_config c = {0};
    CHECK_EQ(read_kubeconfig(&k, &c, "current-context: a\ncontexts: []\n"), -EINVAL);
    CHECK(strstr(why, "no current context") != NULL);
    kubeconfig_free(&k);
    CHECK_EQ(read_kubeconfig(&k, &c, CLUSTERS "users: [{name: v, user: {exec: {command: x}}}]\n"), -ENOTSUP);
    kubeconfig_free(&k);
    CHECK_EQ(read_kubeconfig(&k, &c, CLUSTERS "users: [{name: v, user: {client-certificate-data: '%%'}}]\n"), -EBADMSG);
    kubeconfig_free(&k);
}

/* By their names, wherever they stand in the lists. */
TEST(kubeconfig_finds_things_by_name)
{
    static const char text[] =
        "current-context: c\n"
        "contexts:\n- {name: a, context: {cluster: x, user: u}}\n"
        "- {name: c, context: {cluster: z, user: w}}\n- {name: b, context: {cluster: y}}\n"
        "clusters:\n- {name: x, cluster: {server: 'https://x'}}\n"
        "- {name: y, cluster: {server: 'https://y'}}\n"
        "- {name: z, cluster: {server: 'https://z', insecure-skip-tls-verify: 'true', "
        "certificate-authority: /etc/ca}}\n"
        "users:\n- {name: u, user: {token: one}}\n- {name: v, user: {token: two}}\n"
        "- {name: w, user: {tokenFile: /t, client-certificate-data: 'aGVs\n\n bG8='}}\n";
    struct kubeconfig k;
    struct kube_config c = {0};
    char found[16] = "";
    CHECK_EQ(read_kubeconfig(&k, &c, text), 0);
    CHECK_STR(c.url, "https://z");
    CHECK_STR(c.token_file, "/t");
    CHECK_STR(c.ca_file, "/etc/ca");
    CHECK(!c.token && c.insecure_skip_verify && !c.key_file);
    AUTO_FCLOSE FILE *certificate = fopen(c.cert_file, "r");
    CHECK(certificate && fgets(found, sizeof(found), certificate));
    CHECK_STR(found, "hello");
    kubeconfig_free(&k);
}
