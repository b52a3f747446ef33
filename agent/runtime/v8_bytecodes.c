/* How many bytes bytecodes have, for versions that do not export that (Bytecodes::kBytecodeSizes, which depends on the
 * version only: src/interpreter/bytecodes.h). A letter for each bytecode: 6 times the bytes of its fixed operands, plus
 * the number of those that may be wider.
 */
#include "runtime/v8_internal.h"
#include <string.h>

static const struct {
    const char *version, *letters;
} TABLES[] = {
    {"13.6.",
     "AAAAABCDEOPBABAAAAABDDDBBBBCBBBAAAGCCCDBDBBDDDBDDDHDDCECCDDDJDJCCCCCCCCCCCCCCCCCCCCCCCCBBBBAABBBBDEE"
     "DEFECDEEOPIIEECCCCCCCCCABBBAAOIABIAICIBCCCCAAADBBBBBBBBBBDBBBBBBBBBBBBDDBCEBAAAABAABDEDDABBAAAAAAAAA"
     "AAAAAAAA"},
    {"14.1.",
     "AAAAABCDEOPBABAAAAABDDDBBBBCBBBAAAGCCCDBDBBDDDBDDDHDDCECCDDDJDJBCCCCCCCCCCCCICCCCCCCCCCCCBBBBAABBBBD"
     "EEDEFECDEEOPIIEECCCCCCCCCABBBAAOIABIAICIBCCCCCAAADBBBBBBBBBBDBBBBBBBBBBBBDDBCEBDAAAABAABDEDDABBAAAAA"
     "AAAAAAAAAAAA"},
    {"14.6.",
     "AAAAABCDEOPBABAAAAABDDDBBBBCBBBAAAGCCCDBDBBDDDBDDDHDDCECCDDDJDJCCCCCCCCCCCCCICCCCCCCCCCCCBBBBAABBBBD"
     "EEDEFECDEEOPIIEECNNNNNNCCABBBAAOIABIAICIBCCCCCAAADBBBBBBBBBBDBBBBBBBBBBBBDDBCEBEAAAABAABDEDDABGAAAAA"
     "AAAAAAAAAAAA"},
};

u32 v8_bytecodes_of(const char *version)
{
    for (u32 i = 0; i < sizeof(TABLES) / sizeof(*TABLES); i++)
        if (!strncmp(version, TABLES[i].version, strlen(TABLES[i].version)))
            return i + 1;
    return 0;
}

u32 v8_bytecodes_size(u32 table, u32 code, u32 width)
{
    if (!table || table > sizeof(TABLES) / sizeof(*TABLES) || code >= strlen(TABLES[table - 1].letters))
        return 0;
    u32 operands = (u32)(TABLES[table - 1].letters[code] - 'A');
    return 1 + operands / 6 + operands % 6 * width;
}
