/* SPDX-License-Identifier: Apache-2.0
 * Compiles for CUDA, without a GPU, every kernel that a cache folder of the cpu device holds: each
 * file has its program's kernel IR in it.
 *   compile_cached FOLDER ARCHITECTURE...     e.g. compile_cached FOLDER 80 90 100
 * Needs NVRTC. Prints what NVRTC refuses; exit status 1 then. */
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/compile.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"

/* As backends/object_cache.c writes it. */
struct header {
    char magic[8];
    uint64_t build_bytes, key_bytes, object_bytes, digest[2];
};

static bd_kir *read_program(const char *path, bd_arena *arena)
{
    FILE *file = fopen(path, "rb");
    struct header header;
    bd_kir *program = NULL;
    if (!file || fread(&header, sizeof header, 1, file) != 1)
        exit(2);
    uint8_t *key = bd_alloc(header.key_bytes);
    fseek(file, (long)header.build_bytes, SEEK_CUR);
    bool read = fread(key, 1, header.key_bytes, file) == header.key_bytes;
    fclose(file);
    /* Keys of micro-kernels are text, no programs. */
    bd_error *err = read ? bd_kir_deserialize(key, header.key_bytes, arena, &program) : NULL;
    bd_error_free(err);
    bd_free(key);
    return program;
}

static bool try_one(const bd_kir *program, int module, const char *name, int architecture)
{
    char *cubin = NULL;
    size_t size = 0;
    bd_error *err = bd_cuda_compile(program, module, architecture, &cubin, &size);
    bd_free(cubin);
    if (!err)
        return true;
    char *text = bd_kir_print(program);
    printf("%s, module %d, for sm_%d: %s\n%s\n", name, module, architecture,
           bd_error_text(err), text);
    bd_free(text);
    bd_error_free(err);
    return false;
}

int main(int count, char **arguments)
{
    char pattern[4096];
    glob_t found;
    int done = 0, refused = 0;
    if (count > 2)
        snprintf(pattern, sizeof pattern, "%s/*/*.obj", arguments[1]);
    if (count < 3 || glob(pattern, 0, NULL, &found) != 0) {
        fprintf(stderr, "usage: compile_cached FOLDER ARCHITECTURE...\n");
        return 2;
    }
    int64_t begin = bd_now_us();
    for (size_t k = 0; k < found.gl_pathc; k++) {
        bd_arena arena;
        bd_arena_init(&arena);
        const bd_kir *program = read_program(found.gl_pathv[k], &arena);
        for (int i = 2; program && i < count; i++)
            for (int m = 0; m < bd_cuda_modules(program, atoi(arguments[i])); m++, done++)
                refused += !try_one(program, m, found.gl_pathv[k], atoi(arguments[i]));
        bd_arena_deinit(&arena);
    }
    globfree(&found);
    printf("%d modules compiled, %d refused, %.1f ms each\n", done, refused,
           done ? (double)(bd_now_us() - begin) / 1e3 / done : 0.0);
    return refused || !done;
}
