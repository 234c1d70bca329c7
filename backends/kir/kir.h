/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR: the language that backends accept. One program is one kernel: loops over axes,
 * buffers reached by affine accesses, and phases of straight-line scalar code.
 *
 * Two families:
 *   LOOP  PARALLEL axes outside, SERIAL axes inside. For each point of the PARALLEL axes (a "row")
 *         the phases run in order; a phase of kind UNIFORM once before all rows (values of scalars
 *         only; these stand first), ROW once a row, EACH once for each point of the SERIAL axes. A
 *         value is visible in its own phase; values of UNIFORM phases, of ROW phases and results of
 *         REDUCE_* (these only) in all later phases. So a map is one ROW phase; a sum EACH + ROW; a
 *         softmax EACH (max), EACH (exp, sum), EACH (scale, store). Rows do not depend on another.
 *         A SCAN_* has at each point what its kind of reduction gives of this point and all before
 *         it, and is visible in its phase. SORT orders the keys that an earlier phase saved; the
 *         positions are for RESTORE in later phases (keys f32, f64, i64 or u64, the rest i64).
 *         A STORE_AT in an EACH phase runs in the order of the SERIAL axes, the last one fastest.
 *   CONTRACTION  acc[batch.., m.., n..] = sum over k.. of A[batch.., m.., k..] * B[batch.., k..,
 *         n..]. Axes: any number BATCH, M and N (none has extent 1), at least one K. Phases:
 *         [UNIFORM], OPERAND_A (over BATCH, M, K; ends in YIELD), OPERAND_B (over BATCH, K, N),
 *         EPILOGUE (over BATCH, M, N; reads ACC, stores). f16, bf16 and f32
 *         accumulate in f32, f64 in f64, integers in their own type (bool: or of ands), and ACC has
 *         that type (bd_kir_accumulator).
 *   ATTENTION  acc[batch.., m, e] = sum over n of P[batch.., m, n] * C[batch.., n, e], where P is
 *         the softmax over n of the scores; a row whose scores are all -inf is 0 in P.
 *         Axes: any number BATCH, at most one each of M, E, K, one N. Phases: [UNIFORM], then, if
 *         the scores are made of a product, OPERAND_A and OPERAND_B (as above, over K); SCORE (over
 *         BATCH, M, N; reads that product as ACC; ends in YIELD), OPERAND_C (over BATCH, N, E; ends
 *         in YIELD), EPILOGUE (over BATCH, M, E; reads ACC, stores). Scores have the type in which
 *         C's elements are summed, a float; a backend may round P to the type of C's elements.
 * Axes stand in the order of bd_kir_role; a phase sees those of its domain (bd_kir_domain): its
 * INDEX, accesses and guards have the constant stride 0 on all others. UNIFORM sees none and
 * neither loads nor checks. REDUCE_*, SCAN_* and SAVE stand in EACH phases, RESTORE in a later EACH
 * phase, SORT in a ROW phase.
 *
 * Sizes are arguments: each extent, stride and offset is a bd_kir_int, either a constant known
 * when the kernel is made (0, 1, element strides) or a number into the integer arguments.
 * Programs are immutable once built; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/arena.h"
#include "proto/base/error.h"
#include "proto/dtype.h"

enum {
    BD_KIR_AXES_MAX = 12,
    BD_KIR_INSTRS_MAX = 1024,
    BD_KIR_BUFFERS_MAX = 64,
    BD_KIR_PHASES_MAX = 12,
    BD_KIR_ACCESSES_MAX = 1024,
    BD_KIR_GUARDS_MAX = 1024,
    BD_KIR_INTS_MAX = 4096,
    BD_KIR_SCALARS_MAX = 1024,
    BD_KIR_SLOTS_MAX = 64,
};

typedef enum bd_kir_code {
#define KIR(name, text, operands, result) BD_KIR_##name,
#include "backends/kir/kir.def"
    BD_KIR_CODE_COUNT
} bd_kir_code;

/* argument >= 0: that integer argument; argument < 0: the constant `value`. */
typedef struct bd_kir_int {
    int32_t argument;
    int64_t value;
} bd_kir_int;

static inline bd_kir_int bd_kir_const(int64_t value)
{
    return (bd_kir_int){-1, value};
}
static inline bd_kir_int bd_kir_arg(int32_t argument)
{
    return (bd_kir_int){argument, 0};
}
static inline bool bd_kir_int_is(bd_kir_int integer, int64_t value)
{
    return integer.argument < 0 && integer.value == value;
}

