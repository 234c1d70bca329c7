/* SPDX-License-Identifier: Apache-2.0
 * UTF-8 (RFC 3629): what is text, where it may be cut, and what may be shown. Thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Zero bytes are characters here. */
bool bd_utf8_valid(const char *text, size_t size_bytes);
/* The bytes of the whole characters at the beginning of a text that may have been cut anywhere. */
size_t bd_utf8_whole(const char *text, size_t size_bytes);
/* Drops in place what is no character: the pieces of those that a buffer or a "%.64s" cut. */
void bd_utf8_mend(char *text);
/* Mends, then puts a '?' for each character that would move a terminal's cursor, end a line or
 * turn the order of what follows: text of a client within a line that people read. */
void bd_utf8_show(char *text);

/* A value of a line of the log, `"` and `\` escaped, within quotes; cut if it is very long. Lasts
 * as long as the block that says it. */
#define BD_QUOTED(text) bd_quoted((char[BD_QUOTED_BYTES]){0}, text)
enum { BD_QUOTED_BYTES = 640 };
const char *bd_quoted(char room[BD_QUOTED_BYTES], const char *text);
