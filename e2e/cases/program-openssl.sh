#!/bin/bash
# A real program: openssl, whose assembly keeps its frames in ways of its own.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need openssl
# shellcheck disable=SC2016
record -- sh -c 'openssl speed -seconds 1 -bytes 1024 sha256 rsa2048
    for cipher in aes-128-gcm chacha20-poly1305; do openssl speed -seconds 1 -bytes 1024 -evp $cipher; done' >"$TMP/out"
expect_samples 2000
expect_complete 99
expect_share 98 'openssl;(_start|\[openssl[^;]*);__libc_start_main;.*' '(EVP|RSA|BN|SHA)_[^;]*;?.*'
expect_stack '(EVP_Digest[A-Za-z_]*|SHA256_Update|EVP_Q_digest|EVP_MD_[a-z]*);(.*)' "$profile" 100
expect_stack '(EVP_PKEY_sign|RSA_[a-z_]+|BN_mod_exp[a-z_]*);(.*)' "$profile" 100
