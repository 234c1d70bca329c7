/* SPDX-License-Identifier: Apache-2.0
 * The bodies of sessions, values, tensors and storages, for the files of client/core only. */
#pragma once

#include "client/core/tensor.h"

typedef struct bd_storage bd_storage;
typedef struct bd_view bd_view;
typedef struct bd_recording bd_recording;

struct bd_session {
    bd_client *client; /* NULL once closed */
    void *user;
    void (*on_empty)(void *user);
    bool (*is_foreign)(const void *user); /* or NULL */
    bool grad_enabled;
    /* alive; the session's memory goes with the last one */
    uint64_t tensor_count, value_count, program_count;
    uint64_t mark;                      /* of the last walk over values */
    uint64_t attachment_count; /* with hooked leaves */
    bd_value *spare_values;
    burn_tensor *spare_tensors;
    bd_recording *recording; /* a program that is being recorded, or NULL */
    uint64_t next_program;
    uint64_t seed, random_offset;
};

/* Where the gradient of a leaf, or of a tensor that retains its own, is accumulated. It outlives
 * the tensor while values point to it. */
typedef struct bd_accumulator {
    uint32_t refs;
    burn_tensor *tensor; /* NULL when that is gone */
} bd_accumulator;

/* What a client of the library hung on a value: it goes with the value. */
typedef struct bd_attachment {
    void *object;
    void (*release)(void *object);
} bd_attachment;

enum {
    BD_VALUE_TRACKED = 1,   /* requires a gradient */
    BD_VALUE_LEAF = 2,      /* a tracked value without parents */
    BD_VALUE_CONSUMED = 4,  /* its history was given up by backward */
    BD_VALUE_GONE = 8,      /* the daemon was told that no handle is left */
    BD_VALUE_RECORDED = 16, /* lives in a program that is being recorded */
};
enum { BD_VALUE_PARENTS_INLINE = 3 };

struct bd_value {
    bd_session *session;
    uint64_t id;
    uint32_t refs;    /* all references, those of younger values too */
    uint32_t handles; /* those of tensors and storages: they keep it alive on the daemon */
    uint32_t flags;
    uint32_t parent_count;
    uint64_t mark;
    bd_accumulator *accumulator;
    bd_attachment *attachment; /* or NULL */
    bd_value **parents;        /* tracked inputs, each once */
    bd_value *parents_inline[BD_VALUE_PARENTS_INLINE];
    bd_value *next; /* in work lists and among the spare ones */
    burn_tensor_type type;
};

struct bd_storage {
    uint32_t refs;
    uint64_t version;
    bd_value *value;    /* of the base; a handle reference */
    burn_tensor *base;  /* borrowed; NULL when it is gone */
    burn_tensor *first; /* all tensors that share it */
};

/* One step from a base towards a view; shared by the views behind it. */
struct bd_view {
    uint32_t refs;
    bool tracked; /* grad mode was on */
    bd_view *previous;
    const burn_op_info *info;
    burn_attr attrs[BURN_OP_ATTRS_MAX];
    int64_t *numbers; /* of the list attributes */
};

enum {
    BD_TENSOR_LEAF = 1,    /* requires a gradient as a leaf */
    BD_TENSOR_RETAINS = 2, /* keeps its gradient though it is no leaf */
    BD_TENSOR_HOOKED = 4,  /* a leaf that bd_session_reached tells of */
};

struct burn_tensor {
    bd_session *session;
    uint32_t refs;
    uint32_t flags;
    uint64_t version; /* of the storage when the value was read; own count without one */
    bd_value *value;  /* a handle reference */
    bd_storage *storage;
    bd_view *view;                /* NULL: the base, or no storage */
    burn_tensor *previous, *next; /* within the storage, or among the spare ones */
    burn_tensor *grad;
    bd_accumulator *accumulator;
    void *user;
};

/* An input as the wire sees it. */
typedef struct bd_value_operand {
    burn_operand_kind kind;
    union {
        bd_value *value;
        int64_t i;
        double f;
    };
} bd_value_operand;

/* ---- value.c ---- */
bd_value *bd_value_create(bd_session *session);
void bd_value_retain(bd_value *value); /* as a parent or in passing */
void bd_value_release(bd_value *value);
void bd_value_hold(bd_value *value); /* as a handle */
void bd_value_drop(bd_value *value); /* NULL is fine */
void bd_value_forget_parents(bd_value *value);
/* The value depends on the parent, too, though with a gradient of zero. It must be no one else's.
 */
void bd_value_add_parent(bd_value *value, bd_value *parent);
void bd_value_set_accumulator(bd_value *value, bd_accumulator *accumulator);
void bd_accumulator_release(bd_accumulator *accumulator);
void bd_session_collect(bd_session *session); /* frees a closed session that nothing lives of */

typedef struct bd_emission {
    const burn_op_info *info;
    const bd_value_operand *inputs;
    uint32_t input_count, output_count;
    const burn_attr *attrs;
    bool track;                           /* if an input is tracked and the result can be */
    const burn_tensor_type *output_types; /* NULL: as inference says */
} bd_emission;
/* Checks and records one op; out_values are given with one handle reference each. */
bd_error *bd_emit(bd_session *session, const bd_emission *emission,
                  bd_value **out_values) BD_MUST_USE;
/* One input that is a value, one output. */
bd_error *bd_emit_unary(bd_session *session, int op, bd_value *value, const burn_attr *attrs,
                        bool track, bd_value **out_value) BD_MUST_USE;

/* ---- tensor.c ---- */
burn_tensor *bd_tensor_create(bd_session *session, bd_value *own_value);
/* The value that it shows now: fresh if it is a view, a leaf's own if it requires a gradient. */
bd_error *bd_tensor_value(burn_tensor *tensor, bd_value **out_value) BD_MUST_USE;
void bd_tensor_show(burn_tensor *tensor, bd_value *own_value);

/* ---- view.c ---- */
bool bd_view_shares(const burn_op_info *info);
bd_storage *bd_storage_of(burn_tensor *tensor);
void bd_storage_join(bd_storage *storage, burn_tensor *tensor, bd_view *view);
void bd_storage_leave(burn_tensor *tensor);
bd_view *bd_view_create(bd_view *previous, const burn_op_info *info, const burn_attr *attrs,
                        bool tracked);
void bd_view_release(bd_view *view);
bd_error *bd_view_refresh(burn_tensor *tensor) BD_MUST_USE;
/* The storage's base once the tensor, a view, shows `value`. */
bd_error *bd_view_write(burn_tensor *tensor, bd_value *value, bd_value **out_base) BD_MUST_USE;
bool bd_view_overlaps(const burn_tensor *tensor);
bool bd_view_of_leaf(const burn_tensor *tensor);
