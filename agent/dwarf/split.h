/* Finds split units (DWARF 5, 7.3.2; before that GNU's -gsplit-dwarf): debug information that is not linked, in one
 * .dwo file per unit or in a package of all units (.dwp, 7.3.5). A unit and its skeleton share an ID; a unit with
 * another ID is from another compilation and is not used.
 */
#pragma once
#include "dwarf/file.h"
#include "dwarf/dwarf.h"

struct dwarf_split {
    const struct dwarf_parts *parts; /* borrowed; NULL: none */
    struct dwarf_file *linked;       /* the file with the skeletons; borrowed */
    struct dwarf_file file;          /* the package, or the last .dwo */
    struct elf_file elf;             /* of a .dwo */
    bool package, tried;
};

/* Returns the unit of a skeleton, ready to be walked; *file contains it, until the next call. NULL: missing or
 * malformed. */
struct dwarf_unit *dwarf_split_unit(struct dwarf_split *s, const struct dwarf_unit *skeleton, struct dwarf_file **file);
void dwarf_split_close(struct dwarf_split *s);
