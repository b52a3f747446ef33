#include "profile/encode.h"
#include "profile/formats.h"
#include <string.h>

#define GZ ".gz"

/* The first one is gzipped. */
static const struct encoder ENCODERS[] = {
    {"pprof", ".pb.gz", ".pprof", "pprof, gzipped: go tool pprof, Grafana Pyroscope, Parca", false, encode_pprof},
    {"collapsed", ".collapsed", ".folded", "a line per stack with its value: flamegraph.pl, speedscope, grep", false,
     encode_collapsed},
    {"stacks", ".stacks", NULL, "text of Stack_Analyzer: stacks of each thread, with offsets in functions", true,
     encode_stacks},
    {"speedscope", ".speedscope.json", NULL, "for www.speedscope.app", false, encode_speedscope},
    {"gecko", ".gecko.json", NULL, "for the Firefox Profiler, profiler.firefox.com", false, encode_gecko},
    {"svg", ".svg", NULL, "a static flame graph", false, encode_svg},
    {"html", ".html", NULL, "a page to explore, in one file", false, encode_html},
};

const struct encoder *encoders(size_t *n)
{
    *n = sizeof(ENCODERS) / sizeof(ENCODERS[0]);
    return ENCODERS;
}

/* Length of the suffix when so much of the path ends in it (and has a name in front), else 0. */
static size_t matches(const char *path, size_t n, const char *suffix)
{
    size_t m = suffix ? strlen(suffix) : 0;
    return n > m && m && !memcmp(path + n - m, suffix, m) ? m : 0;
}

static const struct encoder *find(const char *path, size_t len)
{
    const struct encoder *best = NULL;
    size_t n, longest = 0;
    const struct encoder *all = encoders(&n);
    for (size_t i = 0; i < n; i++) {
        size_t a = matches(path, len, all[i].suffix), b = matches(path, len, all[i].also);
        if ((a > b ? a : b) > longest) {
            longest = a > b ? a : b;
            best = &all[i];
        }
    }
    return best;
}

const struct encoder *encoder_for_path(const char *path)
{
    size_t len = strlen(path), gz = matches(path, len, GZ);
    const struct encoder *e = find(path, len);
    return e || !gz ? e : find(path, len - gz);
}

bool encoder_gzips(const char *path, const char *format)
{
    size_t len = strlen(path);
    return matches(path, len, GZ) && (format ? strcmp(format, ENCODERS[0].name) != 0 : !find(path, len));
}

const struct encoder *encoder_by_name(const char *name)
{
    size_t n;
    const struct encoder *all = encoders(&n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}
