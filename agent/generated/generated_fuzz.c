/* Memory of any bytes: as an object of a JIT compiler, as a module with symbols, and as memory in which CFI is
 * searched. Whatever is found becomes tables, which must be valid.
 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "cfi/table.h"
#include "generated/descriptor.h"
#include "generated/regions.h"
#include "proc/module.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CODE 0x100000

/* An address is an offset in the bytes; code is far behind them. */
static int open_bytes(struct memory *m, int bytes, size_t len)
{
    char text[256];
    size_t n = (size_t)snprintf(text, sizeof(text),
                                "00000000-%08zx r--p 00000000 00:00 0 \n%08x-%08x r-xp 00000000 00:00 0 \n", len, CODE,
                                CODE + 0x10000);
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", text, n);
    return memory_open(m, bytes, maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    CLEANUP(memory_free) struct memory m = {0};
    CLEANUP(sections_free) struct sections s = {0};
    CLEANUP(regions_free) struct regions r = {0};
    AUTO_BUF struct buf text = {0};
    struct module mod;
    if (!len || len > CODE)
        return 0;
    AUTO_CLOSE int bytes = fs_sealed_memfd("mem", data, len);
    if (open_bytes(&m, bytes, len))
        return 0;
    object_read(&m, data, len, &s, &text);
    if (module_read(&m, 0, &mod))
        module_symbol(&m, &mod, "name");
    sections_search(&s, &m);
    if (regions_build(&r, &m, &s, 2))
        return 0;
    for (size_t i = 0; i < r.list.n; i++)
        if (table_check(r.list.v[i].image, r.list.v[i].len))
            abort();
    return 0;
}
