/* SPDX-License-Identifier: Apache-2.0
 * How a LOOP program is run: which axis the vector lanes walk, how many lanes, what an item is.
 * A pure function of program and target, so that cached objects and their kernels agree.
 *   MAP     lanes along a PARALLEL axis; an item is a tile of that axis at one point of the others
 *   COLUMN  as MAP with SERIAL loops inside; an item is `lanes` rows
 *   ROW     lanes along the innermost SERIAL axis; an item is one row
 * Programs that run as ROW have a second form, COLUMN, for sizes with short rows (pooling windows,
 * a softmax over few classes), whose lanes would stay empty: its sizes decide at each launch.
 * A SORT takes whole rows, so its programs are ROW. COLUMN and ROW without scans and sorts may be
 * split: the outermost SERIAL axis is cut into chunks of a size that depends on sizes only; each
 * EACH phase is a pass over rows and chunks that leaves partials in the shared scratch, followed by
 * a pass over rows that combines them. */
#pragma once

#include "backends/cpu/jit.h"
#include "backends/kir/kir.h"

typedef enum bd_loop_form { BD_LOOP_MAP, BD_LOOP_COLUMN, BD_LOOP_ROW } bd_loop_form;

enum {
    BD_LOOP_TILE_BYTES = 16384, /* of the widest buffer: an item of a map */
    BD_LOOP_APART_TILE = 64,    /* elements whose cache lines stay in the first cache */
    BD_LOOP_CHUNK = 32768,      /* elements of a chunk of a split reduction */
    BD_LOOP_SPLIT_ITEMS = 16,   /* fewer items than this are split */
    BD_LOOP_STREAM_BYTES = 32 << 20, /* an output from here on bypasses the cache, which could not
                                        keep it for its reader */
    BD_LOOP_NARROW_INNER = 8,   /* rows up to this along the innermost axis are short, */
    BD_LOOP_NARROW_ROW = 32,    /* and those of so many elements */
    BD_LOOP_SHORT_UNROLL = 2,   /* registers of lanes of a narrow form */
    BD_LOOP_REDUCTIONS_MAX = 128,
    BD_LOOP_SCANS_MAX = 32, /* of a phase */
    BD_LOOP_AHEAD_MAX = 4,
};

/* Which bd_call.params hold what. */
enum {
    BD_LOOP_TILE = 0, /* elements of the vector axis an item of a map covers */
    BD_LOOP_TILES,    /* tiles along the vector axis */
    BD_LOOP_SERIAL,   /* positions of the outermost SERIAL axis in a chunk */
    BD_LOOP_CHUNKS,
    BD_LOOP_ITEMS,    /* items without chunks */
    BD_LOOP_PARTIALS, /* byte offset of partials and finals in the shared scratch */
};

typedef struct bd_loop_shape {
    bd_loop_form form;
    int vector_axis; /* -1: none */
    unsigned lanes, unroll;
    bool masked; /* as the target's */
    bool narrow; /* the form for short rows */
    bool brief;  /* narrow: rows of one SERIAL axis have BD_LOOP_NARROW_ROW elements at most */
    bool crossed; /* narrow: the last SERIAL axis but one runs inside of the last one */
    bool may_split;
    bool sorts;
    int scan_count;
    bool split_slots;                          /* the split needs slots in shared scratch */
    int outer[BD_KIR_AXES_MAX], outer_count;   /* axes that items walk, but for the vector axis */
    int serial[BD_KIR_AXES_MAX], serial_count; /* outermost first */
    int each[BD_KIR_PHASES_MAX], each_count;   /* numbers of the EACH phases */
    int tile;                                  /* elements, MAP */
    bool apart; /* MAP: some access, as of a transposition, goes on along the last outer axis and
                   not along the lanes; the axis then runs inside of small tiles */
    /* ROW with several EACH phases: accesses whose next row is asked for ahead of time (from
     * ahead_stores on: this row, which the last of these phases writes), and by phase, in 16ths of
     * a row, how much of it. */
    int ahead[BD_LOOP_AHEAD_MAX], ahead_count, ahead_stores, ahead_share[BD_KIR_PHASES_MAX];
    size_t stream_bytes; /* of an element that may bypass the cache on its way out; 0: none may */
    /* Estimates of one element on one core: the time of its arithmetic, the bytes that it loads and
     * stores, and those of them that no cache has where all of them are many. */
    double work_ns;
    int cached_bytes, memory_bytes;
    /* Reductions by EACH phase: instruction numbers, in order. */
    int reductions[BD_LOOP_REDUCTIONS_MAX], reduction_phase[BD_LOOP_REDUCTIONS_MAX],
        reduction_count;
} bd_loop_shape;

/* UNSUPPORTED if the program has more reductions than fit. */
bd_error *bd_loop_shape_of(const bd_target *target, const bd_kir *program,
                           bd_loop_shape *out) BD_MUST_USE;
/* The form for short rows of a program that else runs as `wide`; false if there is none. */
bool bd_loop_narrow_shape_of(const bd_kir *program, const bd_loop_shape *wide, bd_loop_shape *out);
/* The same of a program that always runs so, with so many registers of lanes. UNSUPPORTED if there
 * is none. */
bd_error *bd_loop_short_shape_of(const bd_target *target, const bd_kir *program, unsigned unroll,
                                 bd_loop_shape *out) BD_MUST_USE;
/* Whether a phase's innermost loop is one masked loop: less code than a full one and a masked tail,
 * at some instructions more a turn. */
bool bd_loop_is_single(const bd_loop_shape *shape, const bd_kir *program,
                       const bd_kir_phase *phase);
/* Whether a store may bypass the cache, where the shape has stream_bytes. */
bool bd_loop_streams(const bd_kir *program, const bd_kir_instr *instr, int vector_axis);
/* Bytes of a value in slots and partials: f16 and bf16 as f32. */
size_t bd_loop_value_bytes(burn_dtype dtype);
/* Number of i64 or dtype words that a reduction's partial has: 2 for ARGMAX and ARGMIN. */
int bd_loop_reduction_parts(int code);
