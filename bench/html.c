/* Writing profiles of 100,000 distinct stacks (the one that the test of the page opens, e2e/html/synth.c).
 *
 *     bench/html
 *
 * The page against gzip of the collapsed text, at the same level: what anybody would have to do who sent that text.
 * Sizes against the same gzipped text. Names come from the profile: parsing symbols is no part of this.
 */
#include "base/clock.h"
#include "base/gz.h"
#include "e2e/html/synth.h"
#include "profile/encode.h"
#include <stdio.h>

/* Milliseconds of one encoder, the best of three; its file is left in `out`. 0 without memory. */
static double encode(const struct profile *p, const char *name, struct buf *out)
{
    double best = 0;
    for (unsigned i = 0; i < 3; i++) {
        out->len = 0;
        u64 start = now_ns();
        if (encoder_by_name(name)->encode(p, out))
            return 0;
        double took = (double)(now_ns() - start) / 1e6;
        best = !i || took < best ? took : best;
    }
    return best;
}

static double gzip(const struct buf *text, struct buf *out)
{
    u64 start = now_ns();
    return gz_compress(text->data, text->len, 6, out) ? 0 : (double)(now_ns() - start) / 1e6;
}

static void report(const char *name, double ours, double reference, const char *unit, double goal)
{
    printf("%s, %.1f %s, gzip of collapsed %.1f %s, %.2fx, <= %.1fx, %s\n", name, ours, unit, reference, unit,
           ours / reference, goal, ours <= goal * reference ? "pass" : "fail");
}

int main(void)
{
    struct profile p __attribute__((cleanup(profile_free))) = {0};
    AUTO_BUF struct buf text = {0}, packed = {0}, page = {0}, pprof = {0};
    if (profile_init(&p) || synth_many(&p))
        return 1;
    double collapsed_ms = encode(&p, "collapsed", &text), page_ms = encode(&p, "html", &page);
    double pprof_ms = encode(&p, "pprof", &pprof), gzip_ms = gzip(&text, &packed);
    if (!collapsed_ms || !page_ms || !pprof_ms || !gzip_ms)
        return 1;
    fprintf(stderr, "%zu stacks, %zu frames; collapsed: %zu MiB in %.0f ms\n", p.stacks.n, p.stack_locations.n,
            text.len >> 20, collapsed_ms);
    report("html write", page_ms, gzip_ms, "ms", 1);
    report("pprof write", pprof_ms, gzip_ms, "ms", 1);
    report("html size", (double)page.len / 1e6, (double)packed.len / 1e6, "MB", 0.5);
    report("pprof size", (double)pprof.len / 1e6, (double)packed.len / 1e6, "MB", 0.5);
    return 0;
}
