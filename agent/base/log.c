#include "base/log.h"
#include <stdarg.h>
#include <stdio.h>

/* The one piece of process-wide state: a message must be possible from anywhere. Atomic, because the level
 * changes when the configuration is read again, while other threads log. */
static enum log_level threshold = LOG_WARN;

void log_set_level(enum log_level level)
{
    __atomic_store_n(&threshold, level, __ATOMIC_RELAXED);
}

void log_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
            *c = '?';
}

int log_shows(enum log_level level)
{
    return level <= __atomic_load_n(&threshold, __ATOMIC_RELAXED);
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const name[] = {"error: ", "warning: ", "", "debug: "};
    char line[1024];
    if (!log_shows(level))
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    log_clean(line);
    fprintf(stderr, "xprof: %s%s\n", name[level], line);
}