/* Its value with these integer arguments. */
static inline int64_t bd_kir_int_value(bd_kir_int integer, const int64_t *ints)
{
    return integer.argument < 0 ? integer.value : ints[integer.argument];
}

typedef enum bd_kir_family { BD_KIR_LOOP, BD_KIR_CONTRACTION, BD_KIR_ATTENTION } bd_kir_family;

typedef enum bd_kir_role {
    BD_KIR_PARALLEL,
    BD_KIR_SERIAL,
    BD_KIR_BATCH,
    BD_KIR_M,
    BD_KIR_N,
    BD_KIR_K,
    BD_KIR_E,
} bd_kir_role;

typedef struct bd_kir_axis {
    bd_kir_int extent; /* may be 0 at run time */
    bd_kir_role role;
} bd_kir_axis;

typedef enum bd_kir_use { BD_KIR_READ = 1, BD_KIR_WRITE = 2, BD_KIR_READ_WRITE = 3 } bd_kir_use;

typedef struct bd_kir_buffer {
    burn_dtype dtype;
    bd_kir_use use;
} bd_kir_buffer;

/* Address in elements: offset + sum of strides[axis] * position. */
typedef struct bd_kir_access {
    uint16_t buffer;
    bd_kir_int offset;
    bd_kir_int strides[BD_KIR_AXES_MAX];
} bd_kir_access;

/* Holds where 0 <= offset + sum of strides[axis] * position < extent, and `also` holds too. */
typedef struct bd_kir_guard {
    bd_kir_int offset;
    bd_kir_int strides[BD_KIR_AXES_MAX];
    bd_kir_int extent;
    uint16_t also; /* number of an earlier guard + 1; 0: none */
} bd_kir_guard;

typedef enum bd_kir_store {
    BD_KIR_SET,
    BD_KIR_ACCUMULATE,
    BD_KIR_ACCUMULATE_MAX,
    BD_KIR_ACCUMULATE_MIN,
    BD_KIR_ACCUMULATE_PROD
} bd_kir_store;

/* Value numbers are instruction numbers + 1; 0 is none. Operands stand before their users. */
typedef uint16_t bd_kir_value;

typedef struct bd_kir_instr {
    uint16_t code; /* bd_kir_code */
    uint8_t dtype; /* of the result; for STORE, YIELD, SAVE of the operand */
    /* CHECK: 1 = negative wraps; SORT: 1 = descending; STORE, STORE_AT: bd_kir_store */
    uint8_t flags;
    bd_kir_value operands[3];
    uint16_t index;     /* access, guard, axis, scalar, slot, fault tag */
    int16_t guard;      /* LOAD, LOAD_AT, STORE, STORE_AT: guard number, or -1 */
    bd_kir_int integer; /* INTEGER, CHECK, LOAD_AT, STORE_AT */
    union {
        double f;  /* CONST of a float dtype */
        int64_t i; /* CONST of an integer dtype or bool */
    };
} bd_kir_instr;

typedef enum bd_kir_phase_kind {
    BD_KIR_UNIFORM,
    BD_KIR_ROW,
    BD_KIR_EACH, /* the LOOP phase: once for each point of the SERIAL axes */
    BD_KIR_OPERAND_A,
    BD_KIR_OPERAND_B,
    BD_KIR_SCORE,
    BD_KIR_OPERAND_C,
    BD_KIR_EPILOGUE,
} bd_kir_phase_kind;

typedef struct bd_kir_phase {
    bd_kir_phase_kind kind;
    uint16_t first, count; /* instructions */
} bd_kir_phase;

typedef struct bd_kir {
    bd_kir_family family;
    uint16_t axis_count, buffer_count, access_count, guard_count, phase_count, instr_count;
    uint16_t int_count;                /* integer arguments */
    uint16_t scalar_count;             /* scalar arguments, 8 bytes each */
    uint16_t slot_count;               /* SAVE slots */
    bd_kir_axis axes[BD_KIR_AXES_MAX]; /* by role; within a role outermost first */
    bd_kir_buffer *buffers;
    uint8_t *scalar_dtypes; /* F64 or I64: how each scalar argument is stored */
    bd_kir_access *accesses;
    bd_kir_guard *guards;
    bd_kir_phase phases[BD_KIR_PHASES_MAX];
    bd_kir_instr *instrs;
    uint8_t *slot_dtypes;
} bd_kir;

/* ---- building: grows on the heap until bd_kir_finish ----
 * Add the axes before accesses and guards; strides of axes that do not exist are not read. A
 * builder never fails midway: what goes beyond a limit or breaks a rule is told by bd_kir_finish.
 * bd_kir_emit fills in the dtype wherever it follows from operands, buffer, slot or scalar class
 * (all codes but CONST, SCALAR, RANDOM_UNIFORM, CAST and ACC), and ignores fields its code does not
 * use. */
