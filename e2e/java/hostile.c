/* Claims to be a Java virtual machine, and lies: hostile LIB KIND SECONDS [HANGING]
 *
 * LIB is a file to make, which stands for libjvm.so; KIND is one of LIES below; HANGING is a file that
 * hangs who reads it. The memory is that of the unit
 * tests (agent/runtime/hotspot_crafted.h), at the same addresses, with a compiled method that really runs. Prints
 * "ready".
 */
#define _GNU_SOURCE
#include "runtime/hotspot_crafted.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KERNEL 0xffff888000000000ull
#define FAR    0x20000 /* beyond what is crafted */
#define FAR_MB 64

static const char *hanging = "";
static struct crafted sound;
static u8 *const memory = (u8 *)CRAFTED_MODULE - CRAFTED_MODULE;

static void put(u64 at, u64 v, unsigned n)
{
    memcpy((void *)at, &v, n);
}

static void stop(const char *what)
{
    perror(what);
    exit(2);
}

/* Where the offset or the address of a field is in its row. */
static u64 row_of(const char *type, const char *name)
{
    for (u64 at = sound.fields; crafted_get(&sound, at); at += CRAFTED_ROW)
        if (!strcmp((char *)crafted_get(&sound, at), type) && !strcmp((char *)crafted_get(&sound, at + 8), name))
            return at;
    fprintf(stderr, "there is no field %s.%s\n", type, name);
    exit(2);
}

static u32 random_32(void)
{
    static u64 seed = 1;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(seed >> 32);
}

/* ---- What is done once */

