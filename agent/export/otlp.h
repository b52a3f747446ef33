/* OTLP profiles, v1development (opentelemetry-proto 1.10 and later), made from pprof bytes: one dictionary, and one
 * Profile per sample type of pprof, because an OTLP Profile has a single sample type.
 *
 * Labels become resource attributes. Those with a name in OpenTelemetry's conventions are renamed (table in
 * otlp_encode.c: service_name is service.name, pod is k8s.pod.name, ...); __name__ is dropped, because the sample type
 * has that information. Pyroscope therefore shows k8s_pod_name for profiles received by OTLP, but pod for those pushed
 * by its own protocol; the dashboards need the latter. Labels of samples are dropped, because servers create a series
 * for each.
 */
#pragma once
#include "base/buf.h"
#include "export/export.h"
#include "base/pprof_read.h"

struct otlp_about {
    const struct export_label *labels;
    size_t nlabels;
    u64 time_ns, duration_ns; /* used unless the profile has its own */
};

/* Appends an ExportProfilesServiceRequest. Returns 0; -EBADMSG: an index is out of range, or a message is malformed;
 * -ENOMEM. */
int otlp_encode(const struct pprof *p, const struct otlp_about *about, struct buf *out);

/* Returns the number of rejected profiles in an ExportProfilesServiceResponse; `why` gets the raw message. */
u64 otlp_rejected(const void *answer, size_t len, struct cursor *why);
