/* SPDX-License-Identifier: Apache-2.0
 * The body of bd_client, for the files of client/core only. */
#pragma once

#include "client/core/client.h"
#include "client/core/fifo.h"
#include "proto/base/vec.h"
#include "proto/frame.h"

enum {
    BD_BATCH_FLUSH_BYTES = 64 * 1024, /* a batch above this becomes a frame */
    BD_FREE_BATCH_COUNT = 64,         /* ids in one free record */
};

/* Tensor bytes that the transport sends at their place between the bytes of the queue. */
typedef struct bd_outside {
    uint64_t position; /* of all that the queue ever gave out */
    uint64_t token;
} bd_outside;

struct bd_client {
    bd_client_phase phase;
    bd_error *failure;
    bd_client_facts facts;
    char farewell[256]; /* why the daemon ends the connection, once it has said so */

    bd_fifo control;         /* control frames, sent between others */
    bd_fifo queue;           /* frames that spend credit */
    size_t released_bytes;   /* of the queue: paid for, may be sent */
    uint64_t taken_bytes;    /* of the queue: sent, in all */
    BD_VEC(bd_outside) outside;
    size_t outside_first;    /* before it, all are sent */
    size_t outside_released; /* the first that is not paid for */
    size_t frame_left_bytes; /* of the frame whose sending has begun */
    bool output_is_control;  /* what the last bd_client_output gave */
    uint64_t credit_bytes;
    uint64_t bytes_sent;
    uint64_t received, acknowledged; /* bytes after WELCOME; of these: the daemon knows */
    uint64_t peer_received;          /* bytes after HELLO that the daemon has */

    uint8_t *batch; /* op records, BURN_BATCH_BYTES_MAX */
    size_t batch_bytes;
    uint64_t batch_first_output, batch_first_op;
    uint64_t next_id, op_count;
    BD_VEC(uint64_t) frees;

    uint8_t preface[BURN_PREFACE_BYTES];
    size_t preface_bytes;
    bd_frame_parser parser;
    bd_message message;  /* of the frame whose payload is being read */
    bd_pending *target;  /* who gets that payload */
    bd_pending *pending; /* requests in order */
    uint64_t next_request;
};

/* session.c */
/* Whether the daemon speaks what this client speaks. */
bd_error *bd_client_check_preface(const uint8_t bytes[BURN_PREFACE_BYTES]) BD_MUST_USE;
/* An error as the daemon said it. */
bd_error *bd_client_remote_error(uint64_t code, bd_text text, uint64_t op_index) BD_MUST_USE;
void bd_client_end_pending(bd_client *client, bd_pending *pending, bd_error *own_error);
/* forget.c */
void bd_client_end_abandoned(bd_client *client, bd_pending *own_pending);
void bd_client_drop_abandoned(bd_client *client); /* those without an answer */
/* output.c */
void bd_client_send_control(bd_client *client, const bd_message *message);
void bd_client_release_credit(bd_client *client);
