/* libtiny.so, for lazy.c. */
int tiny(int n)
{
    return (n + 1) & 0xff;
}
