/* SPDX-License-Identifier: Apache-2.0
 * A report of the daemon for people: an array of objects as a table, an object as lines
 * "key value", with the keys of inner objects joined by dots. */
#pragma once

#include <jansson.h>
#include <stdio.h>

void ctl_print_table(json_t *report, FILE *file);
