#include "cli/agent/service.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

int service_signals_init(struct service_signals *s, const char *file)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        sigaddset(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    *s = (struct service_signals){.file = file};
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (file && stat(file, &s->seen))
        memset(&s->seen, 0, sizeof(s->seen));
    return s->fd < 0 ? -errno : 0;
}

void service_signals_free(struct service_signals *s)
{
    if (s->fd >= 0)
        close(TAKE_FD(s->fd));
}

/* Another file in its place (a mounted ConfigMap changes by a link) or other contents. */
static bool file_changed(struct service_signals *s, u64 now)
{
    struct stat st;
    if (!s->file || now - s->looked_ns < NS_PER_SEC)
        return false;
    s->looked_ns = now;
    if (stat(s->file, &st)) /* being replaced: at the next look */
        return false;
    bool changed = st.st_ino != s->seen.st_ino || st.st_size != s->seen.st_size ||
                   st.st_mtim.tv_sec != s->seen.st_mtim.tv_sec || st.st_mtim.tv_nsec != s->seen.st_mtim.tv_nsec;
    s->seen = st;
    return changed;
}

void service_wait(const struct service_signals *s, int timeout_ms)
{
    struct pollfd signals = {.fd = s->fd, .events = POLLIN};
    poll(&signals, 1, timeout_ms);
}

enum service_request service_poll(struct service_signals *s, u64 now)
{
    struct signalfd_siginfo info;
    if (read(s->fd, &info, sizeof(info)) == sizeof(info))
        return info.ssi_signo == SIGHUP ? SERVICE_RELOAD : SERVICE_STOP;
    return file_changed(s, now) ? SERVICE_RELOAD : SERVICE_NONE;
}

void service_notify(const char *state)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path ? strlen(path) : 0;
    if (!n || n >= sizeof(to.sun_path))
        return;
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') /* the abstract namespace */
        to.sun_path[0] = 0;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}
