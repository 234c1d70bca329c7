/* SPDX-License-Identifier: Apache-2.0
 * Bytes and texts: what client/core and proto call of <string.h> and <stdio.h>. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

void *memcpy(void *restrict to, const void *restrict from, size_t size_bytes)
{
    return __builtin_memcpy(to, from, size_bytes); /* one instruction, memory.copy */
}

void *memmove(void *to, const void *from, size_t size_bytes)
{
    return __builtin_memmove(to, from, size_bytes);
}

void *memset(void *to, int byte, size_t size_bytes)
{
    return __builtin_memset(to, byte, size_bytes);
}

int memcmp(const void *a, const void *b, size_t size_bytes)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size_bytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

void *memchr(const void *bytes, int byte, size_t size_bytes)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size_bytes; i++)
        if (at[i] == (unsigned char)byte)
            return (void *)(uintptr_t)(at + i);
    return NULL;
}

size_t strlen(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

/* ---- formats --------------------------------------------------------------------------------- */

typedef struct writer {
    char *text;
    size_t capacity, used;
} writer;

static void put(writer *out, char c)
{
    if (out->used + 1 < out->capacity)
        out->text[out->used] = c;
    out->used++;
}

static void put_text(writer *out, const char *text, size_t most, size_t width)
{
    size_t size = 0;
    while (size < most && text[size])
        size++;
    for (size_t i = size; i < width; i++)
        put(out, ' ');
    for (size_t i = 0; i < size; i++)
        put(out, text[i]);
}

static void put_number(writer *out, uint64_t value, bool minus, unsigned base, size_t width,
                       char fill)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = "0123456789abcdef"[value % base];
    while ((value /= base) > 0);
    while (fill == '0' && sizeof digits - 1 - at < width && at > 1)
        digits[--at] = '0';
    if (minus)
        digits[--at] = '-';
    put_text(out, digits + at, sizeof digits, width);
}

static int64_t next_signed(va_list *arguments, int length)
{
    return length > 1 ? va_arg(*arguments, long long) : va_arg(*arguments, int);
}

static uint64_t next_unsigned(va_list *arguments, int length)
{
    return length > 1 ? va_arg(*arguments, unsigned long long) : va_arg(*arguments, unsigned);
}

static size_t take_width(const char **format, va_list *arguments)
{
    size_t width = 0;
    if (**format == '*') {
        ++*format;
        return (size_t)va_arg(*arguments, int);
    }
    for (; **format >= '0' && **format <= '9'; ++*format)
        width = width * 10 + (size_t)(**format - '0');
    return width;
}

/* The part after a percent sign; long and size_t are as long as int. */
static void put_part(writer *out, const char **format, va_list *arguments)
{
    char fill = **format == '0' ? '0' : ' ';
    size_t width = take_width(format, arguments), most = SIZE_MAX;
    int length = 0;
    if (**format == '.') {
        ++*format;
        most = take_width(format, arguments);
    }
    for (; **format == 'l' || **format == 'z'; ++*format)
        length += **format == 'l';
    switch (*(*format)++) {
    case 's':
        put_text(out, va_arg(*arguments, const char *), most, width);
        break;
    case 'c':
        put(out, (char)va_arg(*arguments, int));
        break;
    case 'd': {
        int64_t value = next_signed(arguments, length);
        put_number(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10, width,
                   fill);
        break;
    }
    case 'u':
        put_number(out, next_unsigned(arguments, length), false, 10, width, fill);
        break;
    case 'x':
        put_number(out, next_unsigned(arguments, length), false, 16, width, fill);
        break;
    default:
        put(out, '%');
        break;
    }
}

int vsnprintf(char *text, size_t capacity, const char *format, va_list arguments)
{
    writer out = {.text = text, .capacity = capacity};
    va_list rest;
    va_copy(rest, arguments);
    while (*format) {
        if (*format != '%')
            put(&out, *format++);
        else
            format++, put_part(&out, &format, &rest);
    }
    va_end(rest);
    if (capacity > 0)
        text[out.used < capacity ? out.used : capacity - 1] = '\0';
    return (int)out.used;
}

int snprintf(char *text, size_t capacity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, capacity, format, arguments);
    va_end(arguments);
    return size;
}
