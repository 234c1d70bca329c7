/* SPDX-License-Identifier: Apache-2.0
 * Load for serve.py: many connections on one thread, each with one request in flight, by raw
 * frames. The yardsticks are driven by the same loop.
 *
 *     load run KIND ADDRESS CONNECTIONS SECONDS   prints one JSON object
 *     load idle ADDRESS CONNECTIONS               opens sessions, prints "open", ends with stdin;
 *                                                 over TLS, if BURN_TOKEN is set
 *     load echo ADDRESS                           sends back what comes, until it is killed
 *
 * ADDRESS: a path (Unix socket) or a port on 127.0.0.1. KIND: see `kinds`. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "proto/ops.h"

enum {
    BATCH_OPS = 64,
    REQUEST_BYTES_MAX = 16384,
    RECEIVE_BYTES = 65536,
    EVENTS = 256,
    CONNECTIONS_MAX = 20000,
    SAMPLES_MAX = 4 << 20,
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "load: %s: %s\n", what, why);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- sockets ---- */

static int open_socket(const char *address, bool listens)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in loopback = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons((uint16_t)atoi(address))};
    bool is_path = address[0] == '/';
    snprintf(local.sun_path, sizeof local.sun_path, "%s", address);
    const struct sockaddr *to = is_path ? (const void *)&local : (const void *)&loopback;
    socklen_t size = is_path ? sizeof local : sizeof loopback;
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0)
        fail("socket", strerror(errno));
    if (!is_path)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!is_path && listens)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (listens ? bind(fd, to, size) || listen(fd, 1024) : connect(fd, to, size))
        fail(address, strerror(errno));
    return fd;
}

static void write_whole(int fd, const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = send(fd, bytes + done, size - done, MSG_NOSIGNAL);
        if (wrote <= 0)
            fail("write", strerror(errno));
        done += (size_t)wrote;
    }
}

/* ---- one connection ---- */

typedef struct peer {
    int fd;
    SSL *tls; /* NULL: none */
    size_t awaited;        /* bytes of an echo or of Redis that are to come */
    bd_frame_parser parser; /* of burnd */
    uint64_t next_id, next_op, next_request;
    double sent;
} peer;

typedef struct kind {
    const char *name;
    bool is_burn;                                  /* handshake and frames */
    size_t (*request)(peer *p, uint8_t *bytes);    /* writes one request */
    size_t (*answer_bytes)(size_t request_bytes);  /* NULL: a message ends the request */
} kind;

static size_t same(size_t request_bytes)
{
    return request_bytes;
}

static size_t pong(size_t request_bytes)
{
    (void)request_bytes;
    return strlen("+PONG\r\n");
}

static size_t redis_ping(peer *p, uint8_t *bytes)
{
    static const char text[] = "*1\r\n$4\r\nPING\r\n";
    (void)p;
    memcpy(bytes, text, sizeof text - 1);
    return sizeof text - 1;
}

static size_t ping(peer *p, uint8_t *bytes)
{
    (void)p;
    return bd_message_encode(&(bd_message){.type = BD_MESSAGE_PING, .ping.token = 1}, 0, bytes,
                             REQUEST_BYTES_MAX);
}

static size_t sync_request(peer *p, uint8_t *bytes)
{
    bd_message message = {.type = BD_MESSAGE_SYNC, .sync.request = p->next_request++};
    return bd_message_encode(&message, 0, bytes, REQUEST_BYTES_MAX);
}

static size_t put_record(const char *op, uint64_t input, uint64_t first_output, uint8_t *bytes)
{
    burn_operand operand = {.kind = BURN_OPERAND_TENSOR, .id = input};
    burn_op_record record = {.info = burn_op_find(op),
                             .input_count = 1,
                             .inputs = &operand,
                             .first_output = first_output};
    return burn_record_encode(&record, bytes);
}

/* x = -x, half of the records; the others free the old x. */
static size_t ops(peer *p, uint8_t *bytes)
{
    uint8_t records[BATCH_OPS * 16];
    size_t size = 0;
    bd_message message = {
        .type = BD_MESSAGE_OPS,
        .ops = {.first_output = p->next_id, .first_op_index = p->next_op}};
    for (int i = 0; i < BATCH_OPS / 2; i++) {
        size += put_record("neg", p->next_id - 1, p->next_id, records + size);
        p->next_id++;
        size += put_record("free", p->next_id - 2, p->next_id, records + size);
    }
    p->next_op += BATCH_OPS;
    size_t head = bd_message_encode(&message, size, bytes, REQUEST_BYTES_MAX);
    memcpy(bytes + head, records, size);
    return head + size + sync_request(p, bytes + head + size);
}

