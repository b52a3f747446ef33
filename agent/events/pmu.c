#include "events/pmu.h"
#include "base/cleanup.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT 512 /* of a file, or of terms */
#define NEAR 256

/* A name in sysfs leads nowhere else. */
static bool is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("_-.", s[i]))
            return false;
    return n && n < 128 && s[0] != '.';
}

/* Reads a line. Returns 0 or -errno. */
static int read_line(int dir, const char *path, char out[TEXT])
{
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, TEXT - 1);
    if (n < 0)
        return -errno;
    out[n] = 0;
    out[strcspn(out, "\n")] = 0;
    return 0;
}

/* Lists what a folder has; files like "NAME.unit" are about another one. */
static const char *list(int dir, const char *path, char out[NEAR])
{
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **names;
    int n = fd < 0 ? -1 : scandirat(fd, ".", &names, NULL, alphasort);
    size_t at = 0;
    out[0] = 0;
    for (int i = 0; i < n; i++) {
        if (!strchr(names[i]->d_name, '.') && at + strlen(names[i]->d_name) + 2 < NEAR)
            at += (size_t)snprintf(out + at, NEAR - at, " %s", names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return out[0] ? out : " none";
}

/* ---- Terms ------------------------------------------------------------------------------------------------------- */

struct reader {
    int pmu; /* its folder */
    const char *name;
    struct pmu_event *out;
    char *why;
    size_t len;
};

/* Puts a number into the bits that a format names: "config1:0-7,32-35", the lowest ones first. */
static int place(const struct reader *r, const char *format, u64 value)
{
    unsigned which = 0;
    const char *at = strchr(format, ':');
    if (sscanf(format, "config%u", &which) < 0 || which > 2 || strncmp(format, "config", 6) != 0 || !at)
        return -EBADMSG;
    while (*at == ':' || *at == ',') {
        char *end;
        unsigned long lo = strtoul(at + 1, &end, 10), hi = lo;
        if (*end == '-')
            hi = strtoul(end + 1, &end, 10);
        if (end == at + 1 || lo > hi || hi > 63)
            return -EBADMSG;
        u64 bits = hi - lo == 63 ? ~0ull : (1ull << (hi - lo + 1)) - 1;
        r->out->config[which] |= (value & bits) << lo;
        value = hi - lo == 63 ? 0 : value >> (hi - lo + 1);
        at = end;
    }
    return *at ? -EBADMSG : value ? -ERANGE : 0;
}

static int put_term(const struct reader *r, const char *term, u64 value)
{
    static const char *const raw[] = {"config", "config1", "config2"};
    char path[160], format[TEXT], known[NEAR];
    for (size_t i = 0; i < sizeof(raw) / sizeof(*raw); i++)
        if (!strcmp(term, raw[i])) {
            r->out->config[i] |= value;
            return 0;
        }
    snprintf(path, sizeof(path), "format/%s", term);
    int rc = is_name(term, strlen(term)) ? read_line(r->pmu, path, format) : -ENOENT;
    if (rc) {
        snprintf(r->why, r->len, "the PMU %s has no term %.64s; it has config, config1, config2 and:%s", r->name, term,
                 list(r->pmu, "format", known));
        return rc;
    }
    rc = place(r, format, value);
    if (rc)
        snprintf(r->why, r->len,
                 rc == -ERANGE ? "%s=0x%llx does not fit: it is %.64s"
                               : "%s=0x%llx: its format is not understood: %.64s",
                 term, (unsigned long long)value, format);
    return rc;
}

/* "TERM=NUMBER,TERM,..." */
static int put_terms(const struct reader *r, char *terms)
{
    int rc = 0;
    for (char *term; !rc && (term = strsep(&terms, ","));) {
        char *number = strchr(term, '='), *end = number;
        if (number)
            *number++ = 0;
        errno = 0;
        u64 value = number ? strtoull(number, &end, 0) : 1;
        if (number && (end == number || *end || errno)) {
            snprintf(r->why, r->len, "%.64s=%.64s: expected a number, such as 0x3c", term, number);
            return -EINVAL;
        }
        rc = put_term(r, term, value);
    }
    return rc;
}

/* An event by its name, which stands for terms; or terms. */
static int put_event(const struct reader *r, char *event)
{
    char path[160], terms[TEXT], known[NEAR];
    if (strpbrk(event, "=,") || !strncmp(event, "config", 6))
        return put_terms(r, event);
    snprintf(path, sizeof(path), "events/%.127s", event);
    int rc = is_name(event, strlen(event)) ? read_line(r->pmu, path, terms) : -ENOENT;
    if (rc)
        snprintf(r->why, r->len, "the PMU %s has no event %.64s; it has:%s", r->name, event,
                 list(r->pmu, "events", known));
    return rc ? rc : put_terms(r, terms);
}

int pmu_find(const char *devices, const char *text, struct pmu_event *out, char *why, size_t len)
{
    char name[128], event[TEXT], type[TEXT], known[NEAR];
    const char *slash = strchr(text, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;
    if (!end || end[1] || end == slash + 1 || !is_name(text, (size_t)(slash - text)) || end - slash > TEXT - 1) {
        snprintf(why, len, "expected perf:PMU/EVENT/ or perf:PMU/config=NUMBER,.../");
        return -EINVAL;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(slash - text), text);
    snprintf(event, sizeof(event), "%.*s", (int)(end - slash - 1), slash + 1);
    AUTO_CLOSE int all = open(devices, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int pmu = all < 0 ? -1 : openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = pmu < 0 ? -errno : read_line(pmu, "type", type);
    if (rc) {
        snprintf(why, len, "this machine has no PMU %s; it has:%s", name, all < 0 ? " none" : list(all, ".", known));
        return rc;
    }
    *out = (struct pmu_event){.type = (u32)strtoul(type, NULL, 10)};
    struct reader r = {pmu, name, out, why, len};
    return put_event(&r, event);
}
