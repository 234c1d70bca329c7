/* SPDX-License-Identifier: Apache-2.0 */
#include "server/embedded.h"

#include <sys/socket.h>

#include "proto/message.h"

void bd_embedded_say_failure(int fd, const bd_error *error)
{
    uint8_t bytes[BD_MESSAGE_BEGIN_BYTES_MAX];
    bd_message message = {.type = BD_MESSAGE_ERROR,
                          .error = {.code = (uint64_t)bd_error_code(error),
                                    .text = bd_text_of(bd_error_text(error))}};
    size_t size = bd_message_begin(&message, bytes);
    if (size > sizeof bytes || send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* the client is gone */
}