static void map_far(int protection)
{
    if (mmap((void *)FAR, (size_t)FAR_MB << 20, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
        MAP_FAILED)
        stop("mmap");
}

static void segments_in_steps(void) /* of one, so that the way to the blob is long */
{
    memset((void *)CRAFTED_SEGMAP, 1, 0x100);
}

static void endless_tables(void) /* each row is the first one again, as far as there is memory */
{
    map_far(PROT_READ | PROT_WRITE);
    for (u64 at = FAR; at + CRAFTED_ROW < FAR + ((u64)FAR_MB << 20); at += CRAFTED_ROW)
        memcpy((void *)at, (void *)(u64)sound.fields, CRAFTED_ROW);
    for (u64 at = CRAFTED_MODULE; at < CRAFTED_HEAP; at += 8)
        if (crafted_get(&sound, at) == sound.fields || crafted_get(&sound, at) == sound.types)
            put(at, FAR, 8);
}

static void rows_of_no_size(void)
{
    for (u64 at = CRAFTED_MODULE; at < CRAFTED_HEAP; at += 8)
        if (crafted_get(&sound, at) == CRAFTED_ROW)
            put(at, 0, 8);
}

static void into_the_kernel(void)
{
    put(sound.outer + 8, KERNEL, 8);
    put(sound.nmethod + 16, KERNEL, 8);
    put(sound.nmethod + 72, 0x8000000000000000ull, 8);
    put(row_of("VirtualSpace", "_low") + 32, KERNEL, 8);
}

static void unreadable(void)
{
    map_far(PROT_NONE);
    put(sound.outer + 8, FAR, 8);
    put(sound.inner + 8, FAR + 0xff8, 8);
    put(sound.nmethod + 136, FAR, 8); /* the places of its code */
}

static void heap_is_everything(void)
{
    u64 list = crafted_get(&sound, sound.heaps), heap = crafted_get(&sound, crafted_get(&sound, list + 8));
    put(heap, 0x1000, 8);
    put(heap + 8, 0x7ffffffff000, 8);
    put(list, 0xffffffff, 4);
}

static void heaps_overlap(void)
{
    u64 list = crafted_get(&sound, sound.heaps), heap = crafted_get(&sound, crafted_get(&sound, list + 8));
    map_far(PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < 8; i++)
        put(FAR + 8ull * i, heap, 8);
    put(list, 8, 4);
    put(list + 8, FAR, 8);
}

static void many_places(void) /* 4 million PcDescs of one address, and scopes that go on and on */
{
    map_far(PROT_READ | PROT_WRITE);
    for (u64 at = FAR; at < FAR + (64ull << 20); at += 16)
        put(at, 5 | 5ull << 32, 8);
    put(sound.nmethod + 136, FAR, 8);
    put(sound.nmethod + 120, 63u << 20, 4);
    put(sound.nmethod + 144, 64u << 20, 4);
}

static void long_names(void) /* of 64 KiB that are no text */
{
    map_far(PROT_READ | PROT_WRITE);
    for (u64 at = FAR; at < FAR + (1 << 20); at++)
        put(at, random_32() | 0x80, 1);
    put(FAR + 4, 65535, 2);
    u64 constmethod = crafted_get(&sound, sound.outer + 8), pool = crafted_get(&sound, constmethod + 8);
    for (unsigned i = 1; i < 4; i++)
        put(pool + 72 + 8ull * i, FAR, 8);
    put(crafted_get(&sound, pool + 24) + 24, FAR, 8);
}

static void frozen_for_ever(void) /* the barrier returns to itself */
{
    put(sound.native + 161, (u64)sound.stub + 160 + 8 - (sound.native + 165), 4);
    put(sound.nmethod + 28, 1, 4);
}

/* The stack has 2,000 return addresses, each of a frame of one word. */
static void deep_stack(void)
{
    static const u8 code[] = {0xb9, 0xd0, 7,    0,    0,    0x48, 0x8d, 5,    0,    0,   0,    0,
                              0x50, 0xff, 0xc9, 0x75, 0xf4, 0xb9, 0,    0x10, 0x10, 0,   0xff, 0xc9,
                              0x75, 0xfc, 0x48, 0x81, 0xc4, 0x80, 0x3e, 0,    0,    0xc3};
    memcpy(memory + sound.nmethod + 160, code, sizeof(code));
    put(sound.nmethod + 28, 1, 4);
}

/* A file of a file system that does not answer who reads it (e2e/targets/hangfs.c). We do not. */
static void hang_readers(void)
{
    int fd = open(hanging, O_RDONLY);
    if (fd < 0 || mmap((void *)FAR, 0x4000, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
        stop(hanging);
}

static void hang_names(void)
{
    hang_readers();
    put(sound.outer + 8, FAR + 0x100, 8); /* the first page: what runs from there does not touch it */
}

static void hang_tables(void)
{
    hang_readers();
    put(sound.fields + 8, FAR, 8);
}

/* ---- What changes all the time */

static void change_bytes(void)
{
    u64 at = 0x2000 + random_32() % (CRAFTED_SIZE - 0x2000);
    if (at >= sound.nmethod + 160 && at < sound.nmethod + 224)
        return; /* what runs */
    memory[at] = random_32() % 2 ? sound.bytes[at] : (u8)random_32();
}

static void change_tables(void)
{
    u64 row = row_of("nmethod", "_compile_id") + 32;
    put(row, random_32() % 2 ? 80 : random_32() % 4000, 8);
    put(sound.heaps, random_32() % 2 ? crafted_get(&sound, sound.heaps) : 0, 8);
}

static void change_ids(void)
{
    put(sound.nmethod + 80, random_32(), 4);
}

static void change_names(void)
{
    change_ids();
    put(FAR + 6 + random_32() % 60000, random_32(), 4);
}

/* ---- */

static const struct {
    const char *name;
    void (*once)(void);
    void (*often)(void);
} LIES[] = {
    {"sound", NULL, NULL},
    {"segments", segments_in_steps, NULL},
    {"endless", endless_tables, NULL},
    {"stride", rows_of_no_size, NULL},
    {"kernel", into_the_kernel, NULL},
    {"unreadable", unreadable, NULL},
    {"everything", heap_is_everything, NULL},
    {"overlap", heaps_overlap, NULL},
    {"places", many_places, change_ids},
    {"names", long_names, change_names},
    {"frozen", frozen_for_ever, change_ids},
    {"deep", deep_stack, change_ids},
    {"bytes", NULL, change_bytes},
    {"tables", NULL, change_tables},
    {"hang-names", hang_names, NULL},
    {"hang-tables", hang_tables, NULL},
};

static void *keep_changing(void *often)
{
    for (unsigned i = 0;; i++) {
        ((void (*)(void))often)();
        if (i % 64 == 0)
            usleep(1000);
    }
    return NULL;
}

static void map_sound(const char *lib)
{
    int fd = open(lib, O_RDWR | O_CREAT | O_TRUNC, 0644);
    size_t module = 0x1000;
    if (fd < 0 || write(fd, sound.bytes + CRAFTED_MODULE, module) != (ssize_t)module)
        stop(lib);
    if (mmap((void *)CRAFTED_MODULE, module, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) ==
            MAP_FAILED ||
        mmap((void *)0x2000, CRAFTED_SIZE - 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        stop("mmap");
    memcpy(memory + 0x2000, sound.bytes + 0x2000, CRAFTED_SIZE - 0x2000);
}

int main(int argc, char **argv)
{
    static const u8 spin[] = {0xb9, 0, 0x10, 0x10, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3}; /* a million times */
    unsigned kind = 0;
    pthread_t thread;
    if (argc < 4)
        return 2;
    if (argc > 4)
        hanging = argv[4];
    while (kind < sizeof(LIES) / sizeof(*LIES) && strcmp(LIES[kind].name, argv[2]) != 0)
        kind++;
    if (kind == sizeof(LIES) / sizeof(*LIES))
        return 2;
    crafted_make(&sound, CRAFTED_25);
    map_sound(argv[1]);
    memcpy(memory + sound.nmethod + 160, spin, sizeof(spin));
    if (LIES[kind].once)
        LIES[kind].once();
    if (LIES[kind].often && pthread_create(&thread, NULL, keep_changing, (void *)LIES[kind].often))
        stop("pthread_create");
    puts("ready");
    fflush(stdout);
    for (time_t end = time(NULL) + atoi(argv[3]); time(NULL) < end; usleep(5000))
        ((void (*)(void))(u64)(sound.nmethod + 160))();
    return 0;
}
