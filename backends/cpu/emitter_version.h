/* SPDX-License-Identifier: Apache-2.0
 * Names what the emitter makes of a program. A part of every cache key: it grows with any change of
 * generated code, of bd_call or of how kernels find their functions. The source hash that the build
 * adds covers the changes that nobody counted. */
#pragma once

#ifndef BD_EMITTER_SOURCES
#define BD_EMITTER_SOURCES "unhashed"
#endif
#define BD_EMITTER_VERSION "burn cpu emitter 1 " BD_EMITTER_SOURCES
