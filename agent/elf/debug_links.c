#include "elf/debug_links.h"
#include "elf/elf.h"
#include <errno.h>
#include <string.h>
#include <zlib.h>

#define PIECE ((size_t)1 << 20) /* zlib counts in 32 bits; and pages that were summed need not stay */

/* The text at the start of a section, if all of it fits; how long it is with its end, 0: there is none. */
static size_t take_text(const struct elf_section *s, char *to, size_t size)
{
    size_t len = strnlen((const char *)s->data, s->len);
    if (!len || len >= s->len || len >= size)
        return 0;
    memcpy(to, s->data, len + 1);
    return len + 1;
}

static void read_link(const struct elf_file *e, struct debug_links *l)
{
    struct elf_section s;
    size_t len = elf_section(e, ".gnu_debuglink", &s) ? take_text(&s, l->link, sizeof(l->link)) : 0;
    size_t at = (len + 3) & ~(size_t)3;
    if (len && at + 4 <= s.len)
        memcpy(&l->link_crc, s.data + at, 4);
    else
        memset(l->link, 0, sizeof(l->link));
}

static void read_alt(const struct elf_file *e, struct debug_links *l)
{
    struct elf_section s;
    size_t len = elf_section(e, ".gnu_debugaltlink", &s) ? take_text(&s, l->alt, sizeof(l->alt)) : 0;
    if (!len)
        return;
    size_t id = s.len - len < DEBUG_LINK_ID ? s.len - len : DEBUG_LINK_ID;
    l->alt_id_len = (u8)id;
    memcpy(l->alt_id, s.data + len, id);
}

static u32 what_it_has(const struct elf_file *e)
{
    static const struct {
        const char *section;
        u32 has;
    } of[] = {
        {".debug_info", DEBUG_HAS_INFO},    {".zdebug_info", DEBUG_HAS_INFO},      {".symtab", DEBUG_HAS_SYMBOLS},
        {".gnu_debugdata", DEBUG_HAS_MINI}, {".debug_cu_index", DEBUG_IS_PACKAGE},
    };
    struct elf_section s;
    u32 has = 0;
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
        if (elf_section(e, of[i].section, &s) && s.len)
            has |= of[i].has;
    return has;
}

static u32 crc_of(const struct elf_file *e)
{
    uLong crc = crc32(0, NULL, 0);
    for (size_t at = 0; at < e->size;) {
        size_t n = e->size - at < PIECE ? e->size - at : PIECE;
        crc = crc32(crc, e->map + at, (uInt)n);
        elf_have_read(e, e->map + at, n);
        at += n;
    }
    return (u32)crc;
}

void debug_links_of(const struct elf_file *e, bool crc, struct debug_links *out)
{
    *out = (struct debug_links){.magic = DEBUG_LINKS_MAGIC, .has = what_it_has(e), .build_id_len = e->build_id_len};
    memcpy(out->build_id, e->build_id, e->build_id_len);
    read_link(e, out);
    read_alt(e, out);
    if (crc)
        out->crc = crc_of(e);
}

int debug_links_read(int fd, bool crc, struct debug_links *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (!err)
        debug_links_of(&e, crc, out);
    return err;
}

bool debug_links_sound(const void *data, size_t len)
{
    const struct debug_links *l = data;
    return len == sizeof(*l) && l->magic == DEBUG_LINKS_MAGIC && l->build_id_len <= DEBUG_LINK_ID &&
           l->alt_id_len <= DEBUG_LINK_ID && memchr(l->link, 0, sizeof(l->link)) && memchr(l->alt, 0, sizeof(l->alt));
}
