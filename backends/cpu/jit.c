/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/jit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include "backends/cpu/constants.h"
#include "backends/cpu/emitter_version.h"
#include "proto/base/alloc.h"

struct bd_compiler {
    const bd_target *target;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
    LLVMContextRef
        context; /* renewed now and then: types and constants of a context are never freed */
    unsigned module_count;
};

/* Modules after which a compiler takes a fresh context. */
enum { CONTEXT_MODULES_MAX = 64 };

struct owned_module {
    bd_module module;
    bd_compiler *compiler;
};

static const char TRIPLE[] = "x86_64-unknown-linux-gnu";

/* Loops here are written with one index and need no strength reduction, a third of the time
 * that code generation would take; the other passes find nothing in this code either. */
static void initialise_llvm(void)
{
    static const char *const arguments[] = {
        "burn",
        "-disable-lsr",
        "-disable-early-ifcvt",
        "-disable-early-taildup",
        "-disable-tail-duplicate",
        "-disable-branch-fold",
        "-disable-post-ra",
        "-disable-ssc",
        "-disable-mergeicmps",
        "-disable-constant-hoisting",
        "-enable-shrink-wrap=false",
    };
    LLVMParseCommandLineOptions(sizeof arguments / sizeof *arguments, arguments, NULL);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
}

void bd_jit_build_text(const bd_target *target, char *out, size_t out_bytes)
{
    unsigned major = 0, minor = 0, patch = 0;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(out, out_bytes, "%s llvm %u.%u.%u %s %s %s", BD_EMITTER_VERSION, major, minor, patch,
             target->name, target->cpu, target->features);
}

static void need_llvm(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise_llvm);
}

static bool has_feature(const char *features, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strchr(features, '+'); at; at = strchr(at + 1, '+'))
        if (strncmp(at + 1, name, length) == 0 && (at[1 + length] == ',' || at[1 + length] == 0))
            return true;
    return false;
}

/* Targets, each with all that those before it have. */
typedef enum level { GENERIC, AVX2, AVX512, AVX512_BF16, AMX, LEVELS } level;

static const char *const level_names[LEVELS] = {"generic", "avx2", "avx512", "avx512_bf16", "amx"};

