/* SPDX-License-Identifier: Apache-2.0
 * Sockets: listening, accepting, who the peer is. errno becomes bd_error here and nowhere else.
 * Thread: main before the loop runs, then loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/base/error.h"
#include "server/address.h"

/* A listening, non-blocking socket. A Unix socket is made with mode 0660, its folder with 0750 if
 * it is missing, or, for others too, with 0666 and 0755; a stale socket file is replaced, one that
 * answers is a CONFLICT. */
bd_error *bd_net_listen(const char *url, bool for_others, int *out_fd,
                        bd_address *out_address) BD_MUST_USE;
/* The file of a Unix socket that this process made gets the name "….draining": the old one is free
 * for another socket, and who comes by the new one is still heard. False if there is no such. */
bool bd_net_step_aside(bd_address *address);
/* Removes the socket file if it is still the one that fd was bound to; closes fd. */
void bd_net_close_listener(int fd, const bd_address *address);
/* "unix:///path", "tls://0.0.0.0:7867" or "tcp://127.0.0.1:4711?insecure", with the real port. */
void bd_net_url(int fd, const bd_address *address, char *text, size_t text_bytes);

typedef enum bd_accept {
    BD_ACCEPT_GOT,
    BD_ACCEPT_NONE,      /* nobody waits */
    BD_ACCEPT_EXHAUSTED, /* no descriptor or memory: try again later */
} bd_accept;
bd_accept bd_net_accept(int listener, int *out_fd);

/* Non-blocking, close-on-exec, no delay, keepalive. INVALID if fd is no stream socket. */
bd_error *bd_net_prepare(int fd, bool *out_is_unix) BD_MUST_USE;
/* SO_PEERCRED. */
bd_error *bd_net_peer(int fd, uid_t *out_uid, pid_t *out_pid) BD_MUST_USE;

/* Whether the peer was in a group when it connected, by SO_PEERCRED and SO_PEERGROUPS. */
bool bd_net_peer_in_group(int fd, gid_t group);

enum { BD_PEER_TEXT_BYTES = 64 };
/* The peer's numeric address without its port; "" for what has none. Returns text. */
const char *bd_net_peer_text(int fd, char text[BD_PEER_TEXT_BYTES]);
/* The same for the log: "unix" for what has none. */
const char *bd_net_peer_name(int fd, char text[BD_PEER_TEXT_BYTES]);
/* The address that the peer reached, without its port; empty for a Unix socket. */
const char *bd_net_local_text(int fd, char text[BD_PEER_TEXT_BYTES]);

/* Raises the limit of open files as far as allowed; returns it. */
uint64_t bd_net_raise_file_limit(void);
