/* xprof check: tries, one by one, what a recording needs on this machine, and says what is missing and what to do. */
#include "cli/cli.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "parser/parser.h"
#include "probe/probe.h"
#include "proc/proc.h"
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <linux/magic.h>

struct check {
    int failures; /* of what a recording can't do without */
};

static void line(const char *mark, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void line(const char *mark, const char *what, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%-4s %-22s ", mark, what);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

static long long read_number(const char *path, long long fallback)
{
    AUTO_FREE char *text = NULL;
    return fs_read_file(path, 64, &text, NULL) ? fallback : strtoll(text, NULL, 10);
}

static void check_kernel(struct check *c)
{
    struct utsname u;
    int major = 0, minor = 0;
    uname(&u);
    sscanf(u.release, "%d.%d", &major, &minor);
    bool old = major < 5 || (major == 5 && minor < 10);
    line(old ? "NO" : "ok", "kernel", "%s %s%s", u.release, u.machine, old ? ": 5.10 or later is needed" : "");
    bool btf = !access("/sys/kernel/btf/vmlinux", R_OK);
    line(btf ? "ok" : "NO", "type information",
         btf ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux: a kernel with CONFIG_DEBUG_INFO_BTF is needed");
    c->failures += old + !btf;
}

static void check_capabilities(void)
{
    static const struct {
        int bit;
        const char *name, *use;
    } wanted[] = {
        {CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "eBPF before 5.8, mapped files of other processes"},
        {CAP_BPF, "CAP_BPF", "loading eBPF programs"},
        {CAP_PERFMON, "CAP_PERFMON", "perf events, reading stacks"},
        {CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
         "opening the files that processes have mapped (or CAP_SYS_ADMIN)"},
        {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "files of processes of other users"},
        {CAP_SYSLOG, "CAP_SYSLOG", "names of kernel functions"},
        {CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", "raising RLIMIT_MEMLOCK before 5.11; else not needed"},
    };
    AUTO_FREE char *status = NULL;
    unsigned long long have = 0;
    const char *at = fs_read_file("/proc/self/status", 1 << 16, &status, NULL) ? NULL : strstr(status, "CapEff:");
    if (at)
        sscanf(at, "CapEff: %llx", &have);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        line(have >> wanted[i].bit & 1 ? "ok" : "--", wanted[i].name, "%s", wanted[i].use);
}

static void check_settings(void)
{
    long long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", -1);
    long long kptr = read_number("/proc/sys/kernel/kptr_restrict", -1);
    line("ok", "perf_event_paranoid", "%lld%s", paranoid,
         paranoid > 1 ? " (root and CAP_PERFMON are not bound by it)" : "");
    line(kptr < 2 ? "ok" : "--", "kptr_restrict", "%lld%s", kptr,
         kptr < 2 ? "" : ": kernel functions will have no names");
}

static void check_cgroups(void)
{
    struct statfs root, unified;
    if (statfs("/sys/fs/cgroup", &root))
        line("--", "cgroups", "/sys/fs/cgroup is not mounted: --cgroup can't be used");
    else if (root.f_type == CGROUP2_SUPER_MAGIC)
        line("ok", "cgroups", "version 2");
    else if (!statfs("/sys/fs/cgroup/unified", &unified) && unified.f_type == CGROUP2_SUPER_MAGIC)
        line("ok", "cgroups", "hybrid: version 1 controllers, version 2 under unified/");
    else
        line("ok", "cgroups", "version 1");
}

static void check_parser(struct check *c)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    struct parser *p = NULL;
    int rc = parser_new(&p, &limits);
    line(rc ? "NO" : "ok", "parser process", "%s", rc ? strerror(-rc) : "starts, and locks itself in");
    c->failures += rc != 0;
    parser_free(&p);
}

static void check_event(const char *name, u32 type, u64 config, struct check *c)
{
    char why[512];
    struct probe *p = NULL;
    struct probe_config cfg = {.cgroup_subsys = -1, .kernel = true, .user = true, .nevents = 1};
    cfg.events[0] =
        (struct probe_event){.perf_type = type, .perf_config = config, .hz = 99, .time = type == PERF_TYPE_SOFTWARE};
    int rc = probe_new(&p, &cfg, why, sizeof(why));
    if (c) {
        line(rc ? "NO" : "ok", "eBPF programs", "%s", rc ? why : "load");
        c->failures += rc != 0;
    }
    if (!rc) {
        rc = probe_start(p, why, sizeof(why));
        line(!rc ? "ok" : c ? "NO" : "--", name, "%s", rc ? why : "can be sampled");
        if (c)
            c->failures += rc != 0;
    }
    if (p && c) {
        probe_mappings list = {0};
        int listed = probe_list_mappings(p, 0, &list);
        line(listed ? "--" : "ok", "mapping iterator", "%s",
             listed ? "no (5.12 and later): files are found as samples meet them"
                    : "tables are ready before sampling starts");
        vec_free(&list);
    }
    probe_free(&p);
}

int cli_check(int argc, char **argv)
{
    struct check c = {0};
    if (argc > 1) {
        bool help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
        fprintf(help ? stdout : stderr,
                "usage: xprof check\nTells what works on this machine; exits with 1 when recording can't.\n");
        return help ? 0 : 2;
    }
    check_kernel(&c);
    check_capabilities();
    check_settings();
    check_cgroups();
    check_parser(&c);
    check_event("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, &c);
    check_event("hardware counters", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL);
    puts(c.failures ? "xprof record can't work here: see the lines marked NO" : "xprof record works here");
    return c.failures ? 1 : 0;
}
