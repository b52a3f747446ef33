#include "serve/guard.h"
#include "base/fs.h"
#include "base/test.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum guard ask(const char *address, const char *authorization, const char *token_file)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return guard_request((const void *)&v4, authorization, token_file);
    if (inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
        return GUARD_WRONG_TOKEN;
    return guard_request((const void *)&v6, authorization, token_file);
}

TEST(guard_lets_this_host_in)
{
    static const char *const near[] = {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"};
    static const char *const far[] = {"10.0.0.1", "128.0.0.1", "::", "::2", "::ffff:10.0.0.127", "fd00::127.0.0.1"};
    for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++)
        CHECK_EQ(ask(near[i], NULL, NULL), GUARD_PASS);
    for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++)
        CHECK_EQ(ask(far[i], NULL, NULL), GUARD_NO_TOKEN);
    const struct sockaddr unix_socket = {.sa_family = AF_UNIX};
    CHECK_EQ(guard_request(&unix_socket, NULL, NULL), GUARD_NO_TOKEN);
}

TEST(guard_lets_in_who_has_the_token)
{
    char path[] = "/tmp/xprof-guard-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    CHECK_EQ(fs_replace_file(path, "s3cret\n", 7, 0600), 0);
    CHECK_EQ(ask("10.0.0.1", "Bearer s3cret", path), GUARD_PASS);
    CHECK_EQ(ask("10.0.0.1", "bearer  s3cret", path), GUARD_PASS); /* as RFC 9110 has it: any case, spaces */
    CHECK_EQ(ask("10.0.0.1", NULL, path), GUARD_NO_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Basic s3cret", path), GUARD_NO_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Bearer s3cret", NULL), GUARD_NO_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Bearer ", path), GUARD_WRONG_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Bearer s3cre", path), GUARD_WRONG_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Bearer s3crets", path), GUARD_WRONG_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Bearer S3cret", path), GUARD_WRONG_TOKEN);
    CHECK_EQ(fs_replace_file(path, "other", 5, 0600), 0);
    CHECK_EQ(ask("10.0.0.1", "Bearer s3cret", path), GUARD_WRONG_TOKEN);
    CHECK_EQ(ask("10.0.0.1", "Bearer other", path), GUARD_PASS);
    CHECK_EQ(fs_replace_file(path, "\n", 1, 0600), 0);
    CHECK_EQ(ask("10.0.0.1", "Bearer ", path), GUARD_WRONG_TOKEN);
    unlink(path);
    CHECK_EQ(ask("10.0.0.1", "Bearer other", path), GUARD_WRONG_TOKEN);
}
