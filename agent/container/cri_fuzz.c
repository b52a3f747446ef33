/* Whatever a runtime may answer: every string that a list promises can be read, and all of it is freed. */
#include "base/cleanup.h"
#include "container/cri_list.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(const struct cri_pairs *p)
{
    size_t sum = 0;
    for (u32 i = 0; i < p->n; i++)
        sum += strlen(p->v[i].key) + strlen(p->v[i].value);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(cri_list_free) struct cri_list l = {0};
    char text[64];
    size_t sum = 0;
    if (!size)
        return 0;
    size_t half = data[0] * (size - 1) / 255;
    cri_list_sandboxes(&l, data + 1, half);
    cri_list_containers(&l, data + 1 + half, size - 1 - half);
    for (size_t i = 0; i < l.sandboxes.n; i++)
        sum += strlen(l.sandboxes.v[i].id) + strlen(l.sandboxes.v[i].name) + walk(&l.sandboxes.v[i].labels) +
               walk(&l.sandboxes.v[i].annotations);
    for (size_t i = 0; i < l.containers.n; i++)
        sum += strlen(l.containers.v[i].id) + strlen(l.containers.v[i].image) + walk(&l.containers.v[i].labels);
    cri_status_image(data, size, text, sizeof(text));
    cri_version_text(data, size, text, sizeof(text));
    if (sum > size)
        __builtin_trap();
    return 0;
}
