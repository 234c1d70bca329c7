/* SPDX-License-Identifier: Apache-2.0 */
#include "server/credentials.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "server/state.h"

enum { VALID_DAYS = 3650, HOST_BYTES = 65 };

static bool add_extension(X509 *certificate, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    bool added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

/* A number of 127 random bits. */
static bool set_serial(X509 *certificate)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    bytes[0] &= 0x7F;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return set;
}

/* DNS names only of the letters that they may have. */
static bool plain(const char *host)
{
    for (const char *at = host; *at; at++) {
        bool letter = (*at | 32) >= 'a' && (*at | 32) <= 'z';
        if (!letter && !(*at >= '0' && *at <= '9') && *at != '-' && *at != '.')
            return false;
    }
    return *host;
}

static bool fill(X509 *certificate, EVP_PKEY *key)
{
    char host[HOST_BYTES] = "", names[256];
    if (gethostname(host, sizeof host - 1) != 0 || !plain(host))
        snprintf(host, sizeof host, "localhost");
    snprintf(names, sizeof names, "DNS:%s,DNS:localhost,IP:127.0.0.1,IP:::1", host);
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, 2) == 1 && set_serial(certificate) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), VALID_DAYS, 0, NULL) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)host, -1,
                                      -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(certificate, NID_key_usage,
                         "critical,digitalSignature,keyCertSign") &&
           add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
           add_extension(certificate, NID_subject_key_identifier, "hash") &&
           add_extension(certificate, NID_subject_alt_name, names) &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

static bd_error *write_pem(const bd_config *config, const char *name, BIO *text)
{
    char *bytes = NULL;
    long size = BIO_get_mem_data(text, &bytes);
    return bd_state_write(config, name, bytes, size > 0 ? (size_t)size : 0);
}

bd_error *bd_credentials_make(const bd_config *config)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    BIO *key_text = BIO_new(BIO_s_secmem()), *certificate_text = BIO_new(BIO_s_mem());
    bool made = key && certificate && key_text && certificate_text && fill(certificate, key) &&
                PEM_write_bio_PKCS8PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) == 1 &&
                PEM_write_bio_X509(certificate_text, certificate) == 1;
    bd_error *error = NULL;
    if (!made)
        error = BD_ERROR(INTERNAL, "cannot make a certificate: %s",
                         ERR_reason_error_string(ERR_peek_last_error()));
    if (!error)
        error = write_pem(config, BD_PRIVATE_KEY_FILE, key_text);
    if (!error)
        error = write_pem(config, BD_CERTIFICATE_FILE, certificate_text);
    ERR_clear_error();
    BIO_free(key_text);
    BIO_free(certificate_text);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return error;
}
