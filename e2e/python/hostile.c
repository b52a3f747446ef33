/* Claims to be a CPython, and lies: hostile LIB KIND SECONDS [HANGING]
 *
 * LIB is a file to make, which stands for libpython; KIND is one of LIES below; HANGING is a file that hangs who reads
 * it. The interpreter's memory is that of the unit tests (agent/runtime/python_crafted.h), at the same addresses, which
 * therefore mean something in each of these processes, which is named "lies:KIND". Its loop is a function of this
 * program, which has to export it; the frames are those of the main thread. The function that they show is "lie_KIND".
 * Prints "ready".
 */
#define _GNU_SOURCE
#include "e2e/python/hostile.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KERNEL 0xffff888000000000ull
#define STRIDE 16   /* of lists whose parts overlap */
#define CODES  2000 /* frames that fit into a stack */
#define GIANT  (1ull << 30)

static const char *kind_name, *hanging = "";
static unsigned depth = 1;

/* ---- What is done once: frames */

static void frame_calls_itself(void)
{
    put(frame + v->frame_back, frame, 8);
}

static void millions_of_frames(void)
{
    u64 list = far_alloc(FAR_BYTES);
    for (u64 at = list; at < FAR + FAR_BYTES - 128; at += STRIDE) {
        put(at, code, 8);
        put(at + 8, at + STRIDE, 8);
    }
    put(frame + v->frame_back, list, 8);
}

static void frames_at_holes(void) /* every second page cannot be read */
{
    u64 list = far_alloc(4 << 20) + 4096;
    for (u64 at = list; at < FAR + (2 << 20); at += 8192) {
        put(at - 16, code, 8);
        put(at - 8, at - 16 - 72, 8);
        put(at - 88, at + 4096, 8);
        put(at - 80, at + 8192 - 16, 8);
        if (mprotect((void *)((at + 4095) & ~4095ull), 4096, PROT_NONE))
            stop("mprotect");
    }
    put(frame + v->frame_back, list - 16, 8);
}

static void into_the_kernel(void)
{
    u64 bad = new_code(KERNEL);
    for (unsigned i = 0; i < 4; i++)
        put(bad + v->code_names + 8u * i, KERNEL + 64 * i, 8);
    call_from(bad);
    put(get(frame + v->frame_back) + v->frame_back, new_frame(KERNEL, KERNEL), 8);
    put(state + 8, KERNEL, 8);
    put(sound.interpreter, KERNEL, 8);
}

static void deep_loop(void) /* whose frames are a cycle with an outermost one in it */
{
    depth = 1500;
    put(outer + v->frame_back, frame, 8);
}

/* ---- Texts, tables of lines */

static void giant_texts(void)
{
    u64 text = far_alloc(FAR_BYTES / 2), bad = new_code(text), bytes = far_copy(get(code + v->code_names + 24), 256);
    for (u64 at = text; at < text + FAR_BYTES / 2; at += 4)
        put(at, 0x10000 + random_32() % 0xfffff, 4);
    memcpy((void *)text, (void *)name, v->ascii);
    claim(text, GIANT, 4, 8);
    put(bytes + v->header, GIANT, 8);
    put(bad + v->code_names, text, 8);
    put(bad + v->code_names + 24u, bytes, 8);
    call_from(bad);
}

static void endless_lines(void) /* numbers that go on as long as they may */
{
    u64 table = far_alloc(2 << 20), bad = new_code(name);
    memset((void *)table, 0xf0, 2 << 20);
    memcpy((void *)table, (void *)get(code + v->code_names + 24), v->header + 16u);
    put(table + v->header, 1 << 20, 8);
    put(bad + v->code_names + 24u, table, 8);
    put(bad + v->header, 1 << 19, 8);
    call_from(bad);
    put(get(frame + v->frame_back) + v->frame_position, bad + v->code_start + (1 << 20) - 2, 8);
}

static void many_codes(void)
{
    u64 back = outer;
    for (unsigned i = 0; i < CODES; i++)
        back = new_frame(new_code(far_copy(name, 128)), back);
    put(frame + v->frame_back, back, 8);
}

static void long_names(void) /* more than there is room for, and always the same ones */
{
    u64 back = outer;
    for (unsigned i = 0; i < CODES; i++) {
        u64 text = far_copy(name, 128 + 12000);
        claim(text, 3000, 4, 8);
        for (u64 at = text + v->ascii + 16u; at < text + 12128 - 4; at += 4)
            put(at, 0x10000 + random_32() % 0xfffff, 4);
        back = new_frame(new_code(text), back);
    }
    put(frame + v->frame_back, back, 8);
}

/* ---- Lists of interpreters and threads */

static void interpreters_cycle(void)
{
    put(sound.interpreter + v->next, sound.interpreter, 8);
}

