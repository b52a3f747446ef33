/* xprof check: tests each requirement of a recording on this machine and says what is missing and what to do. */
#include "cli/cli.h"
#include "cli/check_internal.h"
#include "cli/check.h"
#include "cli/options/options.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "container/cri.h"
#include "container/hierarchy.h"
#include "events/events.h"
#include "parser/parser.h"
#include "parser/sandbox.h"
#include "probe/denied.h"
#include "probe/probe.h"
#include "proc/proc.h"
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <dirent.h>
#include <fcntl.h>

#define KPTR_RESTRICT "/proc/sys/kernel/kptr_restrict"

struct check {
    int failures; /* lines marked NO */
    struct denied_facts facts;
};

void check_line(const char *mark, const char *what, const char *fmt, ...)
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
    check_line(old ? "NO" : "ok", "kernel", "%s %s%s", u.release, u.machine, old ? ": 5.10 or later is needed" : "");
    bool btf = !access("/sys/kernel/btf/vmlinux", R_OK);
    check_line(btf ? "ok" : "NO", "type information",
               btf ? "/sys/kernel/btf/vmlinux"
                   : "no /sys/kernel/btf/vmlinux: a kernel with CONFIG_DEBUG_INFO_BTF is needed");
    c->failures += old + !btf;
}

/* ---- What each privilege is for, tried ---- */

/* 0, or why not: -errno. Of programs that run, most must be in sight: single ones may be hidden from everybody. */
static int try_other_process(void)
{
    size_t seen = 0, hidden = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[64], exe[64];
        if (e->d_name[0] < '0' || e->d_name[0] > '9' || atoi(e->d_name) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/%.20s/exe", e->d_name);
        if (readlink(path, exe, sizeof(exe)) >= 0)
            seen++;
        else
            hidden += errno == EACCES || errno == EPERM;
    }
    if (dir)
        closedir(dir);
    return hidden > seen ? -EACCES : 0;
}

static int try_any_file(void)
{
    char path[64];
    AUTO_CLOSE int fd = memfd_create("check", MFD_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0))
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    AUTO_CLOSE int again = open(path, O_RDONLY | O_CLOEXEC);
    return again < 0 ? -errno : 0;
}

static int try_mapped_file(void)
{
    unsigned long long start, end;
    AUTO_FREE char *name = NULL;
    AUTO_FCLOSE FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps || fscanf(maps, "%llx-%llx", &start, &end) != 2)
        return -EIO;
    AUTO_CLOSE int fd = proc_open_mapping((u32)getpid(), start, end, &name);
    return fd < 0 ? fd : 0;
}

static int try_kernel_symbols(void)
{
    unsigned long long address = 0;
    AUTO_FCLOSE FILE *f = fopen("/proc/kallsyms", "re");
    for (int i = 0; f && !address && i < 1000; i++)
        if (fscanf(f, "%llx %*[^\n]", &address) != 1)
            break;
    return address ? 0 : -EACCES;
}

static void check_privileges(struct check *c)
{
    static const struct {
        const char *what, *use;
        unsigned capability;
        const char *name;
        int (*try)(void);
    } all[] = {
        {"other processes", "processes of other containers can be inspected", CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
         try_other_process},
        {"any file", "programs that only their owner may read can be read", CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
         try_any_file},
        {"mapped files", "files that processes have mapped can be opened, also deleted ones", CAP_CHECKPOINT_RESTORE,
         "CAP_CHECKPOINT_RESTORE", try_mapped_file},
        {"kernel symbols", "kernel functions have names", CAP_SYSLOG, "CAP_SYSLOG", try_kernel_symbols},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        char why[400] = "kernel.kptr_restrict is 2: set it to 1"; /* which hides them from everybody */
        int rc = all[i].try();
        if (rc && (all[i].capability != CAP_SYSLOG || read_number(KPTR_RESTRICT, -1) < 2))
            denied_why(&c->facts, DENIED_ACCESS, all[i].capability, why, sizeof(why));
        if (rc)
            check_line("NO", all[i].what, "%s: %s", strerror(-rc), why);
        else
            check_line("ok", all[i].what, "%s (%s)", all[i].use, all[i].name);
        c->failures += rc != 0;
    }
}

