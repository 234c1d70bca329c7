/* SPDX-License-Identifier: Apache-2.0
 * libnvrtc-builtins.so.13.0, which the compiler wants to find opened: where it is kept, the loader
 * may not look. */
int emulated_builtins = 13;
