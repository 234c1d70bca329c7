/* SPDX-License-Identifier: Apache-2.0 */
#include "client/ctl/table.h"

#include <string.h>

#include "proto/base/utf8.h"

enum { CELL_MAX = 512, COLUMNS_MAX = 32, KEY_MAX = 160 };

/* Columns on a terminal: a continuation byte of UTF-8 takes none. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

/* "[2, 3]"; "…" for what is too long. */
static void inner_text(const json_t *value, char cell[CELL_MAX])
{
    size_t size = json_dumpb(value, cell, CELL_MAX - 1, JSON_PRESERVE_ORDER);
    if (size > 0 && size < CELL_MAX)
        cell[size] = '\0';
    else
        snprintf(cell, CELL_MAX, "…");
}

static void cell_text(const json_t *value, char cell[CELL_MAX])
{
    if (json_is_string(value))
        snprintf(cell, CELL_MAX, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(cell, CELL_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(cell, CELL_MAX, "%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(cell, CELL_MAX, "%s", json_is_true(value) ? "yes" : "no");
    else if (value && !json_is_null(value))
        inner_text(value, cell);
    else
        cell[0] = '\0';
    bd_utf8_show(cell);
}

static void print_cell(FILE *file, const char *text, int width, int right)
{
    int padding = width - width_of(text);
    fprintf(file, "%*s%s%*s", right && padding > 0 ? padding : 0, "", text,
            !right && padding > 0 ? padding : 0, "");
}

/* All keys of all rows; one that the rows before lack comes behind its neighbour. */
static int find_columns(const json_t *rows, const char *columns[COLUMNS_MAX])
{
    int count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *key;
        json_t *value;
        int next = 0;
        json_object_foreach(json_array_get(rows, i), key, value) {
            int at = 0;
            while (at < count && strcmp(columns[at], key) != 0)
                at++;
            if (at == count && count < COLUMNS_MAX) {
                at = next;
                memmove(&columns[at + 1], &columns[at], (size_t)(count++ - at) * sizeof *columns);
                columns[at] = key;
            }
            next = at < count ? at + 1 : count;
        }
    }
    return count;
}

static void print_rows(const json_t *rows, FILE *file)
{
    const char *columns[COLUMNS_MAX];
    int widths[COLUMNS_MAX], numbers[COLUMNS_MAX], count = find_columns(rows, columns);
    char cell[CELL_MAX];
    for (int j = 0; j < count; j++) {
        widths[j] = width_of(columns[j]);
        numbers[j] = 1;
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *value = json_object_get(json_array_get(rows, i), columns[j]);
            cell_text(value, cell);
            widths[j] = width_of(cell) > widths[j] ? width_of(cell) : widths[j];
            numbers[j] = numbers[j] && (!value || json_is_number(value));
        }
    }
    for (int j = 0; j < count; j++) {
        print_cell(file, columns[j], j + 1 < count || numbers[j] ? widths[j] : 0, numbers[j]);
        fputs(j + 1 < count ? "  " : "\n", file);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        for (int j = 0; j < count; j++) {
            cell_text(json_object_get(json_array_get(rows, i), columns[j]), cell);
            print_cell(file, cell, j + 1 < count || numbers[j] ? widths[j] : 0, numbers[j]);
            fputs(j + 1 < count ? "  " : "\n", file);
        }
    }
}

/* Two passes: the first finds the widest key, the second prints. Inner objects are one level
 * deep. */
static int print_lines(json_t *object, const char *prefix, int width, FILE *file)
{
    const char *key;
    json_t *value;
    int widest = 0;
    json_object_foreach(object, key, value) {
        char name[KEY_MAX], cell[CELL_MAX];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value) && !*prefix) {
            int inner = print_lines(value, name, width, file);
            widest = inner > widest ? inner : widest;
            continue;
        }
        widest = width_of(name) > widest ? width_of(name) : widest;
        cell_text(value, cell);
        if (file) {
            print_cell(file, name, width, 0);
            fprintf(file, "  %s\n", cell);
        }
    }
    return widest;
}

void ctl_print_table(json_t *report, FILE *file)
{
    if (json_is_array(report))
        print_rows(report, file);
    else
        print_lines(report, "", print_lines(report, "", 0, NULL), file);
}
