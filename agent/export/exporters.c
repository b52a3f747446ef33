#include "export/exporter.h"

static const struct exporter *const rows[] = {
    [EXPORT_PYROSCOPE] = &exporter_pyroscope,
    [EXPORT_OTLP] = &exporter_otlp,
    [EXPORT_DIRECTORY] = &exporter_directory,
};

const struct exporter *exporter_of(enum export_kind kind)
{
    return (unsigned)kind < sizeof(rows) / sizeof(*rows) ? rows[kind] : NULL;
}

const char *export_reason_slug(enum export_reason r)
{
    static const char *const slugs[] = {
#define X(name, slug, help) [EXPORT_##name] = (slug),
        EXPORT_REASONS(X)
#undef X
    };
    return (unsigned)r < EXPORT_NREASONS ? slugs[r] : "unknown";
}

const char *export_reason_help(enum export_reason r)
{
    static const char *const helps[] = {
#define X(name, slug, help) [EXPORT_##name] = (help),
        EXPORT_REASONS(X)
#undef X
    };
    return (unsigned)r < EXPORT_NREASONS ? helps[r] : "";
}