/* What the daemon accepts must be what an echo sends back: the same bytes. */
static const kind kinds[] = {
    {"ping", true, ping, NULL},
    {"sync", true, sync_request, NULL},
    {"ops", true, ops, NULL},
    {"echo", false, ping, same},
    {"echo_ops", false, ops, same},
    {"redis", false, redis_ping, pong},
};

static void await_message(peer *p, bd_message_type wanted);

/* Whom it talks to, it does not ask: this is loopback. */
static void begin_tls(peer *p)
{
    static SSL_CTX *context;
    if (!context)
        context = SSL_CTX_new(TLS_client_method());
    p->tls = SSL_new(context);
    if (SSL_set_fd(p->tls, p->fd) != 1 || SSL_connect(p->tls) != 1)
        fail("TLS", "no handshake");
}

static void send_whole(peer *p, const uint8_t *bytes, size_t size)
{
    size_t wrote;
    if (!p->tls)
        write_whole(p->fd, bytes, size);
    else if (SSL_write_ex(p->tls, bytes, size, &wrote) != 1)
        fail("TLS", "the daemon closed");
}

/* At least one byte. */
static size_t receive_some(peer *p, uint8_t *bytes, size_t room)
{
    ssize_t got = p->tls ? SSL_read(p->tls, bytes, (int)room) : recv(p->fd, bytes, room, 0);
    if (got <= 0)
        fail("read", got && !p->tls ? strerror(errno) : "the daemon closed");
    return (size_t)got;
}

static void begin_session(peer *p)
{
    const char *token = getenv("BURN_TOKEN");
    uint8_t bytes[BURN_HELLO_BYTES_MAX + BURN_PREFACE_BYTES];
    bd_preface preface = {.version_min = BURN_PROTOCOL_VERSION,
                          .version_max = BURN_PROTOCOL_VERSION};
    bd_message hello = {.type = BD_MESSAGE_HELLO,
                        .hello = {.client = bd_text_of("load"),
                                  .version = BURN_PROTOCOL_VERSION,
                                  .token = bd_text_of(token ? token : ""),
                                  .op_revision = burn_op_table_revision}};
    if (token)
        begin_tls(p);
    bd_preface_encode(&preface, bytes);
    size_t size = bd_message_encode(&hello, 0, bytes + BURN_PREFACE_BYTES, BURN_HELLO_BYTES_MAX);
    send_whole(p, bytes, BURN_PREFACE_BYTES + size);
    for (size_t at = 0; at < BURN_PREFACE_BYTES;)
        at += receive_some(p, bytes + at, BURN_PREFACE_BYTES - at);
    bd_frame_parser_init(&p->parser, BURN_MESSAGE_BYTES_MAX, BURN_CHUNK_BYTES_MAX);
    await_message(p, BD_MESSAGE_WELCOME);
}

/* The first x, four numbers of f32. */
static void put_first(peer *p)
{
    uint8_t bytes[REQUEST_BYTES_MAX];
    const float numbers[4] = {1, 2, 3, 4};
    bd_message message = {.type = BD_MESSAGE_PUT_BEGIN,
                          .put_begin = {.id = p->next_id++, .dtype = BURN_F32}};
    message.put_begin.shape.rank = 1;
    message.put_begin.shape.dims[0] = 4;
    size_t head = bd_message_encode(&message, sizeof numbers, bytes, sizeof bytes);
    memcpy(bytes + head, numbers, sizeof numbers);
    write_whole(p->fd, bytes, head + sizeof numbers);
}

static void open_peer(peer *p, const kind *k, const char *address)
{
    *p = (peer){.fd = open_socket(address, false), .next_id = 1, .next_op = 1, .next_request = 1};
    if (!k->is_burn) {
        p->next_id = 2; /* as after put_first */
        return;
    }
    begin_session(p);
    if (k->request == ops)
        put_first(p);
}

/* Whether these bytes hold the answer. An error of the daemon's ends the program. */
static bool take_frames(peer *p, const uint8_t *bytes, size_t size, bd_message_type *out_type)
{
    bool answered = false;
    for (size_t at = 0, taken; at <= size; at += taken) {
        bd_frame_event event;
        bd_message message;
        bd_error *error =
            bd_frame_parser_feed(&p->parser, bytes + at, size - at, &taken, &event);
        if (!error && event == BD_FRAME_MESSAGE)
            error = bd_message_decode(&p->parser.frame, p->parser.message,
                                      BD_MESSAGE_FROM_DAEMON, &message);
        if (error)
            fail("frame", bd_error_text(error));
        if (event == BD_FRAME_MORE)
            break;
        if (event != BD_FRAME_MESSAGE || message.type == BD_MESSAGE_CREDIT)
            continue;
        if (message.type == BD_MESSAGE_ERROR)
            fail("the daemon", message.error.text.bytes);
        if (message.type == BD_MESSAGE_SYNCED && message.synced.code != 0)
            fail("the daemon", message.synced.text.bytes);
        *out_type = message.type;
        answered = true;
    }
    return answered;
}

