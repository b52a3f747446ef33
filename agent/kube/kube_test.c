#include "kube/kube.h"
#include "base/stop.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "kube/access.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A scene: what the server answers, request by request (status and body), and what must have been asked. The request
 * after the last one stops the run. A body that ends with CUT breaks off there, one with SLOW goes out byte by byte. */
#define CUT  "\x01"
#define SLOW "\x02"

struct answer {
    const char *asked; /* must be part of the request line; NULL: anything */
    int status;
    const char *body;
};
struct scene {
    const struct answer *answers;
    size_t n;
    struct buf heard; /* "+name " a pod, "-uid " it is gone, "@name " a namespace, "ok " a list, "! " a warning */
    char wrong[512];  /* the first request that was not as it must be */
    char token_file[64];
    unsigned warnings;
    char last_warning[512];
    volatile bool stop;
};

static void send_raw(int fd, const char *data, size_t n)
{
    send(fd, data, n, MSG_NOSIGNAL);
}

static void send_body(int fd, const char *body)
{
    size_t n = strlen(body);
    char how = n ? body[n - 1] : 0;
    bool odd = how == *CUT || how == *SLOW;
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    send_raw(fd, head, sizeof(head) - 1);
    n -= odd;
    for (size_t i = 0, step = how == *SLOW ? 1 : n; i < n; i += step) {
        char size[32];
        snprintf(size, sizeof(size), "%zx\r\n", step);
        send_raw(fd, size, strlen(size));
        send_raw(fd, body + i, step);
        send_raw(fd, "\r\n", 2);
    }
    if (how != *CUT)
        send_raw(fd, "0\r\n\r\n", 5);
}

static bool play(void *ctx, const struct test_request *r)
{
    struct scene *s = ctx;
    if (r->nth >= s->n) {
        stop_request(&s->stop);
        return false;
    }
    const struct answer *a = &s->answers[r->nth];
    char line[512];
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(r->head, "\r\n"), r->head);
    if (a->asked && !strstr(line, a->asked) && !test_has_header(r, a->asked) && !*s->wrong)
        snprintf(s->wrong, sizeof(s->wrong), "request %u is %.200s, without %s", r->nth, line, a->asked);
    if (a->status == 401 && *s->token_file)
        fs_replace_file(s->token_file, "second\n", 7, 0600);
    if (a->status != 200)
        test_reply(r->fd, a->status, "", a->body, strlen(a->body));
    else
        send_body(r->fd, a->body);
    return false;
}

static void heard_pod(void *ctx, struct kube_pod *pod)
{
    buf_printf(&((struct scene *)ctx)->heard, "+%s ", pod->name);
    kube_pod_free(&pod);
}
static void heard_gone(void *ctx, const char *uid)
{
    buf_printf(&((struct scene *)ctx)->heard, "-%s ", uid);
}
static void heard_namespace(void *ctx, struct kube_namespace *ns)
{
    buf_printf(&((struct scene *)ctx)->heard, "@%s ", ns->name);
    kube_namespace_free(&ns);
}
static void heard_synced(void *ctx, bool namespaces)
{
    buf_str(&((struct scene *)ctx)->heard, "ok ");
}
static void heard_warning(void *ctx, const char *text)
{
    struct scene *s = ctx;
    buf_str(&s->heard, "! ");
    s->warnings++;
    snprintf(s->last_warning, sizeof(s->last_warning), "%s", text);
}

static void scene_free(struct scene *s)
{
    buf_free(&s->heard);
    if (*s->token_file)
        unlink(s->token_file);
}

/* Plays it to its end; what is heard stands in s->heard. */
static int run(struct scene *s, struct kube_config c, bool namespaces, struct kube_stats *stats)
{
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(kube_free) struct kube *k = NULL;
    struct kube_handlers h = {s, heard_pod, heard_gone, heard_namespace, heard_gone, heard_synced, heard_warning};
    int rc = test_server_new(&server, play, s);
    if (rc)
        return rc;
    c.url = test_server_url(server);
    c.node = "node1";
    c.retry_ms = 1;
    c.retry_max_ms = 2;
    if (!c.token_file)
        c.token = "first";
    rc = kube_new(&k, &c, &h);
    if (rc)
        return rc;
    if (namespaces)
        kube_run_namespaces(k, &s->stop);
    else
        kube_run(k, &s->stop);
    kube_stats(k, stats);
    buf_char(&s->heard, 0);
    return 0;
}

#define SCENE(...)                                                                                        \
    static const struct answer answers[] = {__VA_ARGS__};                                                 \
    CLEANUP(scene_free) struct scene s = {.answers = answers, .n = sizeof(answers) / sizeof(answers[0])}; \
    struct kube_stats stats;                                                                              \
    (void)stats
