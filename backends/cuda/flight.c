/* SPDX-License-Identifier: Apache-2.0
 * Submissions on their way. A thread waits for each in turn, notes how long it ran and what went
 * wrong, and tells. The driver's own call back would be late, and none after an error. */
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "backends/cuda/device.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/hash.h"
#include "proto/base/log.h"
#include "proto/base/spare.h"

enum {
    NOT_READY = 600, /* CUresult */
    NAP_PART = 16, /* of the time waited so far, or in vain: so long it sleeps */
    NAP_NS_MOST = 200000,
    SLACK_NS = 1000,
    PAUSES = 16,
    FAULTS_LEAST = 64, /* room for that many */
    LIKES = 256,
    LIKE_LAUNCHES = 4,
};

struct bd_cuda_flight {
    bd_cuda_flight *next;
    bd_submission *submission;
    bd_error *error;
    void *begin, *end; /* events */
    bd_fault *faults;  /* pinned; kernels write them */
    uint32_t fault_room;
    int64_t submitted_ns;
    _Atomic int64_t *lasted_ns; /* how long one like it ran last time; 0: none did */
};

typedef struct bd_cuda_flights {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bd_cuda_flight *first, **last; /* on their way */
    bd_cuda_flight *idle;
    int64_t free_ns;     /* when the GPU had run the last one. Thread: the waiting one */
    atomic_uint waiting; /* on their way; read without the lock */
    bool closing;
    _Atomic int64_t lasted_ns[LIKES]; /* by like_of */
} bd_cuda_flights;

static void pause_some(void)
{
    for (int i = 0; i < PAUSES; i++)
        bd_spare_pause();
}

static void nap(int64_t ns)
{
    struct timespec time = {0, (long)(ns < NAP_NS_MOST ? ns : NAP_NS_MOST)};
    (void)nanosleep(&time, NULL);
}

/* Looks often about the time at which the last one like it was done, else seldom. */
static int wait_for(const bd_device *device, const bd_cuda_flight *flight)
{
    const bd_cuda_flights *flights = device->flights;
    int64_t begin = flight->submitted_ns > flights->free_ns ? flight->submitted_ns
                                                            : flights->free_ns;
    int64_t spin_ns = bd_spare_ns(), due = begin + atomic_load(flight->lasted_ns);
    bool told = spin_ns == 0 || !flight->submission->soon;
    for (;;) {
        int code = device->cuda->cuEventQuery(flight->end);
        if (code != NOT_READY)
            return code;
        int64_t now = bd_now_ns(), part = (now - begin) / NAP_PART + 1;
        if (!told && now > due - spin_ns) {
            told = true;
            flight->submission->soon(flight->submission);
        }
        if (now > due - spin_ns && now < due + spin_ns)
            pause_some();
        else if (now < due)
            nap(due - spin_ns - now < part ? due - spin_ns - now : part);
        else
            nap((now - due) / NAP_PART + 1);
    }
}

static void settle(bd_device *device, bd_cuda_flight *flight)
{
    bd_submission *submission = flight->submission;
    bd_error *late = bd_cuda_check(wait_for(device, flight), "run a submission");
    device->flights->free_ns = bd_now_ns();
    float milliseconds = 0;
    if (!late && device->cuda->cuEventElapsedTime(&milliseconds, flight->begin, flight->end) == 0)
        atomic_store(flight->lasted_ns, submission->run_ns = (int64_t)(milliseconds * 1e6F));
    for (uint32_t i = 0; flight->faults && submission->faults && i < submission->fault_count; i++)
        if (flight->faults[i].happened)
            submission->faults[i] = flight->faults[i];
    submission->error = flight->error ? flight->error : late;
    if (flight->error)
        bd_error_free(late);
    if (submission->error)
        bd_log(BD_LOG_ERROR, "cuda", "%s", bd_error_text(submission->error));
    flight->error = NULL;
}

static bool is_one_waiting(void *user)
{
    const bd_cuda_flights *flights = user;
    return atomic_load_explicit(&flights->waiting, memory_order_acquire) != 0;
}

/* The next one on its way; NULL: there will be none any more. */
static bd_cuda_flight *next_flight(bd_cuda_flights *flights)
{
    bd_spare_await(is_one_waiting, flights);
    pthread_mutex_lock(&flights->lock);
    while (!flights->first && !flights->closing)
        pthread_cond_wait(&flights->changed, &flights->lock);
    bd_cuda_flight *flight = flights->first;
    pthread_mutex_unlock(&flights->lock);
    return flight;
}

static void *tell(void *user)
{
    bd_device *device = user;
    bd_cuda_flights *flights = device->flights;
    (void)prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
    (void)device->cuda->cuCtxSetCurrent(device->context);
    bd_cuda_flight *flight;
    while ((flight = next_flight(flights)) != NULL) {
        settle(device, flight);
        bd_submission *submission = flight->submission;
        pthread_mutex_lock(&flights->lock);
        flights->first = flight->next;
        if (!flights->first)
            flights->last = &flights->first;
        flight->next = flights->idle;
        flights->idle = flight;
        pthread_mutex_unlock(&flights->lock);
        atomic_fetch_sub(&flights->waiting, 1);
        submission->done(submission);
    }
    return NULL;
}

