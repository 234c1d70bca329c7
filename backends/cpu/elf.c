/* SPDX-License-Identifier: Apache-2.0
 * Loads the relocatable ELF objects that LLVM makes for us: allocated sections are laid out one
 * after another in the code arena, relocations within the object are applied, function symbols
 * kept. */
#include <elf.h>
#include <string.h>

#include "backends/cpu/code_arena.h"
#include "backends/cpu/jit.h"
#include "proto/base/alloc.h"

enum { SECTIONS_MAX = 64, SYMBOLS_MAX = 256, NAME_MAX_BYTES = 32, IMAGE_BYTES_MAX = 16 << 20 };

struct code_symbol {
    char name[NAME_MAX_BYTES];
    void *address;
};

struct bd_loaded {
    bd_code_block block;
    size_t symbol_count;
    struct code_symbol *symbols;
};

struct image {
    const uint8_t *bytes;
    size_t size;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    size_t section_count;
    size_t places[SECTIONS_MAX]; /* offset in the block; SIZE_MAX: not loaded */
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *strings;
    size_t string_bytes;
};

static bool in_file(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset;
}

static bd_error *read_head(struct image *image)
{
    const Elf64_Ehdr *head = image->head = (const void *)image->bytes;
    if (image->size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_type != ET_REL ||
        head->e_machine != EM_X86_64 || head->e_shentsize != sizeof(Elf64_Shdr))
        BD_FAIL(DEVICE, "not an x86-64 object");
    image->section_count = head->e_shnum;
    if (image->section_count > SECTIONS_MAX || head->e_shoff % 8 != 0 ||
        !in_file(image, head->e_shoff, image->section_count * sizeof(Elf64_Shdr)))
        BD_FAIL(DEVICE, "the object's section table is out of bounds");
    image->sections = (const void *)(image->bytes + head->e_shoff);
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
            !in_file(image, section->sh_offset, section->sh_size))
            BD_FAIL(DEVICE, "section %zu of the object is out of bounds", i);
        if (section->sh_size > IMAGE_BYTES_MAX)
            BD_FAIL(DEVICE, "section %zu of the object is too large", i);
    }
    return NULL;
}

static bd_error *find_symbols(struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_type != SHT_SYMTAB)
            continue;
        if (section->sh_link >= image->section_count || section->sh_offset % 8 != 0)
            BD_FAIL(DEVICE, "the object's symbol table is malformed");
        image->symbols = (const void *)(image->bytes + section->sh_offset);
        image->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        const Elf64_Shdr *strings = &image->sections[section->sh_link];
        image->strings = (const char *)image->bytes + strings->sh_offset;
        image->string_bytes = strings->sh_size;
        if (image->symbol_count <= SYMBOLS_MAX && image->string_bytes > 0 &&
            image->strings[image->string_bytes - 1] == 0)
            return NULL;
    }
    BD_FAIL(DEVICE, "the object has no usable symbol table");
}

static bd_error *lay_out(struct image *image, size_t *out_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        image->places[i] = SIZE_MAX;
        if (!(section->sh_flags & SHF_ALLOC) || section->sh_type == SHT_X86_64_UNWIND ||
            section->sh_size == 0)
            continue;
        size_t align = section->sh_addralign ? section->sh_addralign : 1;
        if (align > 64 || (align & (align - 1)) != 0)
            BD_FAIL(DEVICE, "section %zu of the object asks for alignment %zu", i, align);
        used = (used + align - 1) & ~(align - 1);
        image->places[i] = used;
        used += section->sh_size;
    }
    if (used == 0 || used > IMAGE_BYTES_MAX)
        BD_FAIL(DEVICE, "the object holds %zu bytes of code", used);
    *out_bytes = used;
    return NULL;
}

static bd_error *symbol_place(const struct image *image, const Elf64_Sym *symbol, uint64_t *out)
{
    size_t section = symbol->st_shndx;
    if (section == SHN_UNDEF || section >= image->section_count ||
        image->places[section] == SIZE_MAX || symbol->st_value > image->sections[section].sh_size)
        BD_FAIL(DEVICE, "the object needs symbol \"%.40s\", which it does not define",
                symbol->st_name < image->string_bytes ? image->strings + symbol->st_name : "?");
    *out = image->places[section] + symbol->st_value;
    return NULL;
}