#define PLAY(...)                                                               \
    do {                                                                        \
        CHECK_EQ(run(&s, (struct kube_config){__VA_ARGS__}, false, &stats), 0); \
        CHECK_STR(s.wrong, "");                                                 \
    } while (0)

#define POD(uid, name, version)                                                                                   \
    "{\"metadata\":{\"uid\":\"" uid "\",\"namespace\":\"n\",\"name\":\"" name "\",\"resourceVersion\":\"" version \
    "\"},\"spec\":{\"nodeName\":\"node1\"}}"
#define LIST(version, more, items)                                                                 \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" more \
    "\"},\"items\":[" items "]}\n"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code)        "{\"kind\":\"Status\",\"code\":" code ",\"message\":\"because\"}"
#define FIRST                                                                                                      \
    {                                                                                                              \
        "limit=100&resourceVersion=0&fieldSelector=spec.nodeName%3Dnode1", 200, LIST("5", "", POD("u1", "a", "3")) \
    }

TEST(kube_list_pages_then_watch)
{
    SCENE({"GET /api/v1/pods?limit=2", 200, LIST("5", "x/y=", POD("u1", "a", "3") "," POD("u2", "b", "4"))},
          {"limit=2&continue=x%2Fy%3D&field", 200, LIST("5", "", POD("u3", "c", "2"))},
          {"watch=1&allowWatchBookmarks=true&timeoutSeconds=240&resourceVersion=5&fieldSelector", 200,
           EVENT("MODIFIED", POD("u1", "a", "6")) EVENT("ADDED", POD("u4", "d", "7"))
               EVENT("DELETED", POD("u2", "b", "8")) EVENT("DELETED", POD("u9", "z", "8"))
                   EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"11\"}}")},
          {"resourceVersion=11&", 200, ""});
    PLAY(.page = 2);
    CHECK_STR(s.heard.data, "+a +b +c ok +a +d -u2 ");
    CHECK(stats.added == 1 && stats.modified == 1 && stats.deleted == 2 && stats.bookmarks == 1 && stats.listed == 3);
    CHECK(stats.lists == 1 && stats.watches == 3 && stats.success_ns && !stats.malformed);
}

TEST(kube_watch_cut_in_an_object)
{
    SCENE(FIRST, {"resourceVersion=5", 200, EVENT("ADDED", POD("u2", "b", "6")) "{\"type\":\"ADDED\",\"obj" CUT},
          {"resourceVersion=6", 200, EVENT("ADDED", POD("u3", "c", "7")) SLOW}, {"resourceVersion=7", 200, ""});
    PLAY(0);
    CHECK_STR(s.heard.data, "+a ok +b ! +c ");
    CHECK_EQ(stats.errors[KUBE_ERROR_RESET] + stats.errors[KUBE_ERROR_TLS], 1);
    CHECK_EQ(stats.malformed, 0);
}

TEST(kube_expired_lists_again)
{
    SCENE({"resourceVersion=0", 410, STATUS("410")}, {"limit=100&field", 200, LIST("5", "", POD("u1", "a", "3"))},
          {"resourceVersion=5", 200, EVENT("ERROR", STATUS("410"))},
          {"limit=100&fieldSelector", 200, LIST("20", "", POD("u2", "b", "15"))}, /* not from a cache */
          {"resourceVersion=20", 410, STATUS("410")}, {"limit=100&field", 410, STATUS("410")},
          {"limit=100&field", 200, LIST("30", "", POD("u2", "b", "15"))}, {"resourceVersion=30", 200, ""});
    PLAY(0);
    CHECK_STR(s.heard.data, "+a ok +b -u1 ok ok "); /* no warning, and b only once */
    CHECK_EQ(stats.errors[KUBE_ERROR_EXPIRED], 4);
}

TEST(kube_error_event_lists_again)
{
    SCENE(FIRST, {"resourceVersion=5", 200, EVENT("ERROR", STATUS("500"))},
          {"limit=100", 200, LIST("6", "", POD("u1", "a", "3"))}, {"resourceVersion=6", 200, ""});
    PLAY(0);
    CHECK_STR(s.heard.data, "+a ok ! ok ");
    CHECK_EQ(stats.errors[KUBE_ERROR_SERVER], 1);
    CHECK(strstr(s.last_warning, "because"));
}

