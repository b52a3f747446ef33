#include "probe/denied.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* The value of a line of /proc/self/status. */
static u64 status_value(const char *status, const char *name, int base)
{
    const char *at = strstr(status, name);
    return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

/* A command that does not exist: the kernel says EINVAL, a filter says what it says to all. Before 6.4 a kernel asks
 * for CAP_BPF first. */
static bool bpf_is_filtered(void)
{
    return syscall(SYS_bpf, 0x7fffffff, NULL, 0) < 0 && errno != EINVAL;
}

/* A flag that does not exist is found before anything else is looked at. */
static bool perf_is_filtered(void)
{
    return syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0ul) < 0 && errno != EINVAL;
}

static bool loads(const struct bpf_insn *code, size_t n)
{
    AUTO_CLOSE int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "try", "GPL", code, n, NULL);
    return fd >= 0;
}

static bool bpf_works(void)
{
    static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_0, .imm = 0},
                                              {.code = BPF_JMP | BPF_EXIT}};
    AUTO_CLOSE int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "try", sizeof(u32), sizeof(u32), 1, NULL);
    return map >= 0 && loads(nothing, sizeof(nothing) / sizeof(*nothing));
}

/* Whether a program that reads kernel memory is not taken: others are. */
static bool keeps_kernel_memory(void)
{
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
        {.code = BPF_ALU64 | BPF_ADD, .dst_reg = BPF_REG_1, .imm = -8},
        {.code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_2, .imm = 8},
        {.code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_3, .imm = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
        {.code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    return !loads(code, sizeof(code) / sizeof(*code));
}

static bool memlock_is_limited(void)
{
    struct utsname u;
    struct rlimit limit;
    unsigned major = 0, minor = 0;
    if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 || getrlimit(RLIMIT_MEMLOCK, &limit))
        return false;
    return (major < 5 || (major == 5 && minor < 11)) && limit.rlim_cur != RLIM_INFINITY;
}

/* "unconfined", "NAME (enforce)", or SELinux's user:role:type:level. */
static void read_module(char *out, size_t len)
{
    AUTO_FREE char *label = NULL;
    if (fs_read_file("/proc/self/attr/current", 4096, &label, NULL))
        return;
    label[strcspn(label, "\r\n")] = 0;
    if (!label[0] || !strcmp(label, "unconfined") || strstr(label, "(complain)"))
        return;
    const char *colon = strchr(label, ':');
    bool selinux = colon && strchr(colon + 1, ':') && !strchr(label, ' ');
    snprintf(out, len, "%s %.120s", selinux ? "the SELinux context" : "the AppArmor profile", label);
}

static bool in_user_namespace(void)
{
    unsigned inside = 0, outside = 0, count = 0;
    AUTO_FREE char *map = NULL;
    if (fs_read_file("/proc/self/uid_map", 4096, &map, NULL))
        return false; /* a kernel without them */
    return sscanf(map, "%u %u %u", &inside, &outside, &count) != 3 || inside || outside || count != 0xffffffff;
}

void denied_collect(struct denied_facts *out)
{
    AUTO_FREE char *status = NULL, *paranoid = NULL;
    *out = (struct denied_facts){.paranoid = -1};
    fs_read_file("/proc/self/status", 1 << 16, &status, NULL);
    fs_read_file("/proc/sys/kernel/perf_event_paranoid", 64, &paranoid, NULL);
    if (paranoid)
        out->paranoid = strtol(paranoid, NULL, 10);
    out->capabilities = status ? status_value(status, "\nCapEff:", 16) : 0;
    bool bpf = out->capabilities & (1ull << CAP_BPF | 1ull << CAP_SYS_ADMIN);
    bool filter = status && status_value(status, "\nSeccomp:", 10) == 2;
    out->user_namespace = in_user_namespace();
    out->bpf_filtered = filter && bpf && bpf_is_filtered();
    out->perf_filtered = filter && perf_is_filtered();
    out->bpf_works = bpf_works();
    out->lockdown = out->bpf_works && keeps_kernel_memory();
    out->memlock = memlock_is_limited();
    read_module(out->module, sizeof(out->module));
}

bool denied_explains(int err, enum denied_call call, char *why, size_t len)
{
    struct denied_facts facts;
    char because[400];
    denied_collect(&facts);
    if (!denied_refuses(&facts, err, call))
        return false;
    denied_why(&facts, call, 0, because, sizeof(because));
    snprintf(why, len, "%s refused: %s", call == DENIED_BPF ? "loading eBPF programs was" : "perf events were",
             because);
    return true;
}