/* What may stand in the way although all capabilities are there. */
static void check_confinement(const struct check *c)
{
    const struct denied_facts *f = &c->facts;
    check_line(f->user_namespace || f->bpf_filtered || f->perf_filtered || f->lockdown ? "--" : "ok", "confinement",
               "%s%s%s%s", f->user_namespace ? "a user namespace, " : "",
               f->bpf_filtered    ? "a seccomp filter against bpf(2), "
               : f->perf_filtered ? "a seccomp filter against perf_event_open(2), "
                                  : "",
               f->lockdown ? "kernel lockdown (confidentiality), " : "",
               f->module[0] ? f->module : "no label of a security module");
}

static void check_settings(void)
{
    long long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", -1);
    long long kptr = read_number(KPTR_RESTRICT, -1);
    check_line("ok", "perf_event_paranoid", "%lld%s", paranoid,
               paranoid > 2   ? " (above 2, kernels of Debian and Ubuntu refuse CAP_PERFMON without CAP_SYS_ADMIN)"
               : paranoid > 1 ? " (does not apply to root and CAP_PERFMON)"
                              : "");
    check_line(kptr < 2 ? "ok" : "--", "kptr_restrict", "%lld%s", kptr,
               kptr < 2 ? "" : ": kernel functions have no names");
}

static void check_runtime(const char *host_root)
{
    struct cri *cri = NULL;
    struct cri_list list = {0};
    char why[256] = "";
    AUTO_CLOSE int root = open(host_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct cri_config config = {.root_fd = root};
    int rc = cri_new(&cri, &config);
    if (!rc)
        rc = cri_fetch(cri, &list, why, sizeof(why));
    if (rc)
        check_line("--", "container runtime", "%s", why[0] ? why : strerror(-rc));
    else
        check_line("ok", "container runtime", "%s at %s", cri_about(cri)->runtime, cri_about(cri)->socket);
    cri_list_free(&list);
    cri_free(&cri);
}

static void check_containers(struct check *c, const char *host_root)
{
    struct hierarchy h;
    char root[4096];
    snprintf(root, sizeof(root), "%s/sys/fs/cgroup", host_root);
    bool elsewhere = strcmp(host_root, "/") != 0;
    int rc = hierarchy_find(&h, elsewhere ? root : NULL);
    if (rc)
        check_line("NO", "cgroups", "none at %s", elsewhere ? root : "/sys/fs/cgroup");
    else
        check_line("ok", "cgroups", "%s: containers are identified by %s%s", hierarchy_mode_name(h.mode),
                   h.unified ? "the unified hierarchy" : h.controller,
                   h.whole ? "" : " (only a part of it is visible)");
    c->failures += rc != 0;
    check_runtime(host_root);
}

/* What every machine must allow stands in front of what only some do. */
static void say_layers(const struct parser *p)
{
    AUTO_BUF struct buf holds = {0}, missing = {0};
    const struct sandbox_layer_text *layer;
    buf_str(&holds, "seccomp, no capabilities, no new privileges");
    for (unsigned i = 0; (layer = sandbox_layer_text(i)); i++)
        if (parser_layers(p) >> i & 1)
            buf_printf(&holds, ", %s", layer->slug);
        else
            buf_printf(&missing, "%s%s", missing.len ? ", " : "; without ", layer->missing);
    check_line(missing.len ? "--" : "ok", "parser sandbox", "%s%s", holds.data, missing.len ? missing.data : "");
}

static void check_parser(struct check *c)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    struct parser *p = NULL;
    int rc = parser_new(&p, &limits);
    check_line(rc ? "NO" : "ok", "parser process", "%s", rc ? strerror(-rc) : "starts and enters its sandbox");
    c->failures += rc != 0;
    if (!rc)
        say_layers(p);
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
        check_line(rc ? "NO" : "ok", "eBPF programs", "%s", rc ? why : "load");
        c->failures += rc != 0;
    }
    if (!rc) {
        rc = probe_start(p, why, sizeof(why));
        check_line(!rc ? "ok" : c ? "NO" : "--", name, "%s", rc ? why : "can be sampled");
        if (c)
            c->failures += rc != 0;
    }
    if (p && c) {
        probe_mappings list = {0};
        int listed = probe_list_mappings(p, 0, &list);
        check_line(listed ? "--" : "ok", "mapping iterator", "%s",
                   listed ? "not available (Linux 5.12 and later have it): files are found when samples hit them"
                          : "unwind tables are built before sampling starts");
        vec_free(&list);
    }
    probe_free(&p);
}

