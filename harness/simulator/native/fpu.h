// Floating-point contexts: stacked at once, or later (Armv8-M ARM, B3, "Lazy floating-point state
// preservation"; D1.2, FPCCR, FPCAR).
#ifndef HARNESS_SIMULATOR_NATIVE_FPU_H_
#define HARNESS_SIMULATOR_NATIVE_FPU_H_
#include "core.h"

// s0 to s15, which a call need not keep; and the most words of a context in memory: s0 to s15,
// FPSCR, a word that is not used, s16 to s31.
enum { FPU_CALLER_SAVED = 16, FPU_WORDS = 34 };

// The registers of a context: all 32 of a secure one with FPCCR.TS, else those that a call need not
// keep.
int fpu_registers(const Core *c, bool nonsecure);
// The bytes that a context takes in memory.
uint32_t fpu_context_size(const Core *c, bool nonsecure);
// The first `count` registers and FPSCR become zero.
void fpu_clear(Core *c, int count);
// The words of the context, from the lowest address on. With FPCCR.TS its registers become zero.
void fpu_fill(Core *c, uint32_t *words, bool nonsecure);
// The context of the running state belongs at `address`, and is stored before the next
// floating-point instruction. Called before the state or the priority changes.
void fpu_defer(Core *c, uint32_t address);
// Store a context that was deferred, before the floating-point instruction at `pc`. The fault if
// this is refused is pending then; if it goes first, the context is still deferred.
void fpu_preserve(Core *c, uint32_t pc);
// Store and clear the context of the running state at `address`; false if an access is refused, and
// why.
bool fpu_store(Core *c, uint32_t address, bool privileged, Failure *why);
// Load it; one that is still deferred is in its registers already.
bool fpu_restore(Core *c, uint32_t address, bool privileged, Failure *why);
#endif  // HARNESS_SIMULATOR_NATIVE_FPU_H_
