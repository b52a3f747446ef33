/* deep FRAMES MS: burns CPU under that many frames of down(). */
#include "burn.h"
#include <stdlib.h>

static KEEP void down(int frames, long ms)
{
    if (frames > 1)
        down(frames - 1, ms);
    else
        burn(ms);
    STAY;
}

int main(int argc, char **argv)
{
    down(atoi(argv[1]), atol(argv[2]));
    return argc != 3;
}
