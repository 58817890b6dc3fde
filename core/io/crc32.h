/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The checksum of zip archives and gzip: CRC-32 of ISO 3309, as RFC 1952 gives it. */
#ifndef NDOCK_CORE_IO_CRC32_H
#define NDOCK_CORE_IO_CRC32_H
#include <stddef.h>
#include <stdint.h>

/* The checksum of the bytes whose checksum was crc (0: none yet) followed by these n. Any thread.
 * */
uint32_t nd__crc32(uint32_t crc, const void *data, size_t n);
#endif