/* Answers that are no list, or not all of one, empty nothing. */
TEST(kube_bad_lists_forget_nothing)
{
    SCENE(FIRST, {"watch=1", 200, EVENT("ERROR", STATUS("410"))}, {"limit", 200, "{}"},
          {"limit", 200, "<html>]</html>"}, {"limit", 200, ""}, {"limit", 200, "null"},
          {"limit", 200, LIST("", "", "")},
          {"limit", 200, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata" CUT},
          {"limit", 200, "{\"kind\":\"Status\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}"},
          {"limit", 503, "down\x1b[31m"}, {"limit", 200, LIST("9", "", POD("u1", "a", "3"))}, {"watch=1", 200, ""});
    PLAY(0);
    CHECK(!strstr(s.heard.data, "-u1"));
    CHECK_EQ(stats.errors[KUBE_ERROR_MALFORMED], 6);
    CHECK_EQ(stats.errors[KUBE_ERROR_SERVER], 1);
    CHECK_EQ(stats.lists, 2);
}

TEST(kube_objects_that_cannot_be_read)
{
    SCENE(FIRST,
          {"resourceVersion=5", 200,
           "what is this\n{}\n[1]\n" EVENT("ODD", "{}") EVENT("ADDED", "{\"metadata\":{\"uid\":\"u8\"}}")
               EVENT("ADDED",
                     "{\"metadata\":{\"uid\":\"u7\",\"name\":\"0123456789012345678901234567890123456789\",\"x\":"
                     "\"0123456789012345678901234567890\"}}") EVENT("ADDED", POD("u2", "b", "6"))},
          /* something was skipped: list, at the next occasion. One object is too long there: who knows which? */
          {"limit=100", 200,
           LIST("7", "",
                "{\"a\":\"01234567890123456789012345678901234567890123456789012345678901234567890"
                "12345678901234567890123456789012345678901234567890123456789012345678\"}")},
          {"resourceVersion=7", 200, EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"8\"}}")},
          {"limit=100", 200, LIST("9", "", POD("u2", "b", "6") ",{\"metadata\":{}}")}, {"watch=1", 200, ""});
    PLAY(.max_object = 130);
    CHECK_STR(s.heard.data, "+a ok +b ok ok ");
    CHECK_EQ(stats.malformed, 6);
    CHECK_EQ(stats.oversize, 2);
}

TEST(kube_a_watch_of_garbage)
{
    SCENE(FIRST, {"watch=1", 200, "<html>\n<p>\n"}, {"limit=100", 200, LIST("6", "", POD("u1", "a", "3"))},
          {"watch=1", 200, ""});
    PLAY(0);
    CHECK_STR(s.heard.data, "+a ok ! ok ");
    CHECK_EQ(stats.errors[KUBE_ERROR_MALFORMED], 1);
}

TEST(kube_pods_of_other_nodes)
{
    SCENE({"limit", 200,
           LIST("5", "",
                "{\"metadata\":{\"uid\":\"x\",\"namespace\":\"n\",\"name\":\"x\"},\"spec\":{"
                "\"nodeName\":\"node2\"}}," POD("u1", "a", "3"))},
          {"watch=1", 200, EVENT("ERROR", STATUS("410"))}, {"limit", 200, LIST("6", "", "")}, {"watch=1", 200, ""});
    PLAY(0);
    CHECK_STR(s.heard.data, "+a ok -u1 ok ");
    CHECK_EQ(stats.refused, 1);
}

TEST(kube_an_endless_line)
{
#define TEN "0123456789"
    SCENE(FIRST,
          {"resourceVersion=5", 200,
           TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "\n" EVENT("ADDED", POD("u2", "b", "6"))},
          {"limit=100", 200, LIST("7", "", POD("u2", "b", "6"))}, {"watch=1", 200, ""});
    PLAY(.max_object = 130);
    CHECK_STR(s.heard.data, "+a ok +b -u1 ok "); /* what the line may have said, a list tells */
    CHECK_EQ(stats.oversize, 1);
}

TEST(kube_token_is_read_again)
{
    SCENE({"Authorization: Bearer first", 401, STATUS("401")}, {"Authorization: Bearer second", 200, LIST("5", "", "")},
          {"watch=1", 200, ""});
    strcpy(s.token_file, "/tmp/xprof-token.XXXXXX");
    AUTO_CLOSE int fd = mkstemp(s.token_file);
    CHECK_EQ(fs_write_all(fd, "first\n", 6), 0);
    PLAY(.token_file = s.token_file);
    CHECK_STR(s.heard.data, "ok "); /* at once, and without a word */
    CHECK_EQ(stats.errors[KUBE_ERROR_UNAUTHORIZED], 1);
}

TEST(kube_says_things_once)
{
    SCENE({"limit", 403, STATUS("403")}, {"limit", 403, ""}, {"limit", 429, ""}, {"limit", 429, ""}, {"limit", 404, ""},
          {"limit", 500, ""}, {"limit", 401, ""}, {"limit", 200, LIST("5", "", "")}, {"watch=1", 200, ""});
    PLAY(0);
    CHECK_STR(s.heard.data, "! ! ! ! ! ok ");
    CHECK(stats.errors[KUBE_ERROR_FORBIDDEN] == 2 && stats.errors[KUBE_ERROR_THROTTLED] == 2);
    CHECK(stats.errors[KUBE_ERROR_STATUS] == 1 && stats.errors[KUBE_ERROR_UNAUTHORIZED] == 1);
}

