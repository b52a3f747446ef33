/* Any bytes as a pprof profile, and what OTLP makes of it. */
#include "base/cleanup.h"
#include "export/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct export_label label = {"service_name", "fuzz"};
    struct otlp_about about = {.labels = &label, .nlabels = 1};
    struct pprof p CLEANUP(pprof_free) = {0};
    AUTO_BUF struct buf out = {0};
    struct cursor why;
    if (pprof_read(&p, data, size) == 0)
        otlp_encode(&p, &about, &out);
    otlp_rejected(data, size, &why);
    return 0;
}
