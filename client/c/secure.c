/* SPDX-License-Identifier: Apache-2.0 */
#include "client/c/secure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "client/c/context.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"

enum { RECORD_BYTES = 16 * 1024, READ_BUFFER_BYTES = 256 * 1024, PROBLEM_BYTES = 160 };

struct bd_secure {
    SSL *ssl;
    BIO_METHOD *method;
    int fd;
    uint8_t *unsent; /* the end of a record that the socket did not take */
    size_t unsent_bytes, unsent_offset, unsent_capacity;
    char problem[PROBLEM_BYTES];
};

/* ---- the socket as OpenSSL sees it ----------------------------------------------------------- */

static bool must_wait(ssize_t count)
{
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static int socket_read(BIO *bio, char *bytes, int size)
{
    const bd_secure *secure = BIO_get_data(bio);
    ssize_t got = recv(secure->fd, bytes, (size_t)size, MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (must_wait(got))
        BIO_set_retry_read(bio);
    return (int)got;
}

static void keep(bd_secure *secure, const char *bytes, size_t size)
{
    if (secure->unsent_offset == secure->unsent_bytes)
        secure->unsent_offset = secure->unsent_bytes = 0;
    if (secure->unsent_bytes + size > secure->unsent_capacity) {
        secure->unsent_capacity = secure->unsent_bytes + size;
        secure->unsent = bd_realloc(secure->unsent, secure->unsent_capacity);
    }
    memcpy(secure->unsent + secure->unsent_bytes, bytes, size);
    secure->unsent_bytes += size;
}

/* A record is taken whole: what the socket does not take is kept. OpenSSL wants a write that it
 * could not finish repeated with the same bytes, which nobody here could promise. */
static int socket_write(BIO *bio, const char *bytes, int size)
{
    bd_secure *secure = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t sent = 0;
    if (!bd_secure_flush(secure))
        sent = send(secure->fd, bytes, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !must_wait(sent))
        return -1;
    size_t taken = sent > 0 ? (size_t)sent : 0;
    if (taken < (size_t)size)
        keep(secure, bytes + taken, (size_t)size - taken);
    return size;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

bool bd_secure_flush(bd_secure *secure)
{
    while (secure->unsent_offset < secure->unsent_bytes) {
        ssize_t sent = send(secure->fd, secure->unsent + secure->unsent_offset,
                            secure->unsent_bytes - secure->unsent_offset,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (must_wait(sent))
            return true;
        if (sent < 0) { /* the next read tells why */
            secure->unsent_offset = secure->unsent_bytes = 0;
            return false;
        }
        secure->unsent_offset += (size_t)sent;
    }
    return false;
}

/* ---- reading and writing --------------------------------------------------------------------- */

static void note_problem(bd_secure *secure)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    snprintf(secure->problem, sizeof secure->problem, "TLS: %s", text ? text : "unknown problem");
    ERR_clear_error();
}

/* -1 with errno, or 0 at the end. */
static ssize_t judge(bd_secure *secure)
{
    int number = errno, kind = SSL_get_error(secure->ssl, 0);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        errno = EAGAIN;
        return -1;
    }
    bool ended = kind == SSL_ERROR_ZERO_RETURN || (kind == SSL_ERROR_SYSCALL && number == 0) ||
                 ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (ended) {
        ERR_clear_error();
        return 0;
    }
    if (kind == SSL_ERROR_SYSCALL) {
        errno = number;
        return -1;
    }
    note_problem(secure);
    errno = EPROTO;
    return -1;
}

ssize_t bd_secure_read(bd_secure *secure, void *bytes, size_t size)
{
    size_t total = 0;
    while (total < size) {
        size_t got;
        errno = 0;
        if (SSL_read_ex(secure->ssl, (char *)bytes + total, size - total, &got)) {
            total += got;
            continue;
        }
        ssize_t result = judge(secure);
        return total ? (ssize_t)total : result;
    }
    return (ssize_t)total;
}

ssize_t bd_secure_write(bd_secure *secure, const void *bytes, size_t size)
{
    size_t total = 0;
    while (total < size) {
        size_t sent, left = size - total, part = left < RECORD_BYTES ? left : RECORD_BYTES;
        if (bd_secure_flush(secure)) {
            errno = EAGAIN;
            return total ? (ssize_t)total : -1;
        }
        errno = 0;
        if (!SSL_write_ex(secure->ssl, (const char *)bytes + total, part, &sent)) {
            ssize_t result = judge(secure);
            return total ? (ssize_t)total : result ? result : -1;
        }
        total += sent;
    }
    return (ssize_t)total;
}

void bd_secure_finish(bd_secure *secure)
{
    SSL_shutdown(secure->ssl);
    bd_secure_flush(secure);
    ERR_clear_error();
}

const char *bd_secure_problem(const bd_secure *secure)
{
    return secure->problem;
}

void bd_secure_free(bd_secure *secure)
{
    if (!secure)
        return;
    SSL_free(secure->ssl);
    BIO_meth_free(secure->method);
    bd_free(secure->unsent);
    bd_free(secure);
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *file_of(const char *variable)
{
    const char *path = getenv(variable);
    return path && *path ? path : NULL;
}

static bd_error *load_identity(SSL_CTX *context)
{
    const char *certificate = file_of("BURN_CERT_FILE"), *key = file_of("BURN_KEY_FILE");
    if (!certificate && !key)
        return NULL;
    if (!certificate || !key)
        BD_FAIL(INVALID, "BURN_CERT_FILE and BURN_KEY_FILE belong together: set both or none");
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        BD_FAIL(INVALID, "BURN_CERT_FILE names %.200s, which is no PEM certificate", certificate);
    BD_TRY(bd_check_secret_file("BURN_KEY_FILE", key));
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        BD_FAIL(INVALID, "BURN_KEY_FILE names %.200s, which is not the PEM key of the certificate",
                key);
    return NULL;
}

static bd_error *set_trust(SSL_CTX *context, const char *pin)
{
    const char *authorities = file_of("BURN_CA_FILE");
    SSL_CTX_set_verify(context, *pin ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (*pin)
        return NULL; /* the key itself is compared */
    if (authorities && SSL_CTX_load_verify_file(context, authorities) != 1)
        BD_FAIL(INVALID, "BURN_CA_FILE names %.200s, which holds no PEM certificates", authorities);
    if (!authorities && SSL_CTX_set_default_verify_paths(context) != 1)
        BD_FAIL(UNAVAILABLE, "the system's certificate authorities cannot be read");
    return NULL;
}

static bd_error *make_context(const char *pin, SSL_CTX **out)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
        SSL_CTX_free(context);
        BD_FAIL(UNSUPPORTED, "this OpenSSL cannot do TLS 1.3");
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_BUFFER_BYTES);
    bd_error *error = set_trust(context, pin);
    if (!error)
        error = load_identity(context);
    if (error) {
        SSL_CTX_free(context);
        return error;
    }
    *out = context;
    return NULL;
}

static bool is_number(const char *host)
{
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool set_host(SSL *ssl, const char *host)
{
    static const unsigned char protocol[] = "\x07" "burnd/1";
    bool set = SSL_set_alpn_protos(ssl, protocol, sizeof protocol - 1) == 0;
    if (is_number(host))
        return set && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return set && SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bd_error *make_link(bd_secure *secure, const char *host, const char *pin)
{
    SSL_CTX *context = NULL;
    BD_TRY(make_context(pin, &context));
    secure->ssl = SSL_new(context);
    SSL_CTX_free(context);
    secure->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "burn socket");
    BIO *bio = secure->method ? BIO_new(secure->method) : NULL;
    if (!secure->ssl || !bio || !set_host(secure->ssl, host)) {
        BIO_free(bio);
        BD_FAIL(NO_MEMORY, "no memory for TLS to %.200s", host);
    }
    BIO_meth_set_read(secure->method, socket_read);
    BIO_meth_set_write(secure->method, socket_write);
    BIO_meth_set_ctrl(secure->method, socket_control);
    BIO_set_data(bio, secure);
    BIO_set_init(bio, 1);
    SSL_set_bio(secure->ssl, bio, bio);
    SSL_set_connect_state(secure->ssl);
    return NULL;
}

static void pin_of(SSL *ssl, char pin[BD_PIN_BYTES])
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    unsigned char digest[32] = {0}, *key = NULL;
    int size = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key) : 0;
    if (size > 0)
        EVP_Digest(key, (size_t)size, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_free(key);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(pin + 2 * i, 3, "%02x", digest[i]);
}

/* Why the handshake failed, for people. */
static bd_error *explain(const bd_secure *secure, const char *url, const char *host, int number)
{
    long verdict = SSL_get_verify_result(secure->ssl);
    unsigned long code = ERR_peek_last_error();
    int reason = code ? ERR_GET_REASON(code) : 0;
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
        BD_FAIL(UNAUTHENTICATED,
                "%s: the certificate is not for \"%s\"; use a name that it holds, or pin it", url,
                host);
    if (verdict == X509_V_ERR_CERT_HAS_EXPIRED)
        BD_FAIL(UNAUTHENTICATED, "%s: the daemon's certificate has expired", url);
    if (verdict != X509_V_OK)
        BD_FAIL(UNAUTHENTICATED,
                "%s: the certificate is not trusted: %s; name its authority by BURN_CA_FILE, or "
                "take the URL with its pin from burnctl invite on the daemon's host",
                url, X509_verify_cert_error_string(verdict));
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
        reason == SSL_R_PACKET_LENGTH_TOO_LONG || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        BD_FAIL(UNAVAILABLE, "%s: what listens there does not speak TLS, or has no room for us",
                url);
    if (code)
        BD_FAIL(UNAVAILABLE, "%s: no TLS connection: %s", url, ERR_reason_error_string(code));
    char text[128];
    BD_FAIL(UNAVAILABLE, "%s: the connection ended within the TLS handshake%s%s", url,
            number ? ": " : "", number ? strerror_r(number, text, sizeof text) : "");
}

static bd_error *shake_hands(burn_context *context, bd_secure *secure, const char *host,
                             int timeout_ms)
{
    const char *url = context->url;
    int64_t until_us = bd_now_us() + (int64_t)timeout_ms * 1000;
    for (;;) {
        ERR_clear_error();
        errno = 0;
        int result = SSL_do_handshake(secure->ssl), number = errno;
        bool unsent = bd_secure_flush(secure);
        if (result == 1 && !unsent)
            return NULL;
        int kind = result == 1 ? SSL_ERROR_WANT_WRITE : SSL_get_error(secure->ssl, result);
        if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE)
            return explain(secure, url, host, kind == SSL_ERROR_SYSCALL ? number : 0);
        int64_t left_ms = (until_us - bd_now_us()) / 1000;
        if (left_ms <= 0)
            BD_FAIL(DEADLINE, "%s: no TLS handshake within %d ms", url, timeout_ms);
        BD_TRY(bd_pause(context, secure->fd, unsent ? POLLIN | POLLOUT : POLLIN, (int)left_ms));
    }
}

bd_error *bd_secure_open(burn_context *context, const char *host, const char *pin, int timeout_ms)
{
    bd_secure *secure = bd_alloc_zeroed(sizeof *secure);
    secure->fd = context->fd;
    bd_error *error = make_link(secure, host, pin);
    if (!error)
        error = shake_hands(context, secure, host, timeout_ms);
    if (!error && *pin) {
        char shown[BD_PIN_BYTES];
        pin_of(secure->ssl, shown);
        if (strcasecmp(shown, pin) != 0)
            error = BD_ERROR(UNAUTHENTICATED,
                             "%s: the daemon's key has the pin sha256:%s; if it was changed on "
                             "purpose, burnctl invite on its host prints the new URL",
                             context->url, shown);
    }
    ERR_clear_error();
    if (error) {
        bd_secure_free(secure);
        return error;
    }
    context->secure = secure;
    return NULL;
}

/* ---- for WebSockets -------------------------------------------------------------------------- */

void bd_secure_accept_key(const char *key, char accept[BD_ACCEPT_BYTES])
{
    char text[128];
    unsigned char digest[SHA_DIGEST_LENGTH];
    snprintf(text, sizeof text, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1((const unsigned char *)text, strlen(text), digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
}
