/* OTLP profiles, v1development (opentelemetry-proto 1.10 and later), made from pprof bytes: one dictionary, and a
 * Profile for each of pprof's sample types, because theirs has only one.
 *
 * Labels become attributes of the resource, under OpenTelemetry's names where it has one (otlp_encode.c's table:
 * service_name is service.name, pod is k8s.pod.name, ...), else as they are; __name__ goes, since the type says it.
 * A Pyroscope behind this protocol therefore shows k8s_pod_name where its own push shows pod: dashboards want the push.
 * Labels of samples are left out: servers make a series of each.
 */
#pragma once
#include "base/buf.h"
#include "export/export.h"
#include "base/pprof_read.h"

struct otlp_about {
    const struct export_label *labels;
    size_t nlabels;
    u64 time_ns, duration_ns; /* where the profile does not say it itself */
};

/* Appends an ExportProfilesServiceRequest. 0; -EBADMSG: an index points nowhere, or a message is malformed; -ENOMEM. */
int otlp_encode(const struct pprof *p, const struct otlp_about *about, struct buf *out);

/* What an ExportProfilesServiceResponse says of profiles that were refused, and why: `why` is raw. 0: none. */
u64 otlp_rejected(const void *answer, size_t len, struct cursor *why);
