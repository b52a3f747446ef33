/* Edits of a small Go program, {u16 where, u8 what} each: any byte of its table, moduledata, tree and ELF headers. The
 * number of bytes left over says which layout. */
#include "runtime/go_crafted.h"
#include "runtime/go_locks.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void touch(struct go_text t)
{
    volatile char c;
    for (u32 i = 0; i < t.len; i++)
        c = t.data[i];
    (void)c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    u8 file[CRAFTED_SIZE];
    crafted_program(file, len % 3 ? GO_1_18 : GO_1_20);
    if (len & 1)
        memcpy(file + CRAFTED_TABLE + CRAFTED_NAMES + 1, "runtime.semacquire1", 20);
    for (; len >= 3; data += 3, len -= 3)
        file[(data[0] | data[1] << 8) % sizeof(file)] = data[2];
    AUTO_ELF struct elf_file e = {0};
    struct gopclntab t;
    struct go_frames f;
    struct go_text head, tail;
    if (elf_open_memory(&e, file, sizeof(file)) || go_open(&t, &e))
        return 0;
    struct allocators places;
    go_locks_find(&e, &places);
    if (!go_locks_sound(&places, sizeof(places)))
        abort();
    for (u64 at = 0xff8; at < 0x1208; at += 4) {
        if (!go_frames_at(&t, at, &f))
            continue;
        if (!f.n || f.n > GO_MAX_FRAMES)
            abort();
        for (u32 i = 0; i < f.n; i++) {
            touch(f.v[i].name);
            touch(f.v[i].file);
            if (go_name_split(f.v[i].name, &head, &tail) && head.len + tail.len + 2 > f.v[i].name.len)
                abort();
        }
    }
    return 0;
}
