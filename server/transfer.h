/* SPDX-License-Identifier: Apache-2.0
 * Bulk bytes of a session: op batches and programs on their way to the engine, uploads into the
 * buffers that become tensors, downloads out of them. Nothing is copied between socket and buffer.
 * Thread: loop. Functions that give an error close the connection; what concerns one tensor or
 * request is answered, or poisons the tensor, and gives NULL. */
#pragma once

#include "proto/message.h"
#include "server/daemon.h"

/* Gives the request room for the frame's payload and keeps it until that is there. */
bd_error *bd_transfer_await(bd_connection *connection, bd_request *own_request,
                            const bd_frame *frame, uint8_t **out_payload) BD_MUST_USE;
bd_error *bd_transfer_ops(bd_connection *connection, const struct bd_message_ops *ops,
                          const bd_frame *frame, uint8_t **out_payload) BD_MUST_USE;
bd_error *bd_transfer_program(bd_connection *connection,
                              const struct bd_message_program_define *define, const bd_frame *frame,
                              uint8_t **out_payload) BD_MUST_USE;
bd_error *bd_transfer_put_begin(bd_connection *connection, const struct bd_message_put_begin *put,
                                const bd_frame *frame, uint8_t **out_payload) BD_MUST_USE;
bd_error *bd_transfer_put_data(bd_connection *connection, const struct bd_message_put_data *put,
                               const bd_frame *frame, uint8_t **out_payload) BD_MUST_USE;

/* REGION_ADD to REGION_TAKEN. */
bd_error *bd_transfer_region_message(bd_connection *connection,
                                     const bd_message *message) BD_MUST_USE;

/* A GET or GET_REGION found nothing. */
void bd_transfer_refuse_download(bd_connection *connection, uint64_t request);
/* Begins to send what a GET found. The reply stays the caller's. */
void bd_transfer_download(bd_connection *connection, const bd_reply *reply);
/* False if no download answers this request. */
bool bd_transfer_cancel_download(bd_connection *connection, uint64_t request);
/* Frees uploads, downloads and the request that comes in. */
void bd_transfer_drop_all(bd_connection *connection);
