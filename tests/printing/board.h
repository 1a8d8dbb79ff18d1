// What the images that print share: a console for printf, time, and how an image is spoilt.
#ifndef TESTS_PRINTING_BOARD_H_
#define TESTS_PRINTING_BOARD_H_
#include <stdint.h>
#include <stdio.h>

// An image is compiled once with each of these.
#define RIGHT 0
#define SWAPPED 1  // two scores of one result have changed places
#define CHANGED 2  // one score has another value
#define MISSING 3  // one score is not printed
#ifndef SPOILT
#define SPOILT RIGHT
#endif

// The bytes of FILE, a model of zephyr_samples/models, as the array NAME (and NAME_end).
#define MODEL(NAME, FILE)                                                                 \
  __asm__(".section .rodata." #NAME ",\"a\"\n.balign 16\n.global " #NAME "\n.type " #NAME \
          ", %object\n" #NAME ":\n.incbin \"" FILE "\"\n.global " #NAME "_end\n" #NAME    \
          "_end:\n.size " #NAME ", . - " #NAME "\n.previous\n");                          \
  extern const uint8_t NAME[], NAME##_end[]

uint32_t Milliseconds(void);  // since the start
void Sleep(uint32_t milliseconds);
#endif  // TESTS_PRINTING_BOARD_H_
