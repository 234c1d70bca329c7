/* SPDX-License-Identifier: Apache-2.0
 * Tensors as users see them (mutable, with views and gradients) over values as the wire sees them
 * (immutable, one id each).
 *
 * A value is one result on the daemon: id, type, and for those that need a gradient the values it
 * came from. A tensor is a handle that shows a value and may be made to show another one: that is
 * what an in-place op does. Tensors that share memory in PyTorch's eyes share a storage, which
 * holds the base's present value and a version; a view keeps the ops that lead from the base to it
 * and is read again through them when the version has moved on. Writing to a view computes the new
 * base by the inverse ops.
 * Owner: the client; thread: the client's. Invariant: a value's type never changes. */
#pragma once

#include "client/core/client.h"
#include "proto/base/vec.h"
#include "proto/ops.h"

typedef struct bd_session bd_session;
typedef struct burn_tensor burn_tensor;
typedef struct bd_value bd_value;

/* A client with its tensors: what one connection's user state is. */
bd_session *bd_session_create(const char *library, const char *device, const char *token,
                              unsigned wishes);
/* Tensors may outlive it; they then fail with `closed`. */
void bd_session_destroy(bd_session *session);
bd_client *bd_session_client(bd_session *session);
/* Whether results of inputs that require a gradient do so too. */
void bd_session_set_grad(bd_session *session, bool enabled);
/* on_empty is called when the session has been destroyed and its last tensor released. */
void bd_session_set_user(bd_session *session, void *user, void (*on_empty)(void *user));
/* is_foreign tells whether the session was the parent's before this process was forked. */
void bd_session_set_foreign(bd_session *session, bool (*is_foreign)(const void *user));
void *bd_session_user(const bd_session *session);
/* The end of a step; nothing within a recording. */
void bd_session_mark(bd_session *session);

/* Random ops take a seed and an offset; the session counts how many numbers were used. */
void bd_session_seed(bd_session *session, uint64_t seed, uint64_t offset);
void bd_session_next_random(bd_session *session, uint64_t count, uint64_t *out_seed,
                            uint64_t *out_offset);

/* ---- ops ------------------------------------------------------------------------------------- */

typedef struct bd_input_operand {
    burn_operand_kind kind;
    union {
        burn_tensor *tensor;
        int64_t i;
        double f;
    };
} bd_input_operand;

/* Checks, records, and gives new tensors, each with one reference. Optional inputs at the end may
 * be left out; attrs holds all of the op's attributes, or is NULL for the defaults. reshape,
 * permute, expand, slice and detach give a tensor that shares its input's storage. Errors: INVALID,
 * LIMIT, UNSUPPORTED at once; those of the daemon surface at a read or sync. */
bd_error *bd_session_apply(bd_session *session, const burn_op_info *info,
                           const bd_input_operand *inputs, uint32_t input_count,
                           const burn_attr *attrs, burn_tensor **out_tensors,
                           uint32_t output_count) BD_MUST_USE;
/* A tensor for an upload that the caller carries out under the id. */
bd_error *bd_session_upload(bd_session *session, const burn_tensor_type *type,
                            burn_tensor **out_tensor, uint64_t *out_id) BD_MUST_USE;

/* A tensor for an id that the daemon has filled. */
burn_tensor *bd_session_tensor(bd_session *session, const burn_tensor_type *type, uint64_t id);

/* ---- handles --------------------------------------------------------------------------------- */

void bd_tensor_retain(burn_tensor *tensor);
void bd_tensor_release(burn_tensor *tensor);
bd_session *bd_tensor_session(const burn_tensor *tensor);
const burn_tensor_type *bd_tensor_type(const burn_tensor *tensor);
/* The id of the value that it shows now. */
bd_error *bd_tensor_id(burn_tensor *tensor, uint64_t *out_id) BD_MUST_USE;
/* UNAVAILABLE if either session is closed, INVALID if the tensor is another's. */
bd_error *bd_tensor_check_session(const burn_tensor *tensor, const bd_session *session) BD_MUST_USE;
/* Reads a view again if its base has changed. */
bd_error *bd_tensor_refresh(burn_tensor *tensor) BD_MUST_USE;
uint64_t bd_tensor_version(const burn_tensor *tensor);
bool bd_tensor_is_view(const burn_tensor *tensor);
/* Elements, not bytes, as PyTorch counts; expand gives 0. */
void bd_tensor_strides(const burn_tensor *tensor, int64_t strides[BURN_RANK_MAX]);
bool bd_tensor_is_contiguous(const burn_tensor *tensor);
void *bd_tensor_user(const burn_tensor *tensor);
void bd_tensor_set_user(burn_tensor *tensor, void *user);

