/* Label selectors: any text. */
#include "base/cleanup.h"
#include "kube/selector.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(selector_free) struct selector *s = NULL;
    CLEANUP(kube_pairs_free) struct kube_pairs labels = {0};
    AUTO_FREE char *text = strndup((const char *)data, size);
    char why[64] = "";
    kube_pairs_add(&labels, "a", "b");
    kube_pairs_add(&labels, "app.kubernetes.io/name", "web");
    if (selector_parse(&s, text, why, sizeof(why)))
        return !*why ? __builtin_trap(), 0 : 0;
    selector_matches(s, &labels);
    return 0;
}
