/* SPDX-License-Identifier: Apache-2.0
 * Requests whose answer nobody waits for any more. GET and SYNC end by CANCEL; an import makes
 * tensors or a program in the daemon all the same, which nobody would ever free: it stays among the
 * pending as the client's own until its answer tells what to free. */
#include "client/core/client_state.h"
#include "proto/base/alloc.h"
#include "proto/name.h"

void bd_client_free_imported(bd_client *client, const bd_pending *pending)
{
    if (pending->error || client->failure)
        return;
    if (pending->program)
        bd_client_drop(client, pending->program);
    if (!pending->first)
        return;
    const uint8_t *bytes = (const uint8_t *)pending->report;
    bd_unpack unpack = {.cursor = bytes, .end = bytes + pending->report_bytes};
    uint64_t id = pending->first;
    while (unpack.cursor < unpack.end) {
        burn_tensor_type type;
        bd_text part;
        bd_error *error = bd_name_unpack_import(&unpack, &part, &type);
        bd_error_free(error);
        if (error)
            break;
        bd_client_free_id(client, id++);
    }
    bd_client_flush(client);
}

static void destroy(bd_pending *pending)
{
    bd_error_free(pending->error);
    bd_free(pending->report);
    bd_free(pending);
}

void bd_client_end_abandoned(bd_client *client, bd_pending *own_pending)
{
    bd_client_free_imported(client, own_pending);
    destroy(own_pending);
}

void bd_client_drop_abandoned(bd_client *client)
{
    while (client->pending && client->pending->abandoned) {
        bd_pending *next = client->pending->next;
        destroy(client->pending);
        client->pending = next;
    }
}

/* Takes the place of the caller's. */
static bd_pending *abandon(bd_client *client, bd_pending *pending)
{
    bd_pending *own = bd_alloc(sizeof *own);
    *own = *pending;
    own->abandoned = true;
    pending->report = NULL;
    if (client->target == pending)
        client->target = own;
    return own;
}

void bd_client_forget(bd_client *client, bd_pending *pending)
{
    bool imports = !pending->done && !client->failure && (pending->first || pending->program);
    if (!pending->done && !client->failure && !imports) {
        bd_message message = {.type = BD_MESSAGE_CANCEL, .cancel = {.request = pending->request}};
        bd_client_send_control(client, &message);
    }
    for (bd_pending **link = &client->pending; *link; link = &(*link)->next)
        if (*link == pending) {
            *link = imports ? abandon(client, pending) : pending->next;
            break;
        }
    if (client->target == pending) { /* the rest of a payload that is under way is dropped */
        client->target = NULL;
        bd_frame_parser_set_payload(&client->parser, NULL);
    }
}
