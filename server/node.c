/* SPDX-License-Identifier: Apache-2.0 */
#include "server/node.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "proto/base/alloc.h"
#include "server/state.h"

enum { PUBLIC_BYTES = (BD_NODE_TEXT_BYTES - 1) / 2 };

static bd_error *make(const bd_config *config, EVP_PKEY **out)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    BIO *text = BIO_new(BIO_s_secmem());
    char *bytes = NULL;
    bd_error *error = NULL;
    if (!key || !text || PEM_write_bio_PKCS8PrivateKey(text, key, NULL, NULL, 0, NULL, NULL) != 1)
        error = BD_ERROR(INTERNAL, "cannot make a node key: %s",
                         ERR_reason_error_string(ERR_peek_last_error()));
    long size = error ? 0 : BIO_get_mem_data(text, &bytes);
    if (!error)
        error = bd_state_write(config, BD_NODE_KEY_FILE, bytes, (size_t)size);
    ERR_clear_error();
    BIO_free(text);
    if (error)
        EVP_PKEY_free(key);
    else
        *out = key;
    return error;
}

static bd_error *read_key(const char *path, EVP_PKEY **out)
{
    char *text;
    size_t size;
    BD_TRY(bd_state_read(path, &text, &size));
    BIO *bytes = BIO_new_mem_buf(text, (int)size);
    char no_password[] = "";
    EVP_PKEY *key = bytes ? PEM_read_bio_PrivateKey(bytes, NULL, NULL, no_password) : NULL;
    ERR_clear_error();
    BIO_free(bytes);
    OPENSSL_cleanse(text, size);
    bd_free(text);
    if (key && EVP_PKEY_is_a(key, "ED25519")) {
        *out = key;
        return NULL;
    }
    EVP_PKEY_free(key);
    BD_FAIL(INVALID, "%.200s: not an Ed25519 private key in PEM; without the file one is made",
            path);
}

bd_error *bd_node_load(const bd_config *config, bool makes, char public_key[BD_NODE_TEXT_BYTES])
{
    char path[BD_STATE_PATH_BYTES];
    unsigned char bytes[PUBLIC_BYTES];
    size_t size = sizeof bytes;
    EVP_PKEY *key = NULL;
    public_key[0] = '\0';
    bool is_there;
    BD_TRY(bd_state_find(config, BD_NODE_KEY_FILE, path, &is_there));
    if (!is_there && !makes)
        return NULL;
    BD_TRY(is_there ? read_key(path, &key) : make(config, &key));
    bool got = EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1 && size == sizeof bytes;
    EVP_PKEY_free(key);
    if (!got)
        BD_FAIL(INTERNAL, "the node key has no public part");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(public_key + 2 * i, 3, "%02x", bytes[i]);
    return NULL;
}
