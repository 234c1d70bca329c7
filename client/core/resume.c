/* SPDX-License-Identifier: Apache-2.0
 * What is said first on a connection that takes a lost one's place. */
#include <string.h>

#include "client/core/client_state.h"

size_t bd_client_resume(const bd_client *client, const char *token,
                        uint8_t bytes[BD_CLIENT_RESUME_BYTES_MAX])
{
    bd_message message = {.type = BD_MESSAGE_RESUME,
                          .resume = {.version = BURN_PROTOCOL_VERSION,
                                     .token = bd_text_of(token),
                                     .key = bd_text_of(client->facts.resume_key),
                                     .received = client->received}};
    return bd_message_begin(&message, bytes);
}

bd_error *bd_client_resumed(const uint8_t *bytes, size_t size_bytes, size_t *out_wanted,
                            uint64_t *out_received)
{
    bd_frame frame;
    bd_message message;
    *out_wanted = BURN_PREFACE_BYTES;
    if (size_bytes < *out_wanted)
        return NULL;
    BD_TRY(bd_client_check_preface(bytes));
    *out_wanted += BURN_FRAME_HEADER_BYTES;
    if (size_bytes < *out_wanted)
        return NULL;
    BD_TRY(bd_frame_decode(bytes + BURN_PREFACE_BYTES, &frame));
    if (*out_wanted + frame.message_bytes > BD_CLIENT_RESUME_BYTES_MAX || frame.payload_bytes)
        BD_FAIL(PROTOCOL, "an answer to RESUME of another kind");
    bytes += *out_wanted;
    *out_wanted += frame.message_bytes;
    if (size_bytes < *out_wanted)
        return NULL;
    BD_TRY(bd_message_decode(&frame, bytes, BD_MESSAGE_FROM_DAEMON, &message));
    if (message.type == BD_MESSAGE_RESUMED) {
        *out_received = message.resumed.received;
        return NULL;
    }
    if (message.type != BD_MESSAGE_ERROR)
        BD_FAIL(PROTOCOL, "an answer to RESUME of another kind");
    return bd_client_remote_error(message.error.code, message.error.text, 0);
}
