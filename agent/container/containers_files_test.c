/* Containers that no list names: state files, runtimes that are late, and what is known of them in the end. */
#include "base/fs.h"
#include "container/containers_bench_test.h"
#include <errno.h>
#include <string.h>

static int put_file(const struct bench *b, const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof(full), "%s%s", b->dir, path);
    *strrchr(full, '/') = 0;
    int rc = fs_mkdirs(full);
    full[strlen(full)] = '/';
    return rc ? rc : fs_replace_file(full, text, strlen(text), 0600);
}

#define DOCKER_FILE "/var/lib/docker/containers/" C1 "/config.v2.json"
static const char of_kubernetes[] =
    "{\"Name\":\"/k8s_x\",\"Image\":\"sha256:aa\",\"Config\":{\"Image\":\"web:1\",\"Labels\":{"
    "\"io.kubernetes.docker.type\":\"container\",\"io.kubernetes.container.name\":\"main\","
    "\"io.kubernetes.pod.name\":\"web-0\",\"io.kubernetes.pod.namespace\":\"prod\","
    "\"io.kubernetes.pod.uid\":\"" UID "\"}}}";

static bool is_named_by_file(const struct container *c)
{
    return c->told == TOLD_BY_FILE && c->state == CONTAINER_KNOWN && !strcmp(c->name, "main") &&
           !strcmp(c->image, "web:1") && !strcmp(c->image_id, "sha256:aa") && !strcmp(c->pod, "web-0") &&
           !strcmp(c->namespace_, "prod") && !strcmp(c->is.pod, UID) && c->is.runtime == RUNTIME_DOCKER && !c->sandbox;
}

TEST(containers_named_by_files_without_a_runtime)
{
    BENCH(false);
    CHECK_EQ(put_file(&b, DOCKER_FILE, of_kubernetes), 0);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_cgroup_made(b.c, 0, 13, "/system.slice/x.service", 2 * SEC); /* nobody asks about these */
    containers_cgroup_made(b.c, 0, 14, POD, 2 * SEC);
    containers_tick(b.c, 2 * SEC + 1 * MS);
    CHECK_EQ(containers_find(b.c, 12)->told, TOLD_NOTHING); /* not yet */
    containers_tick(b.c, 2 * SEC + 20 * MS);
    CHECK(is_named_by_file(containers_find(b.c, 12)));
    CHECK_EQ(b.seen.changed, 4);
    containers_stats(b.c, &st);
    CHECK(st.by_file == 1 && st.unnamed == 0);
    CHECK_STR(st.runtime, "");
    for (u64 now = 3 * SEC; now < 60 * SEC; now += SEC)
        containers_tick(b.c, now);
    containers_stats(b.c, &st);
    CHECK_EQ(st.by_file, 1); /* it is read once */
    CHECK_EQ(st.given_up, 0);
}

TEST(containers_sandboxes_named_by_files)
{
    BENCH(false);
    CHECK_EQ(put_file(&b, DOCKER_FILE,
                      "{\"Name\":\"/x\",\"Config\":{\"Labels\":{\"io.kubernetes.docker.type\":\"podsandbox\"}}}"),
             0);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_tick(b.c, 3 * SEC);
    CHECK(containers_find(b.c, 12)->sandbox);
    CHECK_STR(containers_find(b.c, 12)->is.pod, "");
}

/* What the path says of the pod is believed before what a file says. */
TEST(containers_files_do_not_move_a_container_to_another_pod)
{
    BENCH(false);
    CHECK_EQ(put_file(&b, DOCKER_FILE, of_kubernetes), 0);
    containers_cgroup_made(b.c, 0, 12, "/kubepods/pod" OTHER "/" C1, 2 * SEC);
    containers_tick(b.c, 3 * SEC);
    CHECK_EQ(containers_find(b.c, 12)->told, TOLD_BY_FILE);
    CHECK_STR(containers_find(b.c, 12)->is.pod, OTHER);
}

