/* SPDX-License-Identifier: Apache-2.0
 * From LLVM IR to running code: targets, compilers, objects, loaded code.
 * A compiler (one LLVM context and one TargetMachine) is used by one thread at a time; targets
 * are immutable; loaded code is shared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "proto/base/error.h"

/* What generated code may use. Thread: any, after open. */
typedef struct bd_target {
    char cpu[64];
    char features[4096];
    char name[16];         /* one of those below */
    unsigned vector_bytes; /* 64, 32 or 16 */
    bool masked;           /* AVX-512: masked loads and stores of every element size */
    bool fma, f16c, sse41;
    bool bf16; /* products of bf16, summed in f32: vdpbf16ps, */
    bool amx;  /* and in tiles; the process has the kernel's leave */
} bd_target;

/* name: "generic", "avx2", "avx512", "avx512_bf16", "amx", each with all before it, or NULL for the
 * host's best. UNSUPPORTED if the host lacks it. */
bd_error *bd_target_init(bd_target *target, const char *name) BD_MUST_USE;

/* What compiled objects depend on besides their programs: emitter, LLVM, processor. */
void bd_jit_build_text(const bd_target *target, char *out, size_t out_bytes);

typedef struct bd_compiler bd_compiler;
bd_error *bd_compiler_create(const bd_target *target, bd_compiler **out) BD_MUST_USE;
void bd_compiler_destroy(bd_compiler *compiler);

/* One module under construction: types and the names that emitters share. */
typedef struct bd_module {
    const bd_target *target;
    LLVMContextRef context;
    LLVMModuleRef llvm;
    LLVMTypeRef none, i1, i8, i16, i32, i64, f16, f32, f64, pointer;
    LLVMTypeRef pass_type; /* void (const bd_call *, i64 begin, i64 end) */
    struct bd_constants *constants;
} bd_module;

bd_module *bd_module_create(bd_compiler *compiler);
/* Verifies, generates code and frees the module. out_bytes: heap, freed by the caller with bd_free.
 */
bd_error *bd_module_finish(bd_module *own_module, uint8_t **out_bytes,
                           size_t *out_size) BD_MUST_USE;
void bd_module_destroy(bd_module *module);
/* A call of an intrinsic ("llvm.fma") that is overloaded on these types. */
LLVMValueRef bd_module_intrinsic(bd_module *module, LLVMBuilderRef builder, const char *name,
                                 LLVMTypeRef *overloads, unsigned overload_count,
                                 LLVMValueRef *arguments, unsigned count);

/* Executable memory: an arena mapped twice, writable and executable. */
typedef struct bd_code_arena bd_code_arena;
bd_error *bd_code_arena_create(bd_code_arena **out) BD_MUST_USE;
void bd_code_arena_destroy(bd_code_arena *arena);
uint64_t bd_code_arena_bytes(bd_code_arena *arena); /* resident code; thread: any */

typedef struct bd_loaded bd_loaded;
/* Loads an x86-64 ELF object made by bd_module_finish. DEVICE if it is not one that we can load. */
bd_error *bd_code_load(bd_code_arena *arena, const uint8_t *bytes, size_t size,
                       bd_loaded **out) BD_MUST_USE;
void bd_code_free(bd_loaded *code);
/* The address of a function of the object; NULL if there is none of that name. */
void *bd_code_symbol(const bd_loaded *code, const char *name);
