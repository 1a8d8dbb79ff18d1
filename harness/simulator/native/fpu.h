// Floating-point contexts, and their lazy stacking (Armv8-M ARM, B3, "Lazy floating-point state
// preservation"; D1.2, FPCCR, FPCAR).
#ifndef HARNESS_SIMULATOR_NATIVE_FPU_H_
#define HARNESS_SIMULATOR_NATIVE_FPU_H_
#include "core.h"

// Number of caller-saved registers, s0 to s15; and the most words of a context in memory: s0 to
// s15, FPSCR, an unused word, s16 to s31.
enum { FPU_CALLER_SAVED = 16, FPU_WORDS = 34 };

// Returns the number of registers in a context: 32 in a secure one with FPCCR.TS, else the
// caller-saved ones.
int fpu_registers(const Core *c, bool nonsecure);
// Returns the bytes of a context in memory.
uint32_t fpu_context_size(const Core *c, bool nonsecure);
// Clears the first `count` registers and FPSCR.
void fpu_clear(Core *c, int count);
// Fills the words of the context, from the lowest address on. With FPCCR.TS registers are cleared.
void fpu_fill(Core *c, uint32_t *words, bool nonsecure);
// Defers storing the context of the current state at `address` until the next floating-point
// instruction. To be called before the state or the priority changes.
void fpu_defer(Core *c, uint32_t address);
// Stores a deferred context before the floating-point instruction at `pc`. If that is refused, the
// fault is pending; if it must be taken first, the context stays deferred.
void fpu_preserve(Core *c, uint32_t pc);
// Stores the context of the current state at `address` and clears it; false, with `why`, if an
// access is refused.
bool fpu_store(Core *c, uint32_t address, bool privileged, Failure *why);
// Loads the context; a deferred one is still in its registers.
bool fpu_restore(Core *c, uint32_t address, bool privileged, Failure *why);
#endif  // HARNESS_SIMULATOR_NATIVE_FPU_H_
