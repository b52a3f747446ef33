/* Split units (DWARF 5, 7.3.2; before it GNU's -gsplit-dwarf): the debug information that is not linked, in a .dwo file
 * for each unit or in one package of all (.dwp, 7.3.5). A unit and its skeleton share an id; one with another id is not
 * taken, for it was compiled another time.
 */
#pragma once
#include "dwarf/file.h"
#include "dwarf/dwarf.h"

struct dwarf_split {
    const struct dwarf_parts *parts; /* borrowed; NULL: there is nothing */
    struct dwarf_file *linked;       /* the file with the skeletons; borrowed */
    struct dwarf_file file;          /* the package, or the last .dwo */
    struct elf_file elf;             /* of a .dwo */
    bool package, tried;
};

/* The unit that the skeleton stands for, ready to be walked; *file is where it is, until the next call. NULL: it is not
 * there, or makes no sense. */
struct dwarf_unit *dwarf_split_unit(struct dwarf_split *s, const struct dwarf_unit *skeleton, struct dwarf_file **file);
void dwarf_split_close(struct dwarf_split *s);
