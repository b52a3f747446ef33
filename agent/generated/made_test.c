#include "generated/made_test.h"
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int made_new(struct made *m)
{
    u8 *pages = mmap(NULL, 2 * MADE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return -errno;
    *m = (struct made){pages, pages + MADE_PAGE};
    memset(pages, 0x90, MADE_PAGE);
    return mprotect(pages, MADE_PAGE, PROT_READ | PROT_EXEC) ? -errno : 0;
}

void made_free(struct made *m)
{
    if (m->code)
        munmap(m->code, 2 * MADE_PAGE);
}

static void put(struct buf *b, u64 v, size_t n)
{
    buf_add(b, &v, n);
}

static void end_entry(struct buf *b, size_t at)
{
    while ((b->len - at) % 8 != 4)
        buf_char(b, 0);
    u32 len = (u32)(b->len - at - 4);
    memcpy(b->data + at, &len, sizeof(len));
}

void made_cie(struct buf *b)
{
    size_t at = b->len;
    put(b, 0, 8);
    buf_add(b, "\1zR\0\1\x78\x10\1\x1b", 9); /* factors 1 and -8, RA 16, pcrel | sdata4 */
    buf_add(b, "\x0c\7\x08\x90\1", 5);       /* CFA = rsp + 8; RA at CFA - 8 */
    end_entry(b, at);
}

void made_fde(struct buf *b, u64 at, size_t cie, u64 start, u64 end, u8 push)
{
    size_t from = b->len;
    put(b, 0, 4);
    put(b, b->len - cie, 4);
    put(b, start - (at + b->len), 4);
    put(b, end - start, 4);
    buf_char(b, 0);
    buf_char(b, (char)(0x40 | push));
    buf_add(b, "\x0e\x10", 2); /* CFA offset 16 */
    end_entry(b, from);
}

void made_section(struct buf *b, u64 at, const u8 *code, size_t from)
{
    made_cie(b);
    made_fde(b, at, 0, (u64)code + from, (u64)code + from + 64, 1);
    put(b, 0, 4);
}

void made_object(struct buf *b, const char *name, const u8 *code, const void *cfi, size_t cfi_len)
{
    static const char names[] = "\0.text\0.eh_frame\0.symtab\0.strtab";
    char strings[256] = "";
    size_t len = strlen(name) < 250 ? strlen(name) : 250, strings_at = sizeof(Elf64_Ehdr);
    snprintf(strings + 1, len + 1, "%s", name);
    size_t names_at = strings_at + sizeof(strings), symbols_at = (names_at + sizeof(names) + 7) & ~7ull;
    const Elf64_Sym s[2] = {[1] = {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 32, .st_size = 64}};
    const Elf64_Shdr h[6] = {
        [1] = {.sh_name = 1, .sh_type = SHT_NOBITS, .sh_addr = (u64)code - 32, .sh_size = 96},
        [2] = {.sh_name = 7, .sh_type = SHT_NOBITS, .sh_addr = (u64)cfi, .sh_size = cfi_len},
        [3] = {.sh_name = 17, .sh_type = SHT_SYMTAB, .sh_offset = symbols_at, .sh_size = sizeof(s), .sh_link = 4},
        [4] = {.sh_name = 25, .sh_type = SHT_STRTAB, .sh_offset = strings_at, .sh_size = len + 2},
        [5] = {.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names)}};
    const Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_REL,
                          .e_machine = EM_X86_64,
                          .e_shoff = symbols_at + sizeof(s),
                          .e_shnum = 6,
                          .e_shentsize = sizeof(*h),
                          .e_shstrndx = 5};
    buf_add(b, &e, sizeof(e));
    buf_add(b, strings, sizeof(strings));
    buf_add(b, names, sizeof(names));
    while (b->len < symbols_at)
        buf_char(b, 0);
    buf_add(b, s, sizeof(s));
    buf_add(b, h, sizeof(h));
}
