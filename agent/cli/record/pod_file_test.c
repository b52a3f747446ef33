#include "cli/record/pod_file.h"
#include "base/test.h"
#include "container/containers.h"
#include <errno.h>
#include <string.h>

TEST(pod_file_has_four_parts)
{
    static const char *const bad[] = {"",
                                      "a",
                                      "a/b",
                                      "a/b/c",
                                      "a/b/c:",
                                      "a/b/c:d",
                                      "/b/c:/d",
                                      "a//c:/d",
                                      "a/b/:/d",
                                      "a/b/c/d:/e",
                                      "a/b/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc:/d"};
    struct pod_file f;
    CHECK_EQ(pod_file_split("prod/web-0/main:/usr/bin/x:y", &f), 0);
    CHECK_STR(f.namespace_, "prod");
    CHECK_STR(f.pod, "web-0");
    CHECK_STR(f.container, "main");
    CHECK_STR(f.path, "/usr/bin/x:y");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_EQ(pod_file_split(bad[i], &f), -EINVAL);
}

static struct container make(char *namespace_, char *pod, char *name)
{
    return (struct container){.is = {.kind = CGROUP_CONTAINER},
                              .state = CONTAINER_KNOWN,
                              .namespace_ = namespace_,
                              .pod = pod,
                              .name = name,
                              .init_pid = 7,
                              .init_start = 8};
}

TEST(pod_file_is_of_one_container)
{
    struct pod_file f;
    CHECK_EQ(pod_file_split("prod/web/main:/x", &f), 0);
    struct pod_search s = {.wanted = &f};
    struct container other[] = {make("prod", "db", "main"),   make("test", "web", "main"),
                                make("prod", "web", "proxy"), make("prod", "web", "e\033vil"),
                                make("prod", "web", "main"),  make("prod", "web", ""),
                                make("prod", "web", "main"),  make("prod", "web", "log")};
    other[4].state = CONTAINER_ENDED;
    other[5].sandbox = true;
    other[6].init_pid = 0;
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        CHECK(pod_file_match(&s, &other[i]));
    CHECK_EQ(s.pid, 0);
    CHECK_STR(s.near, "proxy log");
    struct container main = make("prod", "web", "main");
    CHECK(!pod_file_match(&s, &main));
    CHECK_EQ(s.pid, 7);
    CHECK_EQ(s.start, 8);
}
