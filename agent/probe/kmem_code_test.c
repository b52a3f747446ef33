/* Code of the kernel's slab allocators, as /proc/kallsyms has it. */
#include "base/cleanup.h"
#include "base/test.h"
#include "probe/kinds.h"
#include "bpf/kmem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool find(const char *text, struct xp_kmem_settings *out)
{
    AUTO_FCLOSE FILE *f = fmemopen((void *)text, strlen(text), "r");
    *out = (struct xp_kmem_settings){0};
    return f && kmem_find_code(f, out);
}

TEST(kmem_finds_slab_allocators_and_interrupts)
{
    struct xp_kmem_settings s;
    CHECK(
        find("ffffffff81000100 T asm_exc_page_fault\n"
             "ffffffff81000140 T asm_common_interrupt\n"
             "ffffffff81000180 T asm_sysvec_apic_timer_interrupt\n"
             "ffffffff810001a0 T irq_entries_end\n"
             "ffffffff81200000 t allocate_slab\n"
             "ffffffff81200300 t other\n"
             "ffffffff81200400 T __kmalloc_noprof\n"
             "ffffffff81200400 T __kmalloc_alias\n"
             "ffffffff81200500 d kmem_cache_alloc_data\n"
             "ffffffff81200600 T kmem_cache_alloc_noprof\n"
             "ffffffff81200700 T kmem_cache_free\n"
             "ffffffffa0000000 t kmem_cache_alloc_of_module\t[module]\n",
             &s));
    CHECK(s.interrupts[0].from == 0xffffffff81000140 && s.interrupts[0].to == 0xffffffff810001a0);
    CHECK(!s.interrupts[1].from);
    CHECK(s.slabs[0].from == 0xffffffff81200000 && s.slabs[0].to == 0xffffffff81200300);
    CHECK(s.slabs[1].from == 0xffffffff81200400 && s.slabs[1].to == 0xffffffff81200700); /* adjacent */
    CHECK(!s.slabs[2].from);
}

/* Then pages do not count: nobody knows which of them are slabs. */
TEST(kmem_knows_when_allocators_are_hidden)
{
    struct xp_kmem_settings s;
    CHECK(!find("0000000000000000 t allocate_slab\n0000000000000000 T kmem_cache_free\n", &s));
    CHECK(!find("ffffffff81200000 T allocate_slab\n", &s)); /* its end is not known */
    CHECK(!find("nonsense\n", &s));
    CHECK(!find(" ", &s));
}

TEST(kmem_refuses_more_allocators_than_have_room)
{
    AUTO_FREE char *text = calloc(2 * XP_KMEM_SLABS + 4, 64);
    struct xp_kmem_settings s;
    size_t n = 0;
    for (unsigned i = 0; text && i <= XP_KMEM_SLABS; i++)
        n += (size_t)sprintf(text + n, "ffffffff812%05x T __kmalloc_%u\nffffffff812%05x T other\n", i * 32, i,
                             i * 32 + 16);
    CHECK(text && !find(text, &s));
}
