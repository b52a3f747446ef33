/* Objects of the API: any text, read as a pod and as a namespace, and labels and wants made from it. */
#include "base/cleanup.h"
#include "base/json.h"
#include "kube/labels.h"
#include "kube/lean.h"
#include "kube/pod.h"

static void use(struct kube_pod *p)
{
    static const struct policy_type types[] = {{"cpu", true, true, NULL, true}};
    const char *const chosen[] = {"app", "app.kubernetes.io/name"};
    struct policy policy = {.targeting = POLICY_ALL, .rate_max = 99, .types = types, .ntypes = 1};
    struct policy_facts facts = {p->namespace, &p->annotations, &p->labels, &p->annotations, &p->labels};
    struct kube_label_options o = {.pod_labels = chosen, .npod_labels = 2, .image = true, .version = true};
    CLEANUP(labels_free) struct label_set s = {0};
    struct wants w;
    policy_decide(&w, &policy, &facts);
    const struct kube_container *c = p->ncontainers ? &p->containers[0] : NULL;
    if (kube_labels(&s, p, c ? c->name : "", c, &w, &o, NULL) || s.n > LABELS_MAX)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(json_free) struct json *j = NULL;
    CLEANUP(kube_pod_free) struct kube_pod *pod = NULL;
    CLEANUP(kube_namespace_free) struct kube_namespace *ns = NULL;
    CLEANUP(kube_keys_free) struct kube_keys *keys = NULL;
    AUTO_BUF struct buf lean = {0};
    CLEANUP(json_free) struct json *whole = NULL;
    lean_copy(&lean, (const char *)data, size);
    bool bad = json_parse(&j, lean.data ? lean.data : "", lean.len, 1 << 20) != 0;
    if (bad && !json_parse(&whole, (const char *)data, size, 1 << 20)) /* what was cut out was more than it should be */
        __builtin_trap();
    if (bad)
        return 0;
    if (!kube_pod_from_json(&pod, j)) {
        kube_pod_guess_workload(pod);
        use(pod);
    }
    if (!kube_keys_new(&keys, &(struct policy){.prefix = "a"}))
        kube_namespace_from_json(&ns, j, keys);
    return 0;
}
