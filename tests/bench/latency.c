/* SPDX-License-Identifier: Apache-2.0
 * Ping and sync against a bare echo, interleaved in one run: medians and ratios as JSON lines.
 * The echo is a process that reads and writes 32-byte messages on a Unix socket pair; for sync it
 * hands each message to a second thread and back, as the daemon's loop and device threads do.
 *
 *     latency [ROUNDS]     uses BURN_URL or a private daemon */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <burn/burn.h>

enum { MESSAGE_BYTES = 32, BATCH = 200, ROUNDS = 20 };

typedef struct hop {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int state; /* 0 idle, 1 asked, 2 answered */
} hop;

static void *answer(void *argument)
{
    hop *shared = argument;
    for (;;) {
        pthread_mutex_lock(&shared->lock);
        while (shared->state != 1)
            pthread_cond_wait(&shared->changed, &shared->lock);
        shared->state = 2;
        pthread_cond_broadcast(&shared->changed);
        pthread_mutex_unlock(&shared->lock);
    }
    return NULL;
}

static void serve(int fd, int with_hop)
{
    char message[MESSAGE_BYTES];
    hop shared = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    pthread_t thread;
    if (with_hop && pthread_create(&thread, NULL, answer, &shared))
        _exit(1);
    while (read(fd, message, sizeof message) == sizeof message) {
        if (with_hop) {
            pthread_mutex_lock(&shared.lock);
            shared.state = 1;
            pthread_cond_broadcast(&shared.changed);
            while (shared.state != 2)
                pthread_cond_wait(&shared.changed, &shared.lock);
            shared.state = 0;
            pthread_mutex_unlock(&shared.lock);
        }
        if (write(fd, message, sizeof message) != sizeof message)
            break;
    }
    _exit(0);
}

static int start_echo(int with_hop, pid_t *out_pid)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return -1;
    *out_pid = fork();
    if (*out_pid == 0) {
        close(pair[0]);
        serve(pair[1], with_hop);
    }
    close(pair[1]);
    return pair[0];
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static double echo_us(int fd)
{
    double times[BATCH];
    char message[MESSAGE_BYTES] = {0};
    for (int i = 0; i < BATCH; i++) {
        double begin = now_us();
        if (write(fd, message, sizeof message) != sizeof message ||
            read(fd, message, sizeof message) != sizeof message)
            exit(1);
        times[i] = now_us() - begin;
    }
    return median(times, BATCH);
}

static double burn_us(burn_context *context, int sync)
{
    double times[BATCH];
    for (int i = 0; i < BATCH; i++) {
        double begin = now_us();
        if (sync ? burn_sync(context) : burn_ping(context, NULL)) {
            fprintf(stderr, "latency: %s\n", burn_last_error()->text);
            exit(1);
        }
        times[i] = now_us() - begin;
    }
    return median(times, BATCH);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    burn_context *context;
    if (rounds < 1 || rounds > 1000)
        return 2;
    if (burn_open(NULL, &context)) {
        fprintf(stderr, "latency: %s\n", burn_last_error()->text);
        return 1;
    }
    for (int sync = 0; sync < 2; sync++) {
        pid_t pid;
        int fd = start_echo(sync, &pid);
        double ours[1000], echo[1000];
        if (fd < 0 || pid < 0)
            return 1;
        echo_us(fd);
        burn_us(context, sync);
        for (int i = 0; i < rounds; i++) {
            echo[i] = echo_us(fd);
            ours[i] = burn_us(context, sync);
        }
        double mine = median(ours, rounds), bare = median(echo, rounds);
        printf("{\"workload\": \"%s\", \"mode\": \"stream\", \"ms\": %.5f, \"echo_ms\": %.5f, "
               "\"ratio\": %.3f}\n",
               sync ? "sync" : "ping", mine / 1e3, bare / 1e3, mine / bare);
        close(fd);
        waitpid(pid, NULL, 0);
    }
    burn_close(context);
    return 0;
}
