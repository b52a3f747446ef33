/* Instructions a second of our decoder and of Zydis, on the executable sections of one ELF file.
 *
 *     zydis FILE
 *
 * Both walk the same bytes with all operands asked for: two lines of MB/s, M instructions/s, ours first. The best of
 * five.
 */
#include "base/clock.h"
#include "synth/insn.h"
#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct walk {
    u64 bytes, instructions, ns;
    u64 sum; /* of what was decoded: nothing is optimised away */
};

static void walk_ours(const u8 *bytes, size_t n, struct walk *w)
{
    struct insn insn;
    for (size_t at = 0; at < n; w->instructions++) {
        size_t len = insn_decode(bytes + at, n - at, &insn);
        if (len)
            w->sum += insn.writes;
        at += len ? len : 1;
    }
}

static void walk_zydis(const u8 *bytes, size_t n, struct walk *w)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < n; w->instructions++) {
        bool valid = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, n - at, &insn, operands));
        if (valid)
            w->sum += insn.operand_count;
        at += valid ? insn.length : 1;
    }
}

static struct walk walk(const u8 *image, size_t n, void (*decode)(const u8 *, size_t, struct walk *))
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
    struct walk w = {0};
    u64 start = now_ns();
    if (n < sizeof(*h) || memcmp(h->e_ident, ELFMAG "\2\1", 6) != 0 || h->e_shoff > n ||
        (n - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
        return w;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(image + h->e_shoff);
    for (u32 i = 0; i < h->e_shnum; i++) {
        if (!(s[i].sh_flags & SHF_EXECINSTR) || s[i].sh_offset > n || s[i].sh_size > n - s[i].sh_offset)
            continue;
        decode(image + s[i].sh_offset, s[i].sh_size, &w);
        w.bytes += s[i].sh_size;
    }
    w.ns = now_ns() - start;
    return w;
}

static void report(const u8 *image, size_t n, void (*decode)(const u8 *, size_t, struct walk *))
{
    struct walk best = {.ns = ~0ull};
    for (u32 i = 0; i < 5; i++) {
        struct walk w = walk(image, n, decode);
        if (w.ns < best.ns)
            best = w;
    }
    __asm__ volatile("" ::"r"(best.sum));
    printf("%.1f %.2f\n", (double)best.bytes * 1e3 / (double)best.ns,
           (double)best.instructions * 1e3 / (double)best.ns);
}

int main(int argc, char **argv)
{
    struct stat st;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st))
        return 1;
    void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return 1;
    report(image, (size_t)st.st_size, walk_ours);
    report(image, (size_t)st.st_size, walk_zydis);
    return 0;
}