enum {
    BD_ASSIGN_CAST = 1,    /* any cast is allowed */
    BD_ASSIGN_REPLACE = 2, /* as `x.data = y`: own shape and dtype, no history */
};
/* target takes the source's elements: the one way to change a tensor. */
bd_error *bd_tensor_assign(burn_tensor *target, const bd_input_operand *source,
                           int flags) BD_MUST_USE;
/* Same elements, same storage, no history. */
bd_error *bd_tensor_detach(burn_tensor *tensor, burn_tensor **out_tensor) BD_MUST_USE;
/* Another handle on the same value and storage. */
bd_error *bd_tensor_alias(burn_tensor *tensor, burn_tensor **out_tensor) BD_MUST_USE;

/* ---- gradients ------------------------------------------------------------------------------- */

bool bd_tensor_requires_grad(const burn_tensor *tensor);
bool bd_tensor_is_leaf(const burn_tensor *tensor);
bool bd_tensor_retains_grad(const burn_tensor *tensor);
bd_error *bd_tensor_set_requires_grad(burn_tensor *tensor, bool flag) BD_MUST_USE;
bd_error *bd_tensor_retain_grad(burn_tensor *tensor) BD_MUST_USE;
/* Borrowed; NULL if there is none. */
burn_tensor *bd_tensor_grad(const burn_tensor *tensor);
bd_error *bd_tensor_set_grad(burn_tensor *tensor, burn_tensor *grad) BD_MUST_USE;

enum { BD_BACKWARD_RETAIN = 1, BD_BACKWARD_CREATE = 2, BD_BACKWARD_UNUSED = 4 };
/* seeds[i] NULL: 1 for a root of one element. inputs NULL: all leaves that are reached; their
 * gradients are added to what they have. Gradients do not flow through cuts; the seed of one that
 * is also a root does. */
bd_error *bd_session_backward(bd_session *session, burn_tensor *const *roots,
                              burn_tensor *const *seeds, uint32_t root_count,
                              burn_tensor *const *inputs, uint32_t input_count,
                              burn_tensor *const *cuts, uint32_t cut_count,
                              int flags) BD_MUST_USE;
/* out_grads[i] is NULL for an input that was not reached (with BD_BACKWARD_UNUSED). */
bd_error *bd_session_grad(bd_session *session, burn_tensor *const *roots, burn_tensor *const *seeds,
                          uint32_t root_count, burn_tensor *const *inputs, uint32_t input_count,
                          burn_tensor *const *cuts, uint32_t cut_count, int flags,
                          burn_tensor **out_grads) BD_MUST_USE;

/* Attachments make hooks and gradient rules of a client's own possible: an object hangs on a value
 * and is found by what differentiates through it. */
bd_error *bd_tensor_attach(burn_tensor *tensor, void *object,
                           void (*release)(void *object)) BD_MUST_USE;
bd_error *bd_tensor_attached(burn_tensor *tensor, void **out_object) BD_MUST_USE;
/* A leaf, whose values come and go, is found by a flag of its own. */
void bd_tensor_set_hooked(burn_tensor *tensor, bool flag);
/* A handle on what the tensor shows now, which later assignments do not change. */
bd_error *bd_tensor_snapshot(burn_tensor *tensor, burn_tensor **out_tensor) BD_MUST_USE;
/* An untracked value becomes one that requires a gradient and has no history here: its rule is the
 * client's. */
bd_error *bd_tensor_end_history(burn_tensor *tensor) BD_MUST_USE;

typedef struct bd_reached {
    burn_tensor *tensor; /* retained */
    void *object; /* NULL: a hooked leaf */
    uint64_t id;  /* younger values have greater ones */
} bd_reached;
typedef BD_VEC(bd_reached) bd_reached_list;
/* The values with attachments and the hooked leaves that the roots depend on; also after an error.
 */
bd_error *bd_session_reached(bd_session *session, burn_tensor *const *roots, uint32_t root_count,
                             bd_reached_list *out_list) BD_MUST_USE;
uint64_t bd_session_attachments(const bd_session *session); /* and hooked leaves */
