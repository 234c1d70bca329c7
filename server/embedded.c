/* SPDX-License-Identifier: Apache-2.0 */
#include "server/embedded.h"

#include <sys/socket.h>

#include "proto/frame.h"
#include "proto/message.h"

void bd_embedded_say_failure(int fd, const bd_error *error)
{
    uint8_t bytes[BURN_PREFACE_BYTES + BD_MESSAGE_FRAME_BYTES_MAX];
    bd_preface preface = {.version_min = BURN_PROTOCOL_VERSION,
                          .version_max = BURN_PROTOCOL_VERSION};
    bd_message message = {.type = BD_MESSAGE_ERROR,
                          .error = {.code = (uint64_t)bd_error_code(error),
                                    .text = bd_text_of(bd_error_text(error))}};
    bd_preface_encode(&preface, bytes);
    size_t size = BURN_PREFACE_BYTES + bd_message_encode(&message, 0, bytes + BURN_PREFACE_BYTES,
                                                         BD_MESSAGE_FRAME_BYTES_MAX);
    if (size > sizeof bytes || send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* the client is gone */
}
