/* SPDX-License-Identifier: Apache-2.0
 * Limits of the protocol, the same on both sides. A daemon announces those that it may lower in
 * WELCOME; nothing on the wire can raise them. */
#pragma once

#include <stdint.h>

enum {
    BURN_PROTOCOL_VERSION = 1, /* frozen: proto/frozen.txt */
    BURN_PREFACE_BYTES = 16,
    BURN_FRAME_HEADER_BYTES = 32,
    BURN_ALIGNMENT_BYTES = 64, /* tensor bytes begin at a multiple, from the frame's start */
    BURN_MESSAGE_BYTES_MAX = 64 * 1024, /* the msgpack header of a frame */
    BURN_HELLO_BYTES_MAX = 4096,        /* the same before WELCOME */
    BURN_BATCH_BYTES_MAX = 256 * 1024,  /* op records in one frame */
    BURN_CHUNK_BYTES_MAX = 1024 * 1024, /* tensor bytes in one frame */
    BURN_FRAME_COST_MIN = 512,          /* credit that the smallest frame costs */
    BURN_IN_FLIGHT_MAX = 1024,          /* requests of a session that wait for an answer */
    BURN_FREE_FRAMES_MAX =
        100000,                /* that cost no credit, within a second, without awaiting answers */
    BURN_TEXT_BYTES_MAX = 511, /* one text of a message */
    BURN_REPORT_BYTES_MAX = 1024 * 1024, /* JSON of an introspection reply, in the payload */
    BURN_TOKEN_SECONDS_MAX = 10 * 366 * 86400, /* life of a token that expires */
    BURN_MINT_SECONDS_MAX = 3600,              /* of a minted one */
    BURN_TEXTS_COUNT_MAX = 32,           /* features, devices */
    BURN_NAME_BYTES_MAX = 255,           /* of a published value */
    BURN_REGIONS_MAX = 256,              /* of one session */
};

/* Ids count from 1 and stay exact in a JavaScript number. */
#define BURN_ID_MAX (((uint64_t)1 << 53) - 1)
