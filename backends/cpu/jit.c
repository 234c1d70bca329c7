/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/jit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

static bool host_has_avx512(const char *features)
{
    return has_feature(features, "avx512f") && has_feature(features, "avx512bw") &&
           has_feature(features, "avx512dq") && has_feature(features, "avx512vl") &&
           has_feature(features, "fma") && has_feature(features, "f16c");
}

static bool host_has_avx2(const char *features)
{
    return has_feature(features, "avx2") && has_feature(features, "fma") &&
           has_feature(features, "f16c") && has_feature(features, "bmi2");
}

static void set_target(bd_target *target, const char *name, const char *cpu, const char *features)
{
    memset(target, 0, sizeof *target);
    strncpy(target->name, name, sizeof target->name - 1);
    strncpy(target->cpu, cpu, sizeof target->cpu - 1);
    strncpy(target->features, features, sizeof target->features - 1);
    target->masked = strcmp(name, "avx512") == 0;
    target->fma = target->f16c = target->sse41 = strcmp(name, "generic") != 0;
    target->vector_bytes = target->masked ? 64 : target->fma ? 32 : 16;
}

bd_error *bd_target_init(bd_target *target, const char *name)
{
    need_llvm();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    bd_error *err = NULL;
    bool avx512 = host_has_avx512(features), avx2 = host_has_avx2(features);
    if (!name || !*name)
        name = avx512 ? "avx512" : avx2 ? "avx2" : "generic";
    if (strlen(features) >= sizeof target->features)
        err = BD_ERROR(INTERNAL, "the host's feature string has %zu bytes", strlen(features));
    else if (strcmp(name, "avx512") == 0 && avx512)
        set_target(target, name, cpu, features);
    else if (strcmp(name, "avx2") == 0 && avx2)
        set_target(target, name, "x86-64-v3", "");
    else if (strcmp(name, "generic") == 0)
        set_target(target, name, "x86-64", "");
    else if (strcmp(name, "avx512") == 0 || strcmp(name, "avx2") == 0)
        err = BD_ERROR(UNSUPPORTED, "this processor (%s) has no %s", cpu, name);
    else
        err = BD_ERROR(INVALID, "cpu target \"%.32s\" is none of generic, avx2, avx512", name);
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
