/* Any bytes as a recording. */
#include "base/cleanup.h"
#include "profile/encode.h"
#include "profile/recorded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    CLEANUP(profile_free) struct profile p = {0};
    CLEANUP(recorded_free) struct recorded r = {0};
    AUTO_BUF struct buf out = {0};
    struct name_source none = {.ctx = NULL};
    char why[128];
    if (!profile_init(&p) && !recorded_read(data, len, &p, &r, why, sizeof(why)) && !recorded_name(&p, &r, &none))
        encoder_by_name("collapsed")->encode(&p, &out);
    return 0;
}
