#include "dwarf/craft_test.h"
#include "dwarf/crafted.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

void craft_free(struct craft *c)
{
    buf_free(&c->abbrev);
    buf_free(&c->info);
    buf_free(&c->line);
    buf_free(&c->ranges);
    buf_free(&c->str);
}

void craft_put(struct buf *b, u64 v, size_t n)
{
    buf_add(b, &v, n);
}

void craft_uleb(struct buf *b, u64 v)
{
    for (; v > 127; v >>= 7)
        craft_put(b, (v & 127) | 128, 1);
    craft_put(b, v, 1);
}

void craft_abbrev(struct buf *b, u64 code, unsigned tag, bool children, const u16 *specs)
{
    craft_uleb(b, code);
    craft_uleb(b, tag);
    craft_put(b, children, 1);
    for (; specs[0]; specs += 2) {
        craft_uleb(b, specs[0]);
        craft_uleb(b, specs[1]);
    }
    craft_put(b, 0, 2);
}

size_t craft_unit(struct buf *info, u32 abbrev_off)
{
    size_t at = info->len;
    craft_put(info, 0, 4); /* length */
    craft_put(info, 4, 2);
    craft_put(info, abbrev_off, 4);
    craft_put(info, 8, 1);
    return at;
}

void craft_end_unit(struct buf *info, size_t unit)
{
    u32 len = (u32)(info->len - unit - 4);
    if (info->data)
        memcpy(info->data + unit, &len, 4);
}

void craft_line_program(struct buf *line, const void *ops, size_t n)
{
    static const char head[] = "\1\1\1\373\16\15\0\1\1\1\1\0\0\0\1\0\0\1\0f.c\0\0\0\0";
    craft_put(line, 6 + sizeof(head) + n, 4);
    craft_put(line, 4, 2);
    craft_put(line, sizeof(head), 4);
    buf_add(line, head, sizeof(head));
    buf_add(line, ops, n);
}

static int pack(const struct craft *c, struct buf *out)
{
    uLongf n = compressBound(c->info.len);
    Elf64_Chdr h = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = c->inflated};
    AUTO_FREE Bytef *z = malloc(n);
    if (!z || compress(z, &n, (const Bytef *)c->info.data, c->info.len))
        return -ENOMEM;
    buf_add(out, &h, sizeof(h));
    buf_add(out, z, n);
    return 0;
}

int craft_file(const struct craft *c, const char *suffix, struct buf *out)
{
    AUTO_BUF struct buf packed = {0};
    const struct buf *info = c->inflated ? &packed : &c->info, *const parts[] = {info, &c->abbrev, &c->line, &c->ranges,
                                                                                 &c->str};
    static const char *const names[] = {"info", "abbrev", "line", "ranges", "str"};
    char text[5][32];
    struct crafted_section s[5];
    if (c->inflated && pack(c, &packed))
        return -ENOMEM;
    for (size_t i = 0; i < 5; i++) {
        snprintf(text[i], sizeof(text[i]), ".debug_%s%s", names[i], suffix);
        s[i] = (struct crafted_section){.name = text[i], .data = parts[i]->data, .len = parts[i]->len};
    }
    s[0].flags = c->inflated ? SHF_COMPRESSED : 0;
    crafted_elf(out, s, 5);
    return 0;
}
