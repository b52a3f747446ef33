#include "pipeline/usage.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "parser/parser.h"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

double usage_parser_cpu(struct parser *p)
{
    return (double)parser_cpu_ns(p) / 1e9;
}

double usage_cpu(struct parser *p)
{
    struct rusage self;
    getrusage(RUSAGE_SELF, &self);
    return seconds_of(&self.ru_utime) + seconds_of(&self.ru_stime) + usage_parser_cpu(p);
}

static u64 rss_of(pid_t pid)
{
    char path[64];
    unsigned long long pages = 0;
    AUTO_FREE char *text = NULL;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    if (pid && !fs_read_file(path, 4096, &text, NULL))
        sscanf(text, "%*u %llu", &pages);
    return pages * (u64)sysconf(_SC_PAGESIZE);
}

u64 usage_rss(const struct parser *p)
{
    return rss_of(getpid()) + rss_of(parser_pid(p));
}
