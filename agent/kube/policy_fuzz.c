/* Annotations: the input is lines "key=value", 'n' in front of the namespace's; keys are chosen by one digit. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "kube/policy.h"
#include <string.h>

static const char *const keys[] = {"xprof.io/profile",
                                   "xprof.io/rate",
                                   "xprof.io/containers",
                                   "xprof.io/service-name",
                                   "profiles.grafana.com/cpu.ebpf.enabled",
                                   "xprof.io/offcpu-min",
                                   "xprof.io/lock-min"};

static void check_text(const char *s, size_t size)
{
    size_t n = strnlen(s, size);
    if (n == size)
        __builtin_trap();
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_len(s + i, n - i);
        if (!len || (unsigned char)s[i] < 0x20)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct policy_type types[] = {
        {"cpu", true, true, NULL, true}, {"offcpu", true, false, NULL, false}, {"io", false, false, NULL, false}};
    CLEANUP(kube_pairs_free) struct kube_pairs pod = {0}, ns = {0};
    AUTO_FREE char *text = strndup((const char *)data, size), *rest = NULL;
    struct policy p = {.rate_min = 1, .rate_max = 997, .types = types, .ntypes = 3};
    struct wants w;
    p.targeting = size ? data[0] % 3 : 0;
    for (char *line = strtok_r(text, "\n", &rest); line && *line; line = strtok_r(NULL, "\n", &rest))
        kube_pairs_add(line[0] & 32 ? &pod : &ns, keys[(unsigned char)line[0] % 7], line + 1);
    rest = NULL;
    struct policy_facts f = {"shop", &pod, NULL, &ns, NULL};
    policy_decide(&w, &p, &f);
    if (w.profiled != (w.events != 0) || w.events & 4 || w.rate > 997 || w.offcpu_min_ns > WANTS_OFFCPU_MAX ||
        w.lock_min_ns > WANTS_OFFCPU_MAX || w.rates[0] > 997 || w.rates[1])
        __builtin_trap();
    check_text(w.reason, sizeof(w.reason));
    check_text(w.service_name, sizeof(w.service_name));
    for (size_t i = 0; i < w.nwarnings; i++)
        check_text(w.warnings[i], sizeof(w.warnings[0]));
    return 0;
}
