#include "probe/denied.h"
#include "base/test.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>

#define CAP(n)   (1ull << (n))
#define OURS     (CAP(CAP_BPF) | CAP(CAP_PERFMON) | CAP(CAP_SYS_PTRACE) | CAP(CAP_SYSLOG))
#define APPARMOR "the AppArmor profile cri-containerd.apparmor.d (enforce)"

static char line[300];

static enum denied_by why(struct denied_facts f, enum denied_call call, unsigned capability)
{
    return denied_why(&f, call, capability, line, sizeof(line));
}

static bool says(const char *text)
{
    return strstr(line, text) != NULL;
}

TEST(denied_by_a_capability_that_is_missing)
{
    struct denied_facts f = {.paranoid = 2, .bpf_filtered = true, .perf_filtered = true, .module = APPARMOR};
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_CAPABILITY); /* whatever else there is: this comes first */
    CHECK(says("CAP_BPF and CAP_PERFMON are missing"));
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_CAPABILITY);
    CHECK(says("CAP_PERFMON is missing, and kernel.perf_event_paranoid is 2"));
    CHECK_EQ(why(f, DENIED_ACCESS, CAP_SYS_PTRACE), DENIED_BY_CAPABILITY);
    CHECK_STR(line, "CAP_SYS_PTRACE is missing");
    f.capabilities = CAP(CAP_BPF);
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_CAPABILITY);
    CHECK(says("CAP_PERFMON is missing:") && !says("CAP_BPF is"));
    f.capabilities = CAP(CAP_PERFMON);
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_CAPABILITY);
    CHECK(says("CAP_BPF is missing:"));
    f = (struct denied_facts){.capabilities = CAP(CAP_SYS_ADMIN)};
    CHECK(why(f, DENIED_BPF, 0) != DENIED_BY_CAPABILITY); /* it stands for those, */
    CHECK(why(f, DENIED_PERF, 0) != DENIED_BY_CAPABILITY);
    CHECK(why(f, DENIED_ACCESS, CAP_CHECKPOINT_RESTORE) != DENIED_BY_CAPABILITY);
    CHECK_EQ(why(f, DENIED_ACCESS, CAP_SYS_PTRACE), DENIED_BY_CAPABILITY); /* and not for this */
}

TEST(denied_by_what_is_not_a_capability)
{
    struct denied_facts f = {.capabilities = OURS, .paranoid = 2, .module = APPARMOR};
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_MODULE);
    CHECK(says("bpf(2) to " APPARMOR) && says("appArmorProfile"));
    CHECK_EQ(why(f, DENIED_ACCESS, CAP_SYS_PTRACE), DENIED_BY_MODULE);
    CHECK(says("access to " APPARMOR));
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_MODULE);
    f.module[0] = 0; /* one that gives no labels: BPF LSM, Yama, ... */
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_MODULE);
    CHECK(says("a security module refuses perf_event_open(2): "));
    f.memlock = true;
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_MEMLOCK);
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_MODULE);
    f.paranoid = 3;
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_PARANOID);
    CHECK(says("perf_event_paranoid is 3") && says("CAP_SYS_ADMIN"));
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_MEMLOCK);
    f.capabilities |= CAP(CAP_SYS_ADMIN);
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_MODULE);
    f.lockdown = true;
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_LOCKDOWN);
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_MODULE);
    f.bpf_filtered = true;
    CHECK_EQ(why(f, DENIED_BPF, 0), DENIED_BY_SECCOMP);
    CHECK(says("bpf(2)"));
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_MODULE); /* the filter lets that through */
    f.perf_filtered = true;
    CHECK_EQ(why(f, DENIED_PERF, 0), DENIED_BY_SECCOMP);
    CHECK(says("perf_event_open(2)"));
    CHECK_EQ(why(f, DENIED_ACCESS, CAP_SYS_PTRACE), DENIED_BY_MODULE);
    f.user_namespace = true;
    for (int call = DENIED_BPF; call <= DENIED_ACCESS; call++)
        CHECK_EQ(why(f, (enum denied_call)call, CAP_SYS_PTRACE), DENIED_BY_USER_NAMESPACE);
}

/* EACCES is the word of the verifier, too, about programs: whoever may load others was refused nothing. */
TEST(denied_is_not_what_the_verifier_does_not_take)
{
    static const struct {
        int err;
        enum denied_call call;
        bool bpf_works, lockdown, refused;
    } rows[] = {
        {-EACCES, DENIED_BPF, true, false, false},  {-EACCES, DENIED_BPF, false, false, true},
        {-EPERM, DENIED_BPF, true, false, true},    {-EINVAL, DENIED_BPF, true, false, false},
        {-EINVAL, DENIED_BPF, true, true, true},    {-EACCES, DENIED_BPF, true, true, true},
        {-EACCES, DENIED_PERF, true, false, true},  {-EPERM, DENIED_PERF, true, false, true},
        {-ENOENT, DENIED_PERF, false, true, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct denied_facts f = {.capabilities = OURS, .bpf_works = rows[i].bpf_works, .lockdown = rows[i].lockdown};
        CHECK_EQ(denied_refuses(&f, rows[i].err, rows[i].call), rows[i].refused);
    }
    CHECK_STR(denied_rejection(-EACCES), "its verifier does not take them");
    CHECK_STR(denied_rejection(-E2BIG), strerror(E2BIG));
}

/* What is found out about the process that runs this: without a filter, all calls get to the kernel. */
TEST(denied_facts_of_this_process)
{
    struct denied_facts f;
    denied_collect(&f);
    unsigned long long caps = 0;
    char text[256];
    int filter = -1;
    FILE *status = fopen("/proc/self/status", "re");
    CHECK(status);
    while (fgets(text, sizeof(text), status))
        if (sscanf(text, "CapEff: %llx", &caps) != 1)
            sscanf(text, "Seccomp: %d", &filter);
    fclose(status);
    CHECK_EQ(f.capabilities, caps);
    CHECK(filter > 0 || (!f.bpf_filtered && !f.perf_filtered));
    CHECK(!denied_explains(-EINVAL, DENIED_PERF, line, sizeof(line)));
    CHECK(denied_explains(-EACCES, DENIED_PERF, line, sizeof(line)));
    CHECK(!strncmp(line, "perf events were refused: ", 26));
    CHECK_EQ(denied_explains(-EACCES, DENIED_BPF, line, sizeof(line)), !f.bpf_works || f.lockdown);
    CHECK(denied_explains(-EPERM, DENIED_BPF, line, sizeof(line)));
    CHECK(!strncmp(line, "loading eBPF programs was refused: ", 35));
}
