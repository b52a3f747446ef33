#include "base/cleanup.h"
#include "events/made_internal.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PMU       "/sys/bus/event_source/devices/kprobe/type"
#define SYMBOLS   "/proc/kallsyms"
#define TRACEABLE "available_filter_functions" /* of tracefs */
#define TRAP_NS   300                          /* as measured; a return has another one */
#define NEAR      5

static bool is_pattern(const char *name)
{
    return strpbrk(name, "*?") != NULL;
}

/* "SYMBOL" or "SYMBOL+OFFSET"; a pattern has no offset. */
static int split(const char *text, struct probe_symbol *out)
{
    size_t n = strcspn(text, "+");
    char *end = NULL;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_.*?", text[i]))
            return -EINVAL;
    if (!n || n >= sizeof(out->name) || (text[n] && strcspn(text, "*?") < n))
        return -EINVAL;
    snprintf(out->name, sizeof(out->name), "%.*s", (int)n, text);
    out->offset = text[n] ? strtoull(text + n + 1, &end, 0) : 0;
    return text[n] && (end == text + n + 1 || *end) ? -EINVAL : 0;
}

int kprobe_find(FILE *symbols, const char *name, char *near, size_t len)
{
    char kind, symbol[256];
    size_t n = 0, found = 0;
    near[0] = 0;
    while (fscanf(symbols, "%*x %c %255s%*[^\n]", &kind, symbol) == 2) {
        if (kind != 't' && kind != 'T')
            continue;
        if (!strcmp(symbol, name))
            return 0;
        bool own = strncmp(symbol, "__pfx_", 6) != 0; /* what compilers put in front of functions */
        if (own && found < NEAR && strstr(symbol, name) && n + strlen(symbol) + 2 < len) {
            n += (size_t)snprintf(near + n, len - n, " %s", symbol);
            found++;
        }
    }
    return -ENOENT;
}

static int find_all(struct event_probe *p, FILE *symbols, char *why, size_t len)
{
    size_t all;
    AUTO_CLOSE int tracefs = tracefs_open();
    AUTO_CLOSE int fd = tracefs < 0 ? -1 : openat(tracefs, TRACEABLE, O_RDONLY | O_CLOEXEC);
    AUTO_FCLOSE FILE *traceable = fd < 0 ? NULL : fdopen(fd, "r");
    if (traceable)
        (void)TAKE_FD(fd);
    int rc = kernel_functions(symbols, traceable, p->symbol.name, &p->places, &all);
    if (rc == -ENOENT)
        snprintf(why, len, "-e %s: this kernel has no function of such a name%s", p->name,
                 p->places.left_out ? " that can be traced" : "");
    else if (rc == -EACCES)
        snprintf(why, len,
                 "-e %s: " SYMBOLS " has no addresses: that takes CAP_SYSLOG, and kernel.kptr_restrict below 2",
                 p->name);
    else if (rc)
        snprintf(why, len, "-e %s: %s", p->name, strerror(-rc));
    else if (all > KERNEL_FUNCTIONS) {
        snprintf(why, len, "-e %s: these are %zu functions, of which %d can be probed at once: give a narrower pattern",
                 p->name, all, KERNEL_FUNCTIONS);
        rc = -E2BIG;
    }
    return rc;
}

/* Whether the kernel has kprobes, and the function. Returns 0, or -errno and a line. */
static int look(struct event_probe *p, char *why, size_t len)
{
    char near[256];
    if (access(PMU, R_OK)) {
        snprintf(why, len, "-e %s: this kernel has no kprobes (CONFIG_KPROBE_EVENTS); `xprof list` has its tracepoints",
                 p->name);
        return -ENOTSUP;
    }
    AUTO_FCLOSE FILE *symbols = fopen(SYMBOLS, "re");
    if (symbols && is_pattern(p->symbol.name))
        return find_all(p, symbols, why, len);
    int rc = symbols ? kprobe_find(symbols, p->symbol.name, near, sizeof(near)) : -errno;
    if (rc == -ENOENT)
        snprintf(why, len, "-e %s: this kernel has no function %s%s%s", p->name, p->symbol.name,
                 near[0] ? "; near it:" : "", near);
    else if (rc)
        snprintf(why, len, "-e %s: " SYMBOLS " cannot be read: %s", p->name, strerror(-rc));
    return rc;
}

int made_kprobe(struct event_probe *p, struct tracepoint *fields, char *why, size_t len)
{
    bool returns = made_is(p->name, KRETPROBE);
    const char *form = returns ? KRETPROBE : KPROBE, *text = p->name + strlen(form);
    if (split(text, &p->symbol) || (returns && p->symbol.offset)) {
        snprintf(why, len, "-e %s: expected %sFUNCTION%s of the kernel, such as %svfs_fsync_range", p->name, form,
                 returns ? "" : " or FUNCTION+OFFSET", form);
        return -EINVAL;
    }
    int rc = look(p, why, len);
    if (rc)
        return rc;
    p->symbol.returns = returns;
    snprintf(p->type, sizeof(p->type), "%.100s%s", text, returns ? "_return" : "");
    made_registers(returns ? PROBE_RETURNS : PROBE_CALLS, fields);
    p->kind.series = "kprobe";
    p->kind.probe = (struct probe_event){
        .how = PROBE_KIND, .object = "kprobe", .symbol = &p->symbol, .trap_ns = returns ? 2 * TRAP_NS : TRAP_NS};
    if (p->places.offsets) {
        p->places.kernel = true;
        p->places.when = returns ? PROBE_RETURNS : PROBE_CALLS;
        p->kind.probe.places = &p->places;
        p->kind.probe.symbol = NULL;
    }
    return 0;
}
