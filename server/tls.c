/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "server/http.h"
#include "server/stream.h"

enum { RECORD_BYTES = 16 * 1024, HEADER_BYTES = 5, WRITE_TURN_BYTES = 1024 * 1024 };

struct bd_tls {
    int holders; /* the owner and the links */
    SSL_CTX *context;
    BIO_METHOD *socket_method;
    char pin[BD_TLS_PIN_BYTES];
};

struct bd_tls_link {
    bd_tls *tls;
    SSL *ssl;
    int fd;
    uint8_t header[HEADER_BYTES]; /* of the next record, read along with the last one's end */
    size_t header_bytes;
    bool more; /* a small record is written, another follows at once */
    size_t unsent; /* bytes of a record that OpenSSL has made and the socket has not taken whole */
    bool read_waits_for_write, write_waits_for_read;
    bool finished;
    bool begun, met_http; /* something has come; it was a request of HTTP, without TLS */
    char subject[BD_TLS_SUBJECT_BYTES];
    char problem[128];
};

/* ---- the socket as OpenSSL sees it ----------------------------------------------------------- */

static int result_of(BIO *bio, ssize_t count)
{
    BIO_clear_retry_flags(bio);
    return (int)count;
}

/* OpenSSL asks for a record's header, then for its body: the next header comes with the body, so
 * that a record costs one system call and no copy. */
static int socket_read(BIO *bio, char *bytes, int size)
{
    bd_tls_link *link = BIO_get_data(bio);
    size_t wanted = (size_t)size;
    if (link->header_bytes) {
        size_t part = wanted < link->header_bytes ? wanted : link->header_bytes;
        memcpy(bytes, link->header, part);
        link->header_bytes -= part;
        memmove(link->header, link->header + part, link->header_bytes);
        return result_of(bio, (ssize_t)part);
    }
    struct iovec parts[2] = {{bytes, wanted}, {link->header, HEADER_BYTES}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = wanted > HEADER_BYTES ? 2 : 1};
    ssize_t got = recvmsg(link->fd, &message, MSG_DONTWAIT);
    result_of(bio, got);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(bio);
    if (got > 0 && !link->begun) {
        link->begun = true;
        link->met_http = bd_http_begins(*(const uint8_t *)bytes); /* as no record of TLS does */
    }
    if (got > size) {
        link->header_bytes = (size_t)(got - size);
        got = size;
    }
    return (int)got;
}

static int socket_write(BIO *bio, const char *bytes, int size)
{
    const bd_tls_link *link = BIO_get_data(bio);
    if (link->met_http)
        return result_of(bio, size); /* who does not speak TLS understands no alert */
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (link->more ? MSG_MORE : 0);
    ssize_t sent = send(link->fd, bytes, (size_t)size, flags);
    result_of(bio, sent);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)sent;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH; /* nothing is held back */
}

static BIO_METHOD *make_socket_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "burnd socket");
    if (method) {
        BIO_meth_set_read(method, socket_read);
        BIO_meth_set_write(method, socket_write);
        BIO_meth_set_ctrl(method, socket_control);
    }
    return method;
}

/* ---- the context ----------------------------------------------------------------------------- */

/* The last reason in OpenSSL's queue, which is emptied. */
static const char *reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text ? text : "unknown reason";
}