static void threads_cycle(void)
{
    put(state + 8, state, 8);
}

static void millions_of_threads(void)
{
    u64 list = far_alloc(FAR_BYTES);
    for (u64 at = list; at < FAR + FAR_BYTES - 128; at += STRIDE) {
        put(at, sound.interpreter, 8);
        put(at + 8, at + STRIDE, 8);
    }
    put(state + 8, list, 8);
}

static void millions_of_interpreters(void) /* none of which has a thread */
{
    u64 list = far_alloc(FAR_BYTES);
    for (u64 at = list; at < FAR + FAR_BYTES - 128; at += STRIDE)
        put(at, at + STRIDE, 8);
    put(sound.interpreter + v->next, list, 8);
}

/* One thread often, which is not where its C library would have it, but nearly everywhere else. */
static void long_search(void)
{
    u64 base = far_alloc(4096), block = far_alloc(4096);
    threads_cycle();
    for (u64 i = 0; i < 4096; i += 8) {
        put(base + i, i < 0x120 ? block : 8, 8);
        put(block + i, state, 8);
    }
    put(state + v->thread, base, 8);
}

/* ---- What hangs: a file of a file system that does not answer who reads it (e2e/targets/hangfs.c) */

static u64 hang_readers(void)
{
    u64 at = FAR + FAR_BYTES;
    int fd = open(hanging, O_RDONLY);
    if (fd < 0 || mmap((void *)at, 0x4000, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
        stop(hanging);
    return at;
}

static void hang_names(void)
{
    call_from(new_code(hang_readers()));
}

static void hang_runtime(void)
{
    put(sound.runtime + v->head, hang_readers(), 8);
}

/* ---- What changes all the time */

static void change_bytes(void)
{
    u64 at = sound.runtime + random_32() % (CRAFTED_SIZE - sound.runtime);
    memory[at] = random_32() % 2 ? sound.bytes[at] : (u8)random_32();
}

static void change_offsets(void)
{
    static const u64 values[] = {0, 1, 7, 121, 8191, 8192, 65535, 1ull << 32, 1ull << 63, ~0ull};
    u64 at = sound.runtime + 16 + 8 * (random_32() % 62);
    put(at, random_32() % 8 ? crafted_get(&sound, at) : values[random_32() % 10], 8);
}

static void change_cookie(void) /* by the file name of the second frame */
{
    u64 at = get(get(frame + v->frame_back) + v->frame_code) + v->code_names, now = get(at);
    put(at, now + 64 < FAR + FAR_BYTES ? now + 64 : FAR, 8);
}

static void change_frames(void)
{
    static u64 other;
    other = other ? other : new_frame(code, outer);
    put(frame + v->frame_back, random_32() % 2 ? other : outer, 8);
    put(other + v->frame_back, random_32() % 2 ? frame : outer, 8);
    put(code + v->code_names, random_32() % 2 ? name : 0, 8);
}

static void change_text(void) /* the same object at the same place; only its text is another */
{
    put(name + v->ascii + 8u, 'a' + random_32() % 26, 1);
}

static void change_form(void)
{
    claim(name, random_32() % 3 ? random_32() : strlen(kind_name) + 4, random_32() % 8, random_32() % 4 * 8);
}

static void change_position(void)
{
    put(frame + v->frame_position, (u64)random_32() << 32 | random_32(), random_32() % 2 ? 8 : 2);
}

static void change_control(void) /* what terminals and readers of lines would obey */
{
    static const u32 all[] = {0, 1, '\b', '\n', '\r', 27, ';', '"', 127, 0x9b, 0x202e, 0x2066, 0xd800, 0x10ffff};
    u64 text = name + v->ascii + 16u;
    claim(name, 8, 4, 8);
    for (unsigned i = 0; i < 8; i++)
        put(text + 4ull * i, i % 2 ? all[random_32() % 14] : 'x', 4);
    put(code + v->code_names, get(code + v->code_names) == name ? name + 1 : name, 8);
}

static void change_codes(void)
{
    u64 at = FAR + 128 + 512ull * (random_32() % CODES) + v->code_names;
    put(at, random_32() % 2 ? name : get(at) + 8, 8);
}

/* ---- */

static const struct lie {
    const char *name;
    unsigned version;
    void (*once)(void);
    void (*often)(void);
} LIES[] = {
    {"sound8", CRAFTED_3_8, NULL, NULL},
    {"sound10", CRAFTED_3_10, NULL, NULL},
    {"sound11", CRAFTED_3_11, NULL, NULL},
    {"sound", CRAFTED_3_12, NULL, NULL},
    {"sound14", CRAFTED_3_14T, NULL, NULL},
    {"cycle", CRAFTED_3_12, frame_calls_itself, NULL},
    {"frames", CRAFTED_3_12, millions_of_frames, NULL},
    {"holes", CRAFTED_3_12, frames_at_holes, NULL},
    {"kernel", CRAFTED_3_12, into_the_kernel, NULL},
    {"deep", CRAFTED_3_12, deep_loop, NULL},
    {"giant", CRAFTED_3_12, giant_texts, change_cookie},
    {"lines", CRAFTED_3_12, endless_lines, change_cookie},
    {"flood", CRAFTED_3_12, many_codes, change_codes},
    {"long", CRAFTED_3_12, long_names, NULL},
    {"rounds", CRAFTED_3_12, interpreters_cycle, NULL},
    {"ring", CRAFTED_3_12, threads_cycle, NULL},
    {"threads", CRAFTED_3_12, millions_of_threads, NULL},
    {"crowd", CRAFTED_3_12, millions_of_interpreters, NULL},
    {"search", CRAFTED_3_12, long_search, NULL},
    {"bytes", CRAFTED_3_12, NULL, change_bytes},
    {"offsets", CRAFTED_3_14T, NULL, change_offsets},
    {"moving", CRAFTED_3_11, NULL, change_frames},
    {"reused", CRAFTED_3_12, NULL, change_text},
    {"form", CRAFTED_3_12, NULL, change_form},
    {"places", CRAFTED_3_12, NULL, change_position},
    {"control", CRAFTED_3_12, NULL, change_control},
    {"hang-names", CRAFTED_3_12, hang_names, NULL},
    {"hang-runtime", CRAFTED_3_12, hang_runtime, NULL},
};
#define NLIES (sizeof(LIES) / sizeof(*LIES))

static void *keep_changing(void *often)
{
    for (unsigned i = 0;; i++) {
        ((void (*)(void))often)();
        if (i % 64 == 0)
            usleep(1000);
    }
    return NULL;
}

/* The first of the crafted threads is the one that runs. */
static void make_sound(const struct lie *lie)
{
    char text[64];
    pthread_key_t key;
    crafted_make(&sound, lie->version, CRAFTED_GLIBC);
    v = sound.v;
    asm("mov %%fs:0x10, %0" : "=r"(tls));
    state = sound.thread[0].state;
    frame = sound.thread[0].frame;
    code = sound.thread[0].code;
    outer = crafted_get(&sound, frame + v->frame_back);
    snprintf(text, sizeof(text), "lie_%s", lie->name);
    name = crafted_str(&sound, text, (u32)strlen(text), 1, true);
    crafted_alloc(&sound, 128); /* so that it may grow */
    crafted_put(&sound, code + v->code_names + (crafted_is_old(&sound) ? 8 : 16), name, 8);
    crafted_put(&sound, state + v->thread, tls, 8);
    if (pthread_key_create(&key, NULL) || pthread_setspecific(key, (void *)state))
        stop("pthread_setspecific");
}

static void map_sound(const char *lib)
{
    int fd = open(lib, O_RDWR | O_CREAT | O_TRUNC, 0644);
    size_t module = 0x1000;
    if (fd < 0 || write(fd, sound.bytes + CRAFTED_MODULE, module) != (ssize_t)module)
        stop(lib);
    if (mmap((void *)CRAFTED_MODULE, module, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED ||
        mmap((void *)0x2000, CRAFTED_SIZE - 0x2000, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        stop("mmap");
    memcpy(memory + 0x2000, sound.bytes + 0x2000, CRAFTED_SIZE - 0x2000);
}

__attribute__((noinline)) static void burn(void)
{
    for (unsigned i = 0; i < 1000000; i++)
        asm volatile("");
}

__attribute__((noinline)) void _PyEval_EvalFrameDefault(unsigned n)
{
    if (n)
        _PyEval_EvalFrameDefault(n - 1);
    else
        burn();
    asm volatile(""); /* a call, not a jump */
}

int main(int argc, char **argv)
{
    const struct lie *lie = LIES;
    pthread_t thread;
    char comm[16];
    if (argc < 4)
        return 2;
    kind_name = argv[2];
    hanging = argc > 4 ? argv[4] : "";
    while (lie < LIES + NLIES && strcmp(lie->name, kind_name) != 0)
        lie++;
    if (lie == LIES + NLIES)
        return 2;
    snprintf(comm, sizeof(comm), "lies:%s", kind_name);
    prctl(PR_SET_NAME, comm);
    make_sound(lie);
    map_sound(argv[1]);
    if (lie->once)
        lie->once();
    if (lie->often && pthread_create(&thread, NULL, keep_changing, (void *)lie->often))
        stop("pthread_create");
    puts("ready");
    fflush(stdout);
    for (time_t end = time(NULL) + atoi(argv[3]); time(NULL) < end; usleep(20000))
        _PyEval_EvalFrameDefault(depth - 1);
    return 0;
}
