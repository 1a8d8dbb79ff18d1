// Operands of Thumb instructions: addresses, divisors, and register values modulo 4.
#ifndef HARNESS_SIMULATOR_NATIVE_OPERANDS_H_
#define HARNESS_SIMULATOR_NATIVE_OPERANDS_H_
#include <stdbool.h>
#include <stdint.h>

enum { NO_REGISTER = 16 };
// The address of a load or store of more than a byte: base + (index << shift) + offset.
typedef struct {
  int base, index, shift;  // index is NO_REGISTER if there is none
  int32_t offset;
  uint32_t mask;  // bits that are 0 in an aligned address
  bool always;    // refused if not aligned, whatever CCR.UNALIGN_TRP is
} Address;

// Returns false if the instruction accesses no memory, or single bytes.
bool operands_address(uint16_t first, uint16_t second, Address *a);
// Returns the divisor's register of SDIV or UDIV, else NO_REGISTER.
int operands_divisor(uint16_t first, uint16_t second);

// Returns the register that MSR writes to BASEPRI or BASEPRI_MAX, else NO_REGISTER.
int operands_base_priority(uint16_t first, uint16_t second);
// Returns the register that MOV sets to a byte without these bits, else NO_REGISTER.
int operands_byte_without(uint16_t first, uint16_t second, uint32_t bits);

// Registers as sums of the registers at an earlier point, modulo 4. Bits 2n+1..2n of a sum are the
// factor of Rn (n < 15), bits 31..30 a constant.
typedef struct {
  uint32_t sums[15];
  uint32_t unknown;  // bit n: Rn is unknown
  uint32_t written;  // bit n: the last instruction may have written Rn
  int conditional;   // number of instructions left in an IT block
} Residues;

void residues_begin(Residues *r);
// Applies the instruction at `pc`. `literal`: the word that it loads from a literal pool, or NULL.
void residues_step(Residues *r, uint16_t first, uint16_t second, const uint32_t *literal);
// Returns the address of a load relative to pc; 0 for any other instruction.
uint32_t operands_literal(uint16_t first, uint16_t second, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_OPERANDS_H_