static bd_error *relocate_one(const struct image *image, const bd_code_block *block, size_t section,
                              const Elf64_Rela *rela)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    uint64_t number = ELF64_R_SYM(rela->r_info), target = 0;
    size_t width = type == R_X86_64_64 ? 8 : 4;
    if (number >= image->symbol_count || rela->r_offset > image->sections[section].sh_size ||
        image->sections[section].sh_size - rela->r_offset < width)
        BD_FAIL(DEVICE, "a relocation of the object is out of bounds");
    BD_TRY(symbol_place(image, &image->symbols[number], &target));
    uint64_t place = image->places[section] + rela->r_offset;
    if (type == R_X86_64_64) {
        uint64_t value = (uint64_t)(uintptr_t)block->run + target + (uint64_t)rela->r_addend;
        memcpy(block->write + place, &value, sizeof value);
    } else if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) {
        int64_t value = (int64_t)(target - place) + rela->r_addend;
        if (value != (int32_t)value)
            BD_FAIL(DEVICE, "a relocation of the object does not fit");
        int32_t narrow = (int32_t)value;
        memcpy(block->write + place, &narrow, sizeof narrow);
    } else {
        BD_FAIL(DEVICE, "the object has a relocation of type %u", type);
    }
    return NULL;
}

static bd_error *relocate(const struct image *image, const bd_code_block *block)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_type != SHT_RELA || section->sh_info >= image->section_count ||
            image->places[section->sh_info] == SIZE_MAX)
            continue;
        if (section->sh_offset % 8 != 0)
            BD_FAIL(DEVICE, "a relocation table of the object is misaligned");
        const Elf64_Rela *rows = (const void *)(image->bytes + section->sh_offset);
        for (size_t row = 0; row < section->sh_size / sizeof *rows; row++)
            BD_TRY(relocate_one(image, block, section->sh_info, &rows[row]));
    }
    return NULL;
}

static void keep_functions(const struct image *image, bd_loaded *code)
{
    code->symbols = bd_alloc(image->symbol_count * sizeof *code->symbols);
    for (size_t i = 0; i < image->symbol_count; i++) {
        const Elf64_Sym *symbol = &image->symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= image->string_bytes ||
            symbol->st_shndx >= image->section_count ||
            image->places[symbol->st_shndx] == SIZE_MAX ||
            symbol->st_value > image->sections[symbol->st_shndx].sh_size)
            continue;
        struct code_symbol *kept = &code->symbols[code->symbol_count++];
        memset(kept, 0, sizeof *kept);
        strncpy(kept->name, image->strings + symbol->st_name, sizeof kept->name - 1);
        kept->address = code->block.run + image->places[symbol->st_shndx] + symbol->st_value;
    }
}

bd_error *bd_code_load(bd_code_arena *arena, const uint8_t *bytes, size_t size, bd_loaded **out)
{
    struct image image = {.bytes = bytes, .size = size};
    size_t needed = 0;
    BD_TRY(read_head(&image));
    BD_TRY(find_symbols(&image));
    BD_TRY(lay_out(&image, &needed));
    bd_loaded *code = bd_alloc_zeroed(sizeof *code);
    bd_error *err = bd_code_arena_take(arena, needed, &code->block);
    if (err) {
        bd_free(code);
        return err;
    }
    for (size_t i = 0; i < image.section_count; i++) {
        if (image.places[i] == SIZE_MAX)
            continue;
        uint8_t *place = code->block.write + image.places[i];
        if (image.sections[i].sh_type == SHT_NOBITS)
            memset(place, 0, image.sections[i].sh_size);
        else
            memcpy(place, bytes + image.sections[i].sh_offset, image.sections[i].sh_size);
    }
    err = relocate(&image, &code->block);
    if (err) {
        bd_code_free(code);
        return err;
    }
    keep_functions(&image, code);
    *out = code;
    return NULL;
}

void bd_code_free(bd_loaded *code)
{
    if (!code)
        return;
    bd_code_arena_give(&code->block);
    bd_free(code->symbols);
    bd_free(code);
}

void *bd_code_symbol(const bd_loaded *code, const char *name)
{
    for (size_t i = 0; i < code->symbol_count; i++)
        if (strcmp(code->symbols[i].name, name) == 0)
            return code->symbols[i].address;
    return NULL;
}
