/* What arguments of USDT probes are, as the eBPF program reads them: the same code, with registers and memory here. */
#include "base/test.h"
#include "bpf/types.h"
#include "bpf/tracepoint.h"
#include "bpf/usdt.h"
#include <string.h>

/* As in an object: settings, maps, and helpers of the kernel. */
#define XP_INLINE           static inline
#define SEC(name)           __attribute__((unused))
#define __uint(name, value) u8 name[(value)]
#define __type(name, value) u8 name[sizeof(value)]
enum { BPF_MAP_TYPE_ARRAY = 2 };
static struct xp_tp xp_tp;
static struct xp_usdt_site sites[1];
static bool paged_out;

static void *bpf_map_lookup_elem(const void *map, const u32 *key)
{
    (void)map;
    return *key == 7 ? sites : NULL;
}
static long bpf_probe_read_kernel(void *to, u32 size, const void *at)
{
    memcpy(to, at, size);
    return 0;
}
static long bpf_probe_read_user(void *to, u32 size, const void *at)
{
    return paged_out ? -14 : bpf_probe_read_kernel(to, size, at);
}
static u64 xp_tp_record(void *ctx)
{
    return (uintptr_t)ctx;
}
#include "bpf/usdt.bpf.h"

static s64 memory[4] = {-2, 0x1122334455667788, -3, 5};
static u64 registers[21];

/* The argument that this is; 12345: it is not known. */
static s64 value_of(struct xp_usdt_argument a)
{
    u64 out[XP_USDT_ARGUMENTS] = {0};
    for (size_t i = 0; i < 21; i++)
        registers[i] = 100 + i;
    registers[4] = (uintptr_t)memory;
    registers[5] = 2;
    registers[6] = -1ull;
    xp_tp.arguments = 1u << 3;
    sites[0].arguments[3] = a;
    sites[0].arguments[3].flags |= XP_USDT_KNOWN;
    return xp_usdt_arguments(registers, 7, out) ? 12345 : (s64)out[3];
}
enum { NO = XP_USDT_NONE, SIGNED = XP_USDT_SIGNED, MEMORY = XP_USDT_MEMORY };

TEST(usdt_arguments_have_values)
{
    static const struct {
        struct xp_usdt_argument a;
        s64 value;
    } cases[] = {
        {{42, NO, NO, 0, 8, 0, {0}}, 42},
        {{0, 20, NO, 0, 8, 0, {0}}, 120},
        {{0, 6, NO, 0, 8, 0, {0}}, -1},
        {{0, 6, NO, 0, 4, 0, {0}}, 0xffffffff},
        {{0, 6, NO, 0, 1, 0, {0}}, 0xff},
        {{0, 6, NO, 0, 1, SIGNED, {0}}, -1},
        {{8, 4, NO, 0, 8, MEMORY, {0}}, 0x1122334455667788},
        {{8, 4, NO, 0, 2, MEMORY, {0}}, 0x7788},
        {{0, 4, 5, 3, 4, MEMORY, {0}}, 0xfffffffd},
        {{0, 4, 5, 3, 4, MEMORY | SIGNED, {0}}, -3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_EQ(value_of(cases[i].a), cases[i].value);
}

TEST(usdt_arguments_without_values)
{
    u64 out[XP_USDT_ARGUMENTS] = {0};
    struct xp_usdt_argument in_memory = {0, 4, NO, 0, 8, MEMORY, {0}}, other = {0, 20, NO, 0, 8, 0, {0}};
    paged_out = true;
    CHECK_EQ(value_of(in_memory), 12345);
    CHECK_EQ(value_of(other), 120);
    paged_out = false;
    other.size = 0;
    CHECK_EQ(value_of(other), 12345);
    other.size = 15;
    CHECK_EQ(value_of(other), 12345);
    sites[0].arguments[3].flags = 0;
    CHECK_EQ(xp_usdt_arguments(registers, 7, out), 1);
    xp_tp.arguments = 0; /* nobody asks for it */
    CHECK_EQ(xp_usdt_arguments(registers, 7, out), 0);
    CHECK_EQ(xp_usdt_arguments(registers, 8, out), 1); /* there is no such site */
}
