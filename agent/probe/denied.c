#include "probe/denied.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

static bool has(const struct denied_facts *f, unsigned capability)
{
    return f->capabilities >> capability & 1;
}

/* CAP_SYS_ADMIN includes what was split off from it. */
static bool has_or_admin(const struct denied_facts *f, unsigned capability)
{
    return has(f, capability) || has(f, CAP_SYS_ADMIN);
}

static const char *name_of(unsigned capability)
{
    switch (capability) {
    case CAP_SYS_PTRACE:
        return "CAP_SYS_PTRACE";
    case CAP_DAC_READ_SEARCH:
        return "CAP_DAC_READ_SEARCH";
    case CAP_CHECKPOINT_RESTORE:
        return "CAP_CHECKPOINT_RESTORE";
    case CAP_SYSLOG:
        return "CAP_SYSLOG";
    }
    return "a capability";
}

static const char *call_name(enum denied_call call)
{
    return call == DENIED_BPF ? "bpf(2)" : call == DENIED_PERF ? "perf_event_open(2)" : "access";
}

/* Whether a capability is missing; then the line says which. */
static bool lacks_capability(const struct denied_facts *f, enum denied_call call, unsigned capability, char *why,
                             size_t len)
{
    bool bpf = has_or_admin(f, CAP_BPF), perfmon = has_or_admin(f, CAP_PERFMON);
    if (call == DENIED_ACCESS) {
        bool admin = capability == CAP_CHECKPOINT_RESTORE && has(f, CAP_SYS_ADMIN);
        snprintf(why, len, "%s is missing", name_of(capability));
        return !has(f, capability) && !admin;
    }
    if (call == DENIED_PERF) {
        snprintf(why, len,
                 "CAP_PERFMON is missing, and kernel.perf_event_paranoid is %ld: run as root, or with the capability",
                 f->paranoid);
        return !perfmon;
    }
    snprintf(why, len, "%s: run as root, or with CAP_BPF and CAP_PERFMON",
             !bpf && !perfmon ? "CAP_BPF and CAP_PERFMON are missing"
             : bpf            ? "CAP_PERFMON is missing"
                              : "CAP_BPF is missing");
    return !bpf || !perfmon;
}

static bool is_filtered(const struct denied_facts *f, enum denied_call call)
{
    return (call == DENIED_BPF && f->bpf_filtered) || (call == DENIED_PERF && f->perf_filtered);
}

/* The verifier says EINVAL of a helper that lockdown takes away. */
bool denied_refuses(const struct denied_facts *f, int err, enum denied_call call)
{
    bool bpf = call == DENIED_BPF;
    return err == -EPERM || (err == -EACCES && !(bpf && f->bpf_works)) || (bpf && f->lockdown);
}

const char *denied_rejection(int err)
{
    return err == -EACCES ? "its verifier does not take them" : strerror(-err);
}

static enum denied_by other_than_capability(const struct denied_facts *f, enum denied_call call)
{
    if (f->user_namespace)
        return DENIED_BY_USER_NAMESPACE;
    if (is_filtered(f, call))
        return DENIED_BY_SECCOMP;
    if (call == DENIED_BPF && f->lockdown)
        return DENIED_BY_LOCKDOWN;
    /* Kernels of Debian and Ubuntu know values above 2, at which CAP_PERFMON does not suffice. */
    if (call == DENIED_PERF && f->paranoid > 2 && !has(f, CAP_SYS_ADMIN))
        return DENIED_BY_PARANOID;
    if (call == DENIED_BPF && f->memlock)
        return DENIED_BY_MEMLOCK;
    return DENIED_BY_MODULE;
}

enum denied_by denied_why(const struct denied_facts *f, enum denied_call call, unsigned capability, char *why,
                          size_t len)
{
    if (lacks_capability(f, call, capability, why, len))
        return DENIED_BY_CAPABILITY;
    enum denied_by by = other_than_capability(f, call);
    switch (by) {
    case DENIED_BY_CAPABILITY:
        break;
    case DENIED_BY_USER_NAMESPACE:
        snprintf(why, len, "capabilities of a user namespace do not suffice: run in the initial one (hostUsers: true)");
        break;
    case DENIED_BY_SECCOMP:
        snprintf(why, len, "a seccomp filter refuses %s: allow it in the profile, or use another (seccompProfile)",
                 call_name(call));
        break;
    case DENIED_BY_LOCKDOWN:
        snprintf(why, len,
                 "kernel lockdown (confidentiality) keeps eBPF programs from reading kernel memory: boot with "
                 "lockdown=integrity or without");
        break;
    case DENIED_BY_PARANOID:
        snprintf(why, len,
                 "kernel.perf_event_paranoid is %ld, at which this kernel wants CAP_SYS_ADMIN: set it to 2, or add the "
                 "capability",
                 f->paranoid);
        break;
    case DENIED_BY_MEMLOCK:
        snprintf(why, len,
                 "the limit of locked memory is too low for eBPF maps before Linux 5.11: raise it "
                 "(ulimit -l), or add CAP_SYS_RESOURCE");
        break;
    case DENIED_BY_MODULE:
        snprintf(why, len, "a security module refuses %s%s%s: allow it in its policy (appArmorProfile, seLinuxOptions)",
                 call_name(call), f->module[0] ? " to " : "", f->module);
        break;
    }
    return by;
}