TEST(kube_namespaces)
{
#define NS(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
    SCENE({"GET /api/v1/namespaces?limit=100&resourceVersion=0 ", 200,
           "{\"kind\":\"NamespaceList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" NS("a", "1") "," NS(
               "b", "2") "]}"},
          {"GET /api/v1/namespaces?watch=1", 200, EVENT("DELETED", NS("a", "6")) EVENT("MODIFIED", NS("b", "7"))},
          {"resourceVersion=7 ", 200, ""});
    CHECK_EQ(run(&s, (struct kube_config){0}, true, &stats), 0);
    CHECK_STR(s.wrong, "");
    CHECK_STR(s.heard.data, "@a @b ok -a @b ");
}

TEST(kube_kubelet_is_asked_again)
{
#define PODS(items) "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":" items "}\n"
    SCENE({"GET /pods ", 200, PODS("[" POD("u1", "a", "1") "," POD("u2", "b", "1") "]")},
          {"GET /pods ", 200, PODS("[" POD("u1", "a", "1") "," POD("u2", "renamed", "1") "]")}, {"GET /pods ", 500, ""},
          {"GET /pods ", 200, PODS("[" POD("u2", "renamed", "1") "]")}, {"GET /pods ", 200, PODS("null")});
    PLAY(.source = KUBE_KUBELET, .poll_ms = 2, .forget_ms = 1);
    /* the first list after a failure may be that of a kubelet that has just started */
    CHECK_STR(s.heard.data, "+a +b ok +renamed ok ! ok -u1 -u2 ok ");
}

TEST(kube_configuration)
{
    struct kube_handlers h = {0};
    struct kube *k = NULL;
    CLEANUP(access_config_free) struct access_config a = {0}, b = {0}, c = {0};
    unsetenv("KUBERNETES_SERVICE_HOST");
    CHECK_EQ(kube_new(&k, &(struct kube_config){.url = "https://x"}, &h), -EINVAL); /* no node */
    CHECK_EQ(kube_new(&k, &(struct kube_config){.node = "node1"}, &h), -EINVAL);    /* no cluster */
    CHECK_EQ(kube_new(&k, &(struct kube_config){.source = KUBE_KUBELET}, &h), -EINVAL);
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    CHECK_EQ(access_config_from(&a, &(struct kube_config){.node = "n"}), 0);
    CHECK_STR(a.url, "https://[fd00::1]:443");
    CHECK_STR(a.token_file, KUBE_SERVICE_ACCOUNT "/token");
    CHECK_STR(a.ca_file, KUBE_SERVICE_ACCOUNT "/ca.crt");
    CHECK_EQ(access_config_from(&b, &(struct kube_config){.url = "https://x/", .token = "t"}), 0);
    CHECK_STR(b.url, "https://x");
    CHECK(!b.token_file && !b.ca_file); /* the system's authorities */
    CHECK_EQ(access_config_from(&c, &(struct kube_config){.service_account = "sa", .ca_file = "ca"}), 0);
    CHECK_STR(c.token_file, "sa/token");
    CHECK_STR(c.ca_file, "ca");
    unsetenv("KUBERNETES_SERVICE_HOST");
    for (enum kube_error e = 0; e < KUBE_ERROR_MAX; e++)
        CHECK(strlen(kube_error_name(e)) > 2);
}

/* The service account's files count where they are: kubectl proxy and a kubelet's read-only port need none. */
TEST(kube_accounts_outside_of_a_pod)
{
    CLEANUP(access_config_free) struct access_config a = {0}, b = {0}, c = {0};
    char folder[] = "/tmp/xprof-account.XXXXXX", path[64];
    CHECK(mkdtemp(folder) != NULL);
    struct kube_config config = {.url = "https://x", .node = "n", .source = KUBE_KUBELET, .service_account = folder};
    CHECK_EQ(access_config_from(&a, &config), 0);
    CHECK(!a.token_file && !a.ca_file);
    snprintf(path, sizeof(path), "%s/ca.crt", folder);
    CHECK_EQ(fs_replace_file(path, "x", 1, 0600), 0);
    CHECK_EQ(access_config_from(&b, &config), 0);
    CHECK(!b.token_file);
    CHECK_STR(b.ca_file, path);
    unlink(path);
    snprintf(path, sizeof(path), "%s/token", folder);
    CHECK_EQ(fs_replace_file(path, "x", 1, 0600), 0);
    config.insecure_skip_verify = true;
    CHECK_EQ(access_config_from(&c, &config), 0);
    CHECK_STR(c.token_file, path);
    CHECK(!c.ca_file);
    unlink(path);
    rmdir(folder);
}