/* Features as LLVM names them, up to a NULL. */
static const char *const level_needs[LEVELS][8] = {
    [AVX2] = {"avx2", "fma", "f16c", "bmi2"},
    [AVX512] = {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    [AVX512_BF16] = {"avx512bf16"},
    [AMX] = {"amx-tile", "amx-bf16"},
};

/* Tile registers are the kernel's to give, for all threads of the process. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
}

static level host_level(const char *features)
{
    level found = GENERIC;
    for (level next = AVX2; next < LEVELS; next++) {
        for (int i = 0; level_needs[next][i]; i++)
            if (!has_feature(features, level_needs[next][i]))
                return found;
        if (next == AMX && !may_use_tiles())
            return found;
        found = next;
    }
    return found;
}

static void set_target(bd_target *target, level chosen, const char *cpu, const char *features)
{
    memset(target, 0, sizeof *target);
    strncpy(target->name, level_names[chosen], sizeof target->name - 1);
    strncpy(target->cpu, cpu, sizeof target->cpu - 1);
    strncpy(target->features, features, sizeof target->features - 1);
    target->masked = chosen >= AVX512;
    target->fma = target->f16c = target->sse41 = chosen >= AVX2;
    target->vector_bytes = target->masked ? 64 : target->fma ? 32 : 16;
    target->bf16 = chosen >= AVX512_BF16;
    target->amx = chosen >= AMX;
}

bd_error *bd_target_init(bd_target *target, const char *name)
{
    need_llvm();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    bd_error *err = NULL;
    level host = host_level(features), chosen = name && *name ? GENERIC : host;
    while (name && *name && chosen < LEVELS && strcmp(name, level_names[chosen]) != 0)
        chosen++;
    if (strlen(features) >= sizeof target->features)
        err = BD_ERROR(INTERNAL, "the host's feature string has %zu bytes", strlen(features));
    else if (chosen == LEVELS)
        err = BD_ERROR(INVALID,
                       "cpu target \"%.32s\" is none of generic, avx2, avx512, avx512_bf16, amx",
                       name);
    else if (chosen > host)
        err = BD_ERROR(UNSUPPORTED, "this processor (%s) has no %s", cpu, name);
    else if (chosen >= AVX512)
        set_target(target, chosen, cpu, features);
    else
        set_target(target, chosen, chosen == AVX2 ? "x86-64-v3" : "x86-64", "");
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return err;
}

bd_error *bd_compiler_create(const bd_target *target, bd_compiler **out)
{
    need_llvm();
    LLVMTargetRef llvm_target = NULL;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(TRIPLE, &llvm_target, &message)) {
        bd_error *err = BD_ERROR(DEVICE, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        return err;
    }
    LLVMTargetMachineRef machine =
        LLVMCreateTargetMachine(llvm_target, TRIPLE, target->cpu, target->features,
                                LLVMCodeGenLevelLess, LLVMRelocPIC, LLVMCodeModelSmall);
    if (!machine)
        BD_FAIL(DEVICE, "LLVM has no machine for %s", target->cpu);
    bd_compiler *compiler = bd_alloc_zeroed(sizeof *compiler);
    compiler->target = target;
    compiler->machine = machine;
    compiler->layout = LLVMCreateTargetDataLayout(machine);
    *out = compiler;
    return NULL;
}

void bd_compiler_destroy(bd_compiler *compiler)
{
    if (!compiler)
        return;
    if (compiler->context)
        LLVMContextDispose(compiler->context);
    LLVMDisposeTargetData(compiler->layout);
    LLVMDisposeTargetMachine(compiler->machine);
    bd_free(compiler);
}

bd_module *bd_module_create(bd_compiler *compiler)
{
    if (compiler->context && compiler->module_count >= CONTEXT_MODULES_MAX) {
        LLVMContextDispose(compiler->context);
        compiler->context = NULL;
    }
    if (!compiler->context) {
        compiler->context = LLVMContextCreate();
        compiler->module_count = 0;
    }
    compiler->module_count++;
    struct owned_module *owned = bd_alloc_zeroed(sizeof *owned);
    owned->compiler = compiler;
    bd_module *module = &owned->module;
    LLVMContextRef context = compiler->context;
    module->target = compiler->target;
    module->context = context;
    module->llvm = LLVMModuleCreateWithNameInContext("kernel", context);
    LLVMSetTarget(module->llvm, TRIPLE);
    LLVMSetModuleDataLayout(module->llvm, compiler->layout);
    module->none = LLVMVoidTypeInContext(context);
    module->i1 = LLVMInt1TypeInContext(context);
    module->i8 = LLVMInt8TypeInContext(context);
    module->i16 = LLVMInt16TypeInContext(context);
    module->i32 = LLVMInt32TypeInContext(context);
    module->i64 = LLVMInt64TypeInContext(context);
    module->f16 = LLVMHalfTypeInContext(context);
    module->f32 = LLVMFloatTypeInContext(context);
    module->f64 = LLVMDoubleTypeInContext(context);
    module->pointer = LLVMPointerTypeInContext(context, 0);
    LLVMTypeRef parameters[] = {module->pointer, module->i64, module->i64};
    module->pass_type = LLVMFunctionType(module->none, parameters, 3, 0);
    module->constants = bd_constants_create(module);
    return module;
}

void bd_module_destroy(bd_module *module)
{
    if (!module)
        return;
    bd_constants_destroy(module->constants);
    LLVMDisposeModule(module->llvm);
    bd_free(module);
}

LLVMValueRef bd_module_intrinsic(bd_module *module, LLVMBuilderRef builder, const char *name,
                                 LLVMTypeRef *overloads, unsigned overload_count,
                                 LLVMValueRef *arguments, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef callee = LLVMGetIntrinsicDeclaration(module->llvm, id, overloads, overload_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(module->context, id, overloads, overload_count);
    return LLVMBuildCall2(builder, type, callee, arguments, count, "");
}

bd_error *bd_module_finish(bd_module *own_module, uint8_t **out_bytes, size_t *out_size)
{
    bd_compiler *compiler = ((struct owned_module *)own_module)->compiler;
    bd_constants_finish(own_module->constants);
    bd_error *err = NULL;
    char *message = NULL;
    LLVMMemoryBufferRef object = NULL;
    if (LLVMVerifyModule(own_module->llvm, LLVMReturnStatusAction, &message))
        err = BD_ERROR(DEVICE, "generated code is malformed: %.300s", message);
    LLVMDisposeMessage(message);
    message = NULL;
    if (!err && LLVMTargetMachineEmitToMemoryBuffer(compiler->machine, own_module->llvm,
                                                    LLVMObjectFile, &message, &object)) {
        err = BD_ERROR(DEVICE, "LLVM: %.300s", message);
        LLVMDisposeMessage(message);
    }
    if (!err) {
        *out_size = LLVMGetBufferSize(object);
        *out_bytes = bd_alloc(*out_size);
        memcpy(*out_bytes, LLVMGetBufferStart(object), *out_size);
        LLVMDisposeMemoryBuffer(object);
    }
    bd_module_destroy(own_module);
    return err;
}