typedef struct bd_kir_builder bd_kir_builder;
bd_kir_builder *bd_kir_builder_create(bd_kir_family family);
void bd_kir_builder_destroy(bd_kir_builder *builder);
int bd_kir_add_axis(bd_kir_builder *builder, bd_kir_role role, bd_kir_int extent);
int bd_kir_add_buffer(bd_kir_builder *builder, burn_dtype dtype, bd_kir_use use);
/* Equal accesses and guards are kept once; the number of the one that stands is returned. */
int bd_kir_add_access(bd_kir_builder *builder, const bd_kir_access *access);
int bd_kir_add_guard(bd_kir_builder *builder, const bd_kir_guard *guard);
int bd_kir_add_scalar(bd_kir_builder *builder, burn_dtype stored_as);
int bd_kir_add_int(bd_kir_builder *builder); /* the number of a new integer argument */
int bd_kir_add_slot(bd_kir_builder *builder, burn_dtype dtype);
/* Values of the current phase and of earlier ones are operands by the rules above. */
void bd_kir_begin_phase(bd_kir_builder *builder, bd_kir_phase_kind kind);
bd_kir_value bd_kir_emit(bd_kir_builder *builder, const bd_kir_instr *instr);
bd_kir_value bd_kir_unary(bd_kir_builder *builder, bd_kir_code code, bd_kir_value a);
bd_kir_value bd_kir_binary(bd_kir_builder *builder, bd_kir_code code, bd_kir_value a,
                           bd_kir_value b);
bd_kir_value bd_kir_cast(bd_kir_builder *builder, bd_kir_value a, burn_dtype dtype);
bd_kir_value bd_kir_select(bd_kir_builder *builder, bd_kir_value c, bd_kir_value a, bd_kir_value b);
bd_kir_value bd_kir_const_float(bd_kir_builder *builder, burn_dtype dtype, double value);
bd_kir_value bd_kir_const_int(bd_kir_builder *builder, burn_dtype dtype, int64_t value);
burn_dtype bd_kir_dtype_of(const bd_kir_builder *builder, bd_kir_value value);
/* Verifies and moves the program into the arena. INTERNAL with the reason if it is malformed. */
bd_error *bd_kir_finish(bd_kir_builder *builder, bd_arena *arena, bd_kir **out) BD_MUST_USE;

/* ---- reading ---- */
typedef enum bd_kir_result {
    BD_KIR_RESULT_SAME,
    BD_KIR_RESULT_BOOL,
    BD_KIR_RESULT_I64,
    BD_KIR_RESULT_INSTR,
    BD_KIR_RESULT_NONE,
} bd_kir_result;
bd_kir_result bd_kir_result_of(bd_kir_code code);
/* The type in which a contraction of these elements sums; also the type of ACC. */
burn_dtype bd_kir_accumulator(burn_dtype element);
/* Bit i: the guard, or one that must hold too, depends on axis i. */
uint32_t bd_kir_guard_axes(const bd_kir *program, int guard);
/* Bit i: a phase of this kind runs over axis i. */
uint32_t bd_kir_domain(const bd_kir *program, bd_kir_phase_kind kind);
/* Whether a phase of this kind ends in a YIELD. */
bool bd_kir_yields(bd_kir_phase_kind kind);
/* The last axis of a role, or -1. */
int bd_kir_axis_of(const bd_kir *program, bd_kir_role role);
bool bd_kir_is_reduce(bd_kir_code code);
const char *bd_kir_family_text(bd_kir_family family); /* "loop" */
bool bd_kir_is_scan(bd_kir_code code);
const char *bd_kir_code_text(bd_kir_code code);
int bd_kir_operand_count(bd_kir_code code);
bd_error *bd_kir_verify(const bd_kir *program) BD_MUST_USE;
/* A canonical byte string: equal programs, equal bytes. The cache key of a kernel. Heap; caller
 * frees with bd_free. */
uint8_t *bd_kir_serialize(const bd_kir *program, size_t *out_bytes);
bd_error *bd_kir_deserialize(const uint8_t *bytes, size_t size_bytes, bd_arena *arena,
                             bd_kir **out) BD_MUST_USE;
/* Text form, for logs and golden tests. Heap; caller frees with bd_free. */
char *bd_kir_print(const bd_kir *program);
bd_kir *bd_kir_clone(const bd_kir *program, bd_arena *arena);