static void await_message(peer *p, bd_message_type wanted)
{
    uint8_t bytes[RECEIVE_BYTES];
    bd_message_type type = BD_MESSAGE_NONE;
    while (type != wanted) {
        size_t got = receive_some(p, bytes, sizeof bytes);
        take_frames(p, bytes, got, &type);
    }
}

static void send_request(peer *p, const kind *k)
{
    uint8_t bytes[REQUEST_BYTES_MAX];
    size_t size = k->request(p, bytes);
    p->sent = now();
    p->awaited = k->answer_bytes ? k->answer_bytes(size) : 0;
    write_whole(p->fd, bytes, size);
}

/* Reads what is there; true if it ends the request. */
static bool take_answer(peer *p, const kind *k)
{
    static uint8_t bytes[RECEIVE_BYTES];
    bd_message_type type;
    ssize_t got = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0)
        fail("read", got ? strerror(errno) : "the peer closed");
    if (k->is_burn)
        return take_frames(p, bytes, (size_t)got, &type);
    if ((size_t)got > p->awaited)
        fail("read", "more bytes than were asked for");
    p->awaited -= (size_t)got;
    return p->awaited == 0;
}

/* ---- the loops ---- */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static peer *open_peers(const kind *k, const char *address, int count, int epoll)
{
    peer *peers = calloc((size_t)count, sizeof *peers);
    for (int i = 0; peers && i < count; i++) {
        open_peer(&peers[i], k, address);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &peers[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, peers[i].fd, &event);
    }
    if (!peers)
        fail("connections", "no memory");
    return peers;
}

static void run(const kind *k, const char *address, int count, double seconds)
{
    int epoll = epoll_create1(0);
    peer *peers = open_peers(k, address, count, epoll);
    float *times = malloc(SAMPLES_MAX * sizeof *times);
    if (!times)
        fail("samples", "no memory");
    for (int i = 0; i < count; i++)
        send_request(&peers[i], k);
    uint64_t answers = 0;
    double begin = now(), end = begin;
    while (end - begin < seconds) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(epoll, events, EVENTS, 1000);
        end = now();
        for (int i = 0; i < ready; i++) {
            peer *p = events[i].data.ptr;
            if (!take_answer(p, k))
                continue;
            times[answers++ % SAMPLES_MAX] = (float)(now() - p->sent);
            send_request(p, k);
        }
        if (ready == 0)
            fail(k->name, "no answer within a second");
    }
    size_t samples = answers < SAMPLES_MAX ? answers : SAMPLES_MAX;
    qsort(times, samples, sizeof *times, by_value);
    printf("{\"kind\": \"%s\", \"connections\": %d, \"seconds\": %.2f, \"per_second\": %.0f, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           k->name, count, end - begin, (double)answers / (end - begin),
           samples ? (double)times[samples / 2] * 1e6 : 0,
           samples ? (double)times[samples * 99 / 100] * 1e6 : 0);
    free(times);
    free(peers); /* the process ends, with all sockets */
}

static void hold(const char *address, int count)
{
    int epoll = epoll_create1(0);
    peer *peers = open_peers(&kinds[0], address, count, epoll);
    printf("open\n");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    free(peers);
}

static void echo(const char *address)
{
    static uint8_t bytes[RECEIVE_BYTES];
    int epoll = epoll_create1(0), listener = open_socket(address, true), one = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    printf("open\n");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                event.data.fd = accept(listener, NULL, NULL);
                setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
            if (got > 0)
                write_whole(fd, bytes, (size_t)got);
            else if (got == 0 || errno != EAGAIN)
                close(fd);
        }
    }
}

static int connections_of(const char *text)
{
    int count = atoi(text);
    if (count < 1 || count > CONNECTIONS_MAX)
        fail(text, "1 to 20000 connections");
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return count;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "echo") == 0)
        echo(argv[2]);
    if (argc == 4 && strcmp(argv[1], "idle") == 0) {
        hold(argv[2], connections_of(argv[3]));
        return 0;
    }
    for (size_t i = 0; argc == 6 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], "run") == 0 && strcmp(argv[2], kinds[i].name) == 0) {
            run(&kinds[i], argv[3], connections_of(argv[4]), atof(argv[5]));
            return 0;
        }
    fprintf(stderr, "usage: load run KIND ADDRESS CONNECTIONS SECONDS | idle ADDRESS CONNECTIONS | "
                    "echo ADDRESS\n");
    return 2;
}
