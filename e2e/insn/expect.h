/* What Zydis says about an instruction, in the terms of agent/synth/insn.h. */
#pragma once
#include "synth/insn.h"
#include <Zydis/Zydis.h>

struct expectation {
    struct insn insn; /* len 0: invalid; `mem` is set wherever there is an operand in memory */
    ZydisDecodedInstruction zydis;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    const ZydisDecodedOperand *memory; /* the visible one, or NULL */
};

void expect(const ZydisDecoder *decoder, const u8 *bytes, size_t n, struct expectation *out);

/* Both answers about the same bytes. */
struct pair {
    const struct insn *ours;
    const struct expectation *zydis;
    const u8 *bytes;
};

/* Why it is right that a field differs ("valid": only ours is an instruction; "invalid": only theirs). NULL: it is not.
 */
const char *reason_of(const char *field, const struct pair *p);

static inline bool is_prefix(u8 b)
{
    return (b & 0xf0) == 0x40 || b == 0x66 || b == 0x67 || (b & 0xfe) == 0xf2 || (b & 0xfe) == 0x64 ||
           (b & 0xe7) == 0x26 || b == 0xf0;
}