bd_error *bd_cuda_flights_open(bd_device *device)
{
    bd_cuda_flights *flights = bd_alloc_zeroed(sizeof *flights);
    flights->last = &flights->first;
    pthread_mutex_init(&flights->lock, NULL);
    pthread_cond_init(&flights->changed, NULL);
    device->flights = flights;
    if (pthread_create(&flights->thread, NULL, tell, device) == 0)
        return NULL;
    device->flights = NULL;
    bd_free(flights);
    BD_FAIL(DEVICE, "cannot start a thread for the GPU");
}

void bd_cuda_flights_close(bd_device *device)
{
    bd_cuda_flights *flights = device->flights;
    const bd_cuda_symbols *cuda = device->cuda;
    if (!flights)
        return;
    pthread_mutex_lock(&flights->lock);
    flights->closing = true;
    pthread_cond_signal(&flights->changed);
    pthread_mutex_unlock(&flights->lock);
    pthread_join(flights->thread, NULL);
    while (flights->idle) {
        bd_cuda_flight *flight = flights->idle;
        flights->idle = flight->next;
        (void)cuda->cuEventDestroy(flight->begin);
        (void)cuda->cuEventDestroy(flight->end);
        (void)cuda->cuMemFreeHost(flight->faults);
        bd_free(flight);
    }
    pthread_cond_destroy(&flights->changed);
    pthread_mutex_destroy(&flights->lock);
    bd_free(flights);
    device->flights = NULL;
}

static void note(bd_cuda_flight *flight, int code, const char *doing)
{
    if (code != 0 && !flight->error)
        flight->error = bd_cuda_check(code, doing);
}

/* Submissions of the same kernels have the same number, and few others do. */
static uint64_t like_of(const bd_submission *submission)
{
    uint64_t hash = submission->launch_count;
    for (uint32_t i = 0; i < submission->launch_count && i < LIKE_LAUNCHES; i++)
        hash = bd_hash_mix(hash, (uint64_t)(uintptr_t)submission->launches[i].kernel);
    return hash % LIKES;
}

static void make_fault_room(bd_cuda_flight *flight, const bd_cuda_symbols *cuda, uint32_t count)
{
    if (!flight->faults || count > flight->fault_room) {
        uint32_t room = count > FAULTS_LEAST ? count : FAULTS_LEAST;
        void *faults = NULL;
        if (flight->faults)
            (void)cuda->cuMemFreeHost(flight->faults);
        note(flight, cuda->cuMemHostAlloc(&faults, room * sizeof *flight->faults, 0),
             "make room for faults");
        flight->faults = faults;
        flight->fault_room = faults ? room : 0;
    }
    if (flight->faults)
        memset(flight->faults, 0, count * sizeof *flight->faults);
}

bd_cuda_flight *bd_cuda_flight_begin(bd_device *device, bd_submission *submission)
{
    bd_cuda_flights *flights = device->flights;
    const bd_cuda_symbols *cuda = device->cuda;
    pthread_mutex_lock(&flights->lock);
    bd_cuda_flight *flight = flights->idle;
    if (flight)
        flights->idle = flight->next;
    pthread_mutex_unlock(&flights->lock);
    if (!flight) {
        flight = bd_alloc_zeroed(sizeof *flight);
        note(flight, cuda->cuEventCreate(&flight->begin, 0), "make an event");
        note(flight, cuda->cuEventCreate(&flight->end, 0), "make an event");
    }
    flight->submission = submission;
    flight->lasted_ns = &flights->lasted_ns[like_of(submission)];
    make_fault_room(flight, cuda, submission->fault_count);
    note(flight, cuda->cuEventRecord(flight->begin, device->stream), "begin a submission");
    return flight;
}

bd_fault *bd_cuda_flight_faults(bd_cuda_flight *flight)
{
    return flight->error ? NULL : flight->faults;
}

int64_t bd_cuda_flight_lasted_ns(const bd_cuda_flight *flight)
{
    return atomic_load(flight->lasted_ns);
}

void bd_cuda_flight_end(bd_device *device, bd_cuda_flight *flight, bd_error *own_error)
{
    bd_cuda_flights *flights = device->flights;
    note(flight, device->cuda->cuEventRecord(flight->end, device->stream), "end a submission");
    if (flight->error)
        bd_error_free(own_error);
    else
        flight->error = own_error;
    flight->next = NULL;
    flight->submitted_ns = bd_now_ns();
    pthread_mutex_lock(&flights->lock);
    *flights->last = flight;
    flights->last = &flight->next;
    atomic_fetch_add(&flights->waiting, 1);
    pthread_cond_signal(&flights->changed);
    pthread_mutex_unlock(&flights->lock);
}
