/* Bytes as code, as a whole ELF file, or as code with spans that are said to be covered. Whatever they are, the work is
 * bounded, and what comes out is in order. */
#include "synth/crafted.h"
#include "synth/startup.h"
#include <stdlib.h>

#define MAX_CODE 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct elf_file *e, const struct synth_span *covered, size_t n)
{
    struct synth_limits limits = {.max_code = 1 << 20, .max_insns = 1 << 18, .max_cpu_ms = 60000, .max_visits = 64};
    AUTO_SYNTH struct synth s = {0}, startup = {0};
    if (!synth_read(e, covered, n, &limits, &s) && !crafted_is_sound(&s))
        abort();
    if (!synth_read_startup(e, &startup) && !crafted_is_sound(&startup))
        abort();
}

/* The first bytes are lengths: of what is covered and what is not, in turns. */
static size_t read_spans(const uint8_t *data, size_t len, struct synth_span *out, size_t max)
{
    u64 at = CRAFTED_BASE;
    size_t n = 0;
    for (size_t i = 0; i + 1 < len && n < max; i += 2) {
        out[n].start = at + data[i];
        out[n].end = out[n].start + data[i + 1];
        at = out[n].end;
        n += data[i + 1] ? 1 : 0;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static u8 file[CRAFTED_BASE + MAX_CODE];
    AUTO_ELF struct elf_file e = {0};
    struct synth_span covered[8];
    size_t n = 0;
    if (len < 17 || len > MAX_CODE)
        return 0;
    if (data[0] & 1) {
        if (!elf_open_memory(&e, data + 1, len - 1))
            check(&e, NULL, 0);
        return 0;
    }
    if (data[0] & 2)
        n = read_spans(data + 1, 16, covered, 8);
    crafted_file(file, data + 17, len - 17);
    if (!elf_open_memory(&e, file, CRAFTED_BASE + len - 17))
        check(&e, covered, n);
    return 0;
}