/* burnd's own protocol, or HTTP for WebSocket; a client that names neither is not ours. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                           const unsigned char *offered, unsigned offered_size, void *user)
{
    static const unsigned char ours[] = "\x07" "burnd/1" "\x08" "http/1.1";
    (void)ssl, (void)user;
    int found = SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_size, ours,
                                      sizeof ours - 1, offered, offered_size);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bd_error *check_file(const char *what, const char *path, bool secret)
{
    struct stat status;
    if (stat(path, &status) != 0)
        BD_FAIL(NOT_FOUND, "%s %.200s: %s", what, path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        BD_FAIL(INVALID, "%s %.200s: not a file", what, path);
    if (secret && (status.st_mode & (S_IRWXO | S_IWGRP | S_IXGRP)))
        BD_FAIL(DENIED, "%s %.200s: its mode is %04o; it must be 0600, or 0640 for a group: chmod "
                "600 %.200s", what, path, (unsigned)status.st_mode & 07777, path);
    return NULL;
}

static bd_error *load_files(SSL_CTX *context, const bd_tls_files *files)
{
    BD_TRY(check_file("certificate", files->certificate, false));
    BD_TRY(check_file("private_key", files->private_key, true));
    if (SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        BD_FAIL(INVALID, "certificate %.200s: not a PEM certificate: %s", files->certificate,
                reason());
    if (SSL_CTX_use_PrivateKey_file(context, files->private_key, SSL_FILETYPE_PEM) != 1)
        BD_FAIL(INVALID, "private_key %.200s: not the PEM key of the certificate: %s",
                files->private_key, reason());
    if (SSL_CTX_check_private_key(context) != 1)
        BD_FAIL(INVALID, "private_key %.200s: it does not belong to the certificate %.200s",
                files->private_key, files->certificate);
    if (!*files->client_ca)
        return NULL;
    BD_TRY(check_file("client_ca", files->client_ca, false));
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->client_ca);
    if (!names || SSL_CTX_load_verify_file(context, files->client_ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        BD_FAIL(INVALID, "client_ca %.200s: no PEM certificates: %s", files->client_ca, reason());
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL); /* who shows none needs a token */
    return NULL;
}

static bd_error *set_rules(SSL_CTX *context)
{
    bool right =
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                          "TLS_CHACHA20_POLY1305_SHA256") == 1 &&
        SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1 &&
        SSL_CTX_set_num_tickets(context, 0) == 1;
    if (!right)
        BD_FAIL(UNSUPPORTED, "this OpenSSL cannot do TLS 1.3: %s", reason());
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(context, RECORD_BYTES);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return NULL;
}

static void make_pin(SSL_CTX *context, char pin[BD_TLS_PIN_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[32] = {0}, *key = NULL;
    int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(SSL_CTX_get0_certificate(context)), &key);
    if (size > 0)
        EVP_Digest(key, (size_t)size, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_free(key);
    for (size_t i = 0; i < sizeof digest; i++) {
        pin[2 * i] = digits[digest[i] >> 4];
        pin[2 * i + 1] = digits[digest[i] & 15];
    }
    pin[2 * sizeof digest] = '\0';
}

bd_error *bd_tls_create(const bd_tls_files *files, bd_tls **out)
{
    bd_tls *tls = bd_alloc_zeroed(sizeof *tls);
    tls->holders = 1;
    tls->context = SSL_CTX_new(TLS_server_method());
    tls->socket_method = make_socket_method();
    bd_error *error = NULL;
    if (!tls->context || !tls->socket_method)
        error = BD_ERROR(NO_MEMORY, "no memory for TLS: %s", reason());
    if (!error)
        error = set_rules(tls->context);
    if (!error)
        error = load_files(tls->context, files);
    if (error) {
        bd_tls_release(tls);
        return error;
    }
    make_pin(tls->context, tls->pin);
    *out = tls;
    return NULL;
}

void bd_tls_release(bd_tls *tls)
{
    if (!tls || --tls->holders)
        return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->socket_method);
    bd_free(tls);
}

const char *bd_tls_pin(const bd_tls *tls)
{
    return tls->pin;
}

int64_t bd_tls_expiry_s(const bd_tls *tls)
{
    struct tm parts = {0};
    ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(tls->context)), &parts);
    return timegm(&parts);
}

/* ---- links ----------------------------------------------------------------------------------- */

bd_tls_link *bd_tls_link_create(bd_tls *tls, int fd)
{
    SSL *ssl = SSL_new(tls->context);
    BIO *bio = ssl ? BIO_new(tls->socket_method) : NULL;
    if (!bio) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    bd_tls_link *link = bd_alloc_zeroed(sizeof *link);
    link->tls = tls;
    link->ssl = ssl;
    link->fd = fd;
    BIO_set_data(bio, link);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    tls->holders++;
    return link;
}

void bd_tls_link_destroy(bd_tls_link *link)
{
    SSL_free(link->ssl);
    bd_tls_release(link->tls);
    bd_free(link);
}

const char *bd_tls_subject(bd_tls_link *link)
{
    X509 *certificate = SSL_get0_peer_certificate(link->ssl);
    BIO *text = certificate ? BIO_new(BIO_s_mem()) : NULL;
    char *bytes = NULL;
    long size = 0;
    if (text && X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0,
                                   XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0)
        size = BIO_get_mem_data(text, &bytes);
    /* A subject that was cut could be another one's. */
    if (size > 0 && size < (long)sizeof link->subject)
        memcpy(link->subject, bytes, (size_t)size);
    BIO_free(text);
    ERR_clear_error(); /* what is left there would be blamed on the next link */
    return link->subject;
}

