/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The board of a communicator: shared memory in which the ranks of one machine write which call they
 * have come to, since NCCL does not tell who is missing. It needs nothing of CUDA. */
#ifndef NDOCK_CUDA_BOARD_H
#define NDOCK_CUDA_BOARD_H
#include <stddef.h>
#include <stdint.h>

enum { CUDA_CALL_TEXT = 96, CUDA_BOARD_TEXT = 400 };
typedef struct cuda_board cuda_board;
/* Opens the board that belongs to the communicator's name and enters the rank. NULL: there is none,
 * because the memory is not to be had or is somebody else's; every function here takes NULL and then
 * knows of nobody. */
cuda_board *cuda_board_open(const void *id, size_t id_bytes, int32_t rank, int32_t n);
/* All ranks of the machine have it open, or none will want it: its name goes. */
void cuda_board_unname(cuda_board *b);
/* The rank leaves the communicator; the others may still look at what it wrote. */
void cuda_board_leave(cuda_board *b);
void cuda_board_close(cuda_board *b);
/* Which ranks did not enter on this machine, as "ranks 1, 3"; "" where all have. */
const char *cuda_board_absent(const cuda_board *b, char *text, size_t n);
/* The rank is about to make its collective `number`, from 1 on. */
void cuda_board_note(cuda_board *b, uint64_t number, const char *text);
/* Whether collective `number` of this rank can never end, and why: a rank has left or died before it
 * came to that, or came to it with another call. */
int cuda_board_hopeless(const cuda_board *b, uint64_t number, const char *text, char *why,
                        size_t n);
/* Whom collective `number` still waits for after so many milliseconds; 0: all that are on the board
 * have come. */
int cuda_board_late(const cuda_board *b, uint64_t number, const char *text, long long ms, char *why,
                    size_t n);
/* "has left" or "has died" of a rank; NULL: neither is known. */
const char *cuda_board_gone(const cuda_board *b, int32_t rank);
/* The communicator has failed; the first reason stays. */
void cuda_board_fail(cuda_board *b, const char *why);
/* Whether it has failed, and the reason. */
int cuda_board_failed(const cuda_board *b, char *why, size_t n);
#endif
