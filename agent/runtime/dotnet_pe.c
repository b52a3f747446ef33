/* The headers of an image (PE/COFF specification, "File Headers" to "Section Table"). */
#include "runtime/dotnet_internal.h"
#include "runtime/sound.h"

#define DOS       0x5a4d
#define PE        0x4550
#define PE_AT     0x3c
#define PE_HEADER 24 /* the signature and the COFF header */
#define PE_PLUS   0x20b
#define CLI       14 /* its number among the data directories */
#define SECTION   40

static u32 number(struct memory *m, u64 at, unsigned bytes, bool *ok)
{
    return (u32)memory_u(m, at, bytes, ok);
}

bool dotnet_pe_open(struct memory *m, u64 base, struct dotnet_pe *out)
{
    bool ok = base < MAX_ADDRESS;
    u32 magic = number(m, base, 2, &ok);
    u64 pe = base + number(m, base + PE_AT, 4, &ok), optional = pe + PE_HEADER;
    u32 n = number(m, pe + 6, 2, &ok), bytes = number(m, pe + 20, 2, &ok);
    u32 directories = number(m, optional, 2, &ok) == PE_PLUS ? 112 : 96;
    *out = (struct dotnet_pe){.base = base, .cli = number(m, optional + directories + 8 * CLI, 4, &ok)};
    if (magic != DOS || number(m, pe, 4, &ok) != PE || !ok || !out->cli || n > DOTNET_SECTIONS)
        return false;
    for (u64 at = optional + bytes; out->n < n && ok; at += SECTION)
        out->sections[out->n++] = (struct dotnet_section){.rva = number(m, at + 12, 4, &ok),
                                                          .bytes = number(m, at + 16, 4, &ok),
                                                          .place = number(m, at + 20, 4, &ok)};
    return ok;
}

u32 dotnet_pe_place(const struct dotnet_pe *p, u32 rva)
{
    for (u32 i = 0; i < p->n; i++)
        if (rva >= p->sections[i].rva && rva - p->sections[i].rva < p->sections[i].bytes)
            return p->sections[i].place + (rva - p->sections[i].rva);
    return 0;
}
