/* Hashes and encrypts for ever. */
#include <nettle/aes.h>
#include <nettle/chacha.h>
#include <nettle/salsa20.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <nettle/sha3.h>

static uint8_t in[1 << 18], out[1 << 18];

static void hash(void)
{
    struct sha1_ctx sha1;
    struct sha256_ctx sha256;
    struct sha512_ctx sha512;
    struct sha3_256_ctx sha3;
    sha1_init(&sha1);
    sha1_update(&sha1, sizeof(in), in);
    sha256_init(&sha256);
    sha256_update(&sha256, sizeof(in), in);
    sha512_init(&sha512);
    sha512_update(&sha512, sizeof(in), in);
    sha3_256_init(&sha3);
    sha3_256_update(&sha3, sizeof(in), in);
}

static void encrypt(void)
{
    struct aes256_ctx aes;
    struct chacha_ctx chacha;
    struct salsa20_ctx salsa20;
    aes256_set_encrypt_key(&aes, in);
    aes256_encrypt(&aes, sizeof(in), out, in);
    chacha_set_key(&chacha, in);
    chacha_crypt(&chacha, sizeof(in), out, in);
    salsa20_256_set_key(&salsa20, in);
    salsa20_set_nonce(&salsa20, in);
    salsa20_crypt(&salsa20, sizeof(in), out, in);
}

int main(void)
{
    for (;;) {
        hash();
        encrypt();
    }
}