TEST(containers_named_by_files_while_the_runtime_fails)
{
    BENCH(true);
    b.fake = (struct fake_runtime){.rc = -ECONNREFUSED};
    CHECK_EQ(put_file(&b, DOCKER_FILE, of_kubernetes), 0);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_tick(b.c, 3 * SEC);
    CHECK(is_named_by_file(containers_find(b.c, 12)));
    b.fake = (struct fake_runtime){.lists_sandbox = true, .lists_container = true, .image = "other:2"};
    containers_tick(b.c, 5 * SEC); /* it is asked again, and knows more */
    CHECK_EQ(containers_find(b.c, 12)->told, TOLD_BY_RUNTIME);
    CHECK_STR(containers_find(b.c, 12)->image, "other:2");
    CHECK_STR(container_pair(&containers_find(b.c, 12)->labels, "tier"), "front");
}

/* A runtime may be late with its own containers, but not with docker's. */
TEST(containers_named_by_files_that_a_list_has_not_got)
{
    static const struct {
        const char *path;
        int fetches;
    } rows[] = {{"/docker/" C1, 1}, {"/machine.slice/libpod-" C1 ".scope", 1}, {POD "/" C1, 4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        BENCH(true);
        u64 now = 2 * SEC;
        b.fake = (struct fake_runtime){.about = "else 1.0"};
        CHECK_EQ(put_file(&b, DOCKER_FILE, of_kubernetes), 0);
        CHECK_EQ(put_file(&b, "/var/lib/containers/storage/overlay-containers/containers.json",
                          "[{\"id\":\"" C1 "\",\"names\":[\"db\"]}]"),
                 0);
        containers_cgroup_made(b.c, 0, 12, rows[i].path, now);
        while (containers_find(b.c, 12)->told == TOLD_NOTHING && now < 30 * SEC)
            containers_tick(b.c, now += 600 * MS);
        CHECK_EQ(containers_find(b.c, 12)->told, TOLD_BY_FILE);
        CHECK_EQ(b.fake.fetches, rows[i].fetches);
    }
}

/* Given up, but a scan asks for everybody again. */
TEST(containers_given_up_are_asked_about_with_each_scan)
{
    BENCH(true);
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    for (u64 now = 2 * SEC; now < 60 * SEC; now += 500 * MS)
        containers_tick(b.c, now);
    containers_stats(b.c, &st);
    CHECK(st.given_up == 1 && st.unnamed == 1);
    CHECK_EQ(containers_find(b.c, 12)->told, TOLD_NOTHING);
    CHECK_EQ(put_file(&b, DOCKER_FILE, of_kubernetes), 0);
    containers_tick(b.c, 62 * SEC);
    CHECK_EQ(containers_find(b.c, 12)->told, TOLD_BY_FILE);
}

TEST(containers_take_the_kind_of_runtime_from_the_one_that_lists_them)
{
    static const struct {
        const char *about;
        enum container_runtime runtime;
    } rows[] = {{"containerd 1.7", RUNTIME_CONTAINERD},
                {"cri-o 1.2", RUNTIME_CRIO},
                {"docker 24", RUNTIME_DOCKER},
                {"else 1", RUNTIME_UNKNOWN}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        BENCH(true);
        b.fake = (struct fake_runtime){.about = rows[i].about, .lists_container = true, .image = ""};
        containers_cgroup_made(b.c, 0, 12, POD "/" C1, 2 * SEC);
        containers_cgroup_made(b.c, 0, 13, "/machine.slice/libpod-" C2 ".scope", 2 * SEC);
        containers_tick(b.c, 3 * SEC);
        CHECK_EQ(containers_find(b.c, 12)->is.runtime, rows[i].runtime);
        CHECK_EQ(containers_find(b.c, 13)->is.runtime, RUNTIME_PODMAN); /* as its path says */
        CHECK_STR(containers_find(b.c, 12)->image_id, "sha256:aa");
    }
}

TEST(containers_that_the_kubelet_has_labelled)
{
    BENCH(true);
    b.fake = (struct fake_runtime){.lists_container = true, .labels_of_kubelet = true, .image = "web:1"};
    containers_cgroup_made(b.c, 0, 12, "/docker/" C1, 2 * SEC);
    containers_tick(b.c, 3 * SEC);
    CHECK_STR(containers_find(b.c, 12)->name, "of-kubelet");
    CHECK_STR(containers_find(b.c, 12)->pod, "web-7");
    CHECK_STR(containers_find(b.c, 12)->namespace_, "shop");
    CHECK_STR(containers_find(b.c, 12)->image, "web:1");
    CHECK_EQ(b.fake.images, 0); /* the list has its name */
}
