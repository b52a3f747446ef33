// Throws through twenty frames, again and again.
#include "burn.h"

static KEEP void thrower(int frames)
{
    if (!frames)
        throw frames;
    thrower(frames - 1);
    STAY;
}

static KEEP void catcher()
{
    try {
        thrower(19);
    } catch (int) {
    }
}

int main()
{
    for (long end = cpu_ms() + 600; cpu_ms() < end;)
        for (int i = 0; i < 20; i++)
            catcher();
}
