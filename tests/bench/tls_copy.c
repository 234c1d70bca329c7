/* SPDX-License-Identifier: Apache-2.0
 * The yardstick of TLS transfers: two processes and a loop over OpenSSL's own socket, with the
 * cipher that burnd prefers.
 *
 *     tls_copy CERTIFICATE KEY BYTES    for each line of stdin sends so many bytes through TLS over
 *                                       loopback and prints the seconds that they took */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "tls_copy: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Both ends of a TCP connection. */
static void connect_pair(int ends[2])
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&name, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&name, &size) ||
        connect(ends[0], (struct sockaddr *)&name, size))
        fail("no connection");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static SSL *open_link(const SSL_METHOD *method, int fd, const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(method);
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    if (certificate && (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
                        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1))
        fail("no certificate");
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set_fd(ssl, fd);
    if ((certificate ? SSL_accept(ssl) : SSL_connect(ssl)) != 1)
        fail("no handshake");
    return ssl;
}

static void receive_all(SSL *ssl, char *room, size_t size)
{
    for (size_t got, at; SSL_peek_ex(ssl, room, 1, &got) == 1;) {
        for (at = 0; at < size; at += got) {
            if (SSL_read_ex(ssl, room + at, size - at, &got) != 1)
                fail("read");
        }
        if (SSL_write_ex(ssl, "!", 1, &got) != 1)
            fail("answer");
    }
}

int main(int count, char **arguments)
{
    int ends[2];
    char line[16];
    if (count != 4)
        fail("usage: tls_copy CERTIFICATE KEY BYTES");
    size_t size = strtoull(arguments[3], NULL, 10), done;
    char *bytes = malloc(size);
    if (!bytes)
        fail("no memory");
    memset(bytes, 0x5A, size);
    connect_pair(ends);
    pid_t reader = fork();
    if (reader == 0) {
        close(ends[0]);
        receive_all(open_link(TLS_server_method(), ends[1], arguments[1], arguments[2]), bytes,
                    size);
        return 0;
    }
    close(ends[1]);
    SSL *ssl = open_link(TLS_client_method(), ends[0], NULL, NULL);
    while (fgets(line, sizeof line, stdin)) {
        double begin = now();
        if (SSL_write_ex(ssl, bytes, size, &done) != 1 || SSL_read_ex(ssl, line, 1, &done) != 1)
            fail("write");
        printf("%.9f\n", now() - begin);
        fflush(stdout);
    }
    SSL_shutdown(ssl);
    close(ends[0]);
    return waitpid(reader, NULL, 0) == reader ? 0 : 1;
}