/* What has come already is read: the alert would be lost with the reset of a close before that. */
static void drain(int fd)
{
    char bytes[4096];
    for (int i = 0; i < 4 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0;)
        i++;
}

/* LATER, or GONE with the problem noted. */
static ssize_t judge(bd_tls_link *link, bool writes)
{
    int number = errno, kind = SSL_get_error(link->ssl, 0);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        link->read_waits_for_write = !writes && kind == SSL_ERROR_WANT_WRITE;
        link->write_waits_for_read = writes && kind == SSL_ERROR_WANT_READ;
        return BD_STREAM_LATER;
    }
    if (kind != SSL_ERROR_ZERO_RETURN)
        link->finished = true; /* broken: there is nobody to say good-bye to */
    const char *text = kind == SSL_ERROR_ZERO_RETURN ? "the peer hung up"
                       : kind == SSL_ERROR_SYSCALL && number ? strerror(number)
                       : kind == SSL_ERROR_SYSCALL           ? "the peer hung up"
                                                             : reason();
    size_t size = strnlen(text, sizeof link->problem - 1);
    memcpy(link->problem, text, size);
    ERR_clear_error();
    if (!bd_tls_established(link))
        drain(link->fd);
    return BD_STREAM_GONE;
}

ssize_t bd_tls_read(bd_tls_link *link, const struct iovec *parts, size_t count)
{
    size_t total = 0;
    link->read_waits_for_write = false;
    for (size_t i = 0; i < count; i++) {
        size_t filled = 0, got;
        /* The rest of the last part is left if it might not hold a whole record. */
        size_t spare = i + 1 == count ? RECORD_BYTES : 1;
        while (parts[i].iov_len - filled >= spare) {
            errno = 0;
            if (!SSL_read_ex(link->ssl, (char *)parts[i].iov_base + filled,
                             parts[i].iov_len - filled, &got)) {
                ssize_t result = judge(link, false);
                if (total && result == BD_STREAM_GONE)
                    shutdown(link->fd, SHUT_RD); /* so that poll brings us back to say so */
                return total ? (ssize_t)total : result;
            }
            filled += got;
            total += got;
        }
    }
    return (ssize_t)total;
}

ssize_t bd_tls_write(bd_tls_link *link, const struct iovec *parts, size_t count)
{
    size_t total = 0;
    link->write_waits_for_read = false;
    for (size_t i = 0; i < count; i++) {
        for (size_t offset = 0, sent; offset < parts[i].iov_len; offset += sent) {
            size_t left = parts[i].iov_len - offset;
            if (total >= WRITE_TURN_BYTES)
                return (ssize_t)total;
            /* Whole records go at once, so that the other side works on them meanwhile. */
            link->more = left < RECORD_BYTES && i + 1 < count;
            /* One record a call: of two, OpenSSL would not tell that the first has gone out if the
             * second cannot, and the client could acknowledge what does not count as sent. */
            if (!link->unsent)
                link->unsent = left < RECORD_BYTES ? left : RECORD_BYTES;
            errno = 0;
            if (!SSL_write_ex(link->ssl, (const char *)parts[i].iov_base + offset, link->unsent,
                              &sent)) {
                ssize_t result = judge(link, true);
                return total ? (ssize_t)total : result;
            }
            link->unsent = 0;
            total += sent;
        }
    }
    return (ssize_t)total;
}

void bd_tls_finish(bd_tls_link *link)
{
    if (link->finished || !bd_tls_established(link))
        return;
    link->finished = true;
    link->more = false;
    SSL_shutdown(link->ssl);
    ERR_clear_error();
}

bool bd_tls_read_waits_for_write(const bd_tls_link *link)
{
    return link->read_waits_for_write;
}

bool bd_tls_write_waits_for_read(const bd_tls_link *link)
{
    return link->write_waits_for_read;
}

bool bd_tls_established(const bd_tls_link *link)
{
    return SSL_is_init_finished(link->ssl);
}

bool bd_tls_met_http(const bd_tls_link *link)
{
    return link->met_http;
}

const char *bd_tls_problem(const bd_tls_link *link)
{
    return link->problem;
}