/* By which means user stacks of waits can be taken. */
static void say_wait_stacks(void)
{
    AUTO_BUF struct buf means = {0};
    const char *name;
    for (size_t i = PROBE_STACKS_SWITCH; (name = event_wait_stacks(i)); i++)
        if (probe_can_take((enum probe_wait_stacks)i))
            buf_printf(&means, "%s%s", means.len ? ", " : "", name);
    buf_char(&means, 0);
    check_line("ok", "user stacks of waits", "%s", means.failed ? "out of memory" : means.data);
}

void check_on_demand(const char *name, struct probe_config *cfg, const char *can)
{
    char why[512] = "";
    struct probe *p = NULL;
    cfg->cgroup_subsys = -1;
    cfg->kernel = cfg->user = true;
    int rc = probe_new(&p, cfg, why, sizeof(why));
    if (!rc)
        rc = probe_start(p, why, sizeof(why));
    if (rc < 0)
        check_line("--", name, "%s", why);
    else /* perhaps without a part of it */
        check_line("ok", name, "%s%s%s", can, why[0] ? "; but " : "", why);
    probe_free(&p);
}

/* The programs that follow threads off their CPUs are in common objects; other kinds have one each. */
static void check_kinds(void)
{
    AUTO_BUF struct buf names = {0};
    struct probe_config waits = {.nevents = 0};
    size_t n;
    const struct event_kind *kinds = event_kinds(&n);
    buf_str(&names, "can be followed (");
    for (size_t i = 0; i < n && waits.nevents < XP_MAX_EVENTS; i++)
        if (kinds[i].probe.how != PROBE_PERF && kinds[i].probe.how != PROBE_KIND) {
            buf_printf(&names, "%s%s", waits.nevents ? ", " : "", kinds[i].name);
            waits.events[waits.nevents++] = kinds[i].probe;
        }
    buf_str(&names, ")");
    buf_char(&names, 0);
    check_on_demand("waits", &waits, names.failed ? "can be followed" : names.data);
    say_wait_stacks();
    for (size_t i = 0; i < n; i++)
        if (kinds[i].probe.how == PROBE_KIND) {
            struct probe_config one = {.events = {kinds[i].probe}, .nevents = 1};
            check_on_demand(kinds[i].name, &one, "can be counted");
        }
}

int cli_check(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    struct check_options o = {0};
    struct check c = {0};
    int at;
    int rc = options_parse_from(&check_command, argc, argv, &options_environment, 1, &o, &at, &message);
    if (rc)
        return options_report(rc, &message);
    check_kernel(&c);
    denied_collect(&c.facts);
    check_settings();
    check_confinement(&c);
    check_privileges(&c);
    check_parser(&c);
    check_event("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, &c);
    check_event("hardware counters", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL);
    check_kinds();
    check_probes();
    check_containers(&c, o.host_root);
    puts(c.failures ? "some requirements are not met: see the lines marked NO" : "xprof works here");
    return c.failures ? 1 : 0;
}
