/* Processes with runtimes, as tests see them published (fake_test.h). */
#include "probe/fake_test.h"
#include <errno.h>
#include <string.h>

#define MAX_FAKES 16

static struct fake_machine all[MAX_FAKES]; /* of one test after the other */
static size_t nall;

static struct fake_machine *find(const struct xp_process_key *key)
{
    for (size_t i = 0; i < nall; i++)
        if (!memcmp(&all[i].key, key, sizeof(*key)))
            return &all[i];
    return NULL;
}

int probe_publish_machine(struct probe *p, const struct xp_process_key *key, const struct xp_machine *machine)
{
    struct fake_machine *j = find(key);
    if (!j && nall == MAX_FAKES)
        return -ENOSPC;
    if (!j)
        j = &all[nall++];
    *j = (struct fake_machine){*key, *machine};
    return 0;
}

void probe_forget_machine(struct probe *p, const struct xp_process_key *key)
{
    struct fake_machine *j = find(key);
    if (j)
        *j = all[--nall];
}

const struct fake_machine *fake_machine(const struct xp_process_key *key)
{
    return find(key);
}
