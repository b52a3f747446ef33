#include "base/log.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <fcntl.h>
#include <unistd.h>

/* What is shown of one message of each level. */
static ssize_t shown(enum log_level threshold, char *text, size_t size)
{
    AUTO_CLOSE int file = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    AUTO_CLOSE int saved = dup(2);
    if (file < 0 || saved < 0 || dup2(file, 2) < 0)
        return -1;
    log_set_level(threshold);
    log_error("no %s", "way");
    log_warn("take\ncare");
    log_info("so");
    log_debug("details");
    log_set_level(LOG_WARN);
    dup2(saved, 2);
    ssize_t n = pread(file, text, size - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return n;
}

TEST(log_lines_have_a_level)
{
    char text[256];
    CHECK(shown(LOG_DEBUG, text, sizeof(text)) > 0);
    CHECK_STR(text, "xprof: error: no way\nxprof: warning: take?care\nxprof: so\nxprof: debug: details\n");
    CHECK(shown(LOG_ERROR, text, sizeof(text)) > 0);
    CHECK_STR(text, "xprof: error: no way\n");
    CHECK(log_shows(LOG_WARN) && log_shows(LOG_ERROR) && !log_shows(LOG_INFO));
}
