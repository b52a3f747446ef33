/* Encrypts, signs and exchanges keys for ever. */
#include <sodium.h>

static unsigned char in[1 << 16], out[(1 << 16) + crypto_secretbox_MACBYTES];

int main(void)
{
    unsigned char key[crypto_secretbox_KEYBYTES] = {1}, nonce[crypto_stream_NONCEBYTES] = {2}, point[32] = {9},
                  shared[32];
    if (sodium_init() < 0)
        return 1;
    for (;;) {
        crypto_secretbox_easy(out, in, sizeof(in), nonce, key);
        crypto_stream_salsa20_xor(out, in, sizeof(in), nonce, key);
        crypto_stream_xsalsa20_xor(out, in, sizeof(in), nonce, key);
        crypto_scalarmult_base(shared, key);
        if (crypto_scalarmult(shared, key, point))
            return 1;
    }
}
