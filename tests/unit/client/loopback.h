/* SPDX-License-Identifier: Apache-2.0
 * The other end of a bd_client, without a socket: it reads the frames that the client sends, keeps
 * the op records, and sends what a test wants. */
#pragma once

#include "client/core/client.h"
#include "client/core/tensor.h"
#include "proto/base/arena.h"
#include "proto/base/vec.h"

typedef struct loopback {
    bd_client *client;
    bd_frame_parser parser;
    bd_arena arena;
    size_t preface_bytes;
    BD_VEC(burn_op_record) records; /* of all batches */
    BD_VEC(bd_message) messages;    /* all but OPS */
    uint8_t *payload;
    uint32_t op_revision; /* of WELCOME; as the client's unless a test says otherwise */
} loopback;

void loopback_init(loopback *loop, bd_client *client);
void loopback_deinit(loopback *loop);
/* Bytes from the client. */
void loopback_take(loopback *loop, const uint8_t *bytes, size_t size);
/* Takes what the client has to say. */
void loopback_drain(loopback *loop);
/* Flushes first. */
void loopback_drain_all(loopback *loop);
void loopback_send(loopback *loop, const bd_message *message, const void *payload,
                   size_t payload_bytes);
/* Preface and WELCOME. */
void loopback_open(loopback *loop, uint64_t credit_bytes);
/* The last record; fails the test if there is none or its op has another name. */
const burn_op_record *loopback_last(loopback *loop, const char *op);
/* How many records of the op were sent. */
size_t loopback_count(loopback *loop, const char *op);
const bd_message *loopback_message(loopback *loop, bd_message_type type);
