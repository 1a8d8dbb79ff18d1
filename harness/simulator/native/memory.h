// The address space: memory and device windows, backed by host memory.
#ifndef HARNESS_SIMULATOR_NATIVE_MEMORY_H_
#define HARNESS_SIMULATOR_NATIVE_MEMORY_H_
#include <stdbool.h>
#include <stdint.h>

// The block that starts at a halfword, and the number of instructions that have run in it.
typedef struct {
  uint32_t key;  // size << 16 | generation; 0 for a block that must be checked each time
  uint16_t count;
  uint16_t special : 13;     // index of the first instruction that Unicorn must not run
  uint16_t conditional : 1;  // it has instructions in an IT block
  uint16_t looks : 2;        // LOOK_OPERANDS, LOOK_FLOATING
  uint64_t executed;
} Slot;

// An area of the address space, backed by host memory.
typedef struct {
  uint32_t base;
  uint32_t size;
  uint8_t *host;
  Slot *slots;       // one per halfword, code areas only
  uint8_t *covered;  // one bit per halfword, code areas only
  uint8_t *hooked;   // one bit per halfword, code areas only: alignment.c has a hook there
  uint16_t *checks;  // one per halfword, code areas only: index of a block's first check
  bool stable;       // code changes only through core_invalidate()
  int regions;       // of the SPU, code areas only
  uint32_t rights;   // Unicorn's page rights while nothing restricts them
} Area;

// Checks when a block is entered: of registers (alignment.c), and of a floating-point context that
// is not stacked yet (fpu.c).
enum { LOOK_OPERANDS = 1, LOOK_FLOATING = 2 };

enum { MAX_AREAS = 4 };
typedef struct {
  Area code[MAX_AREAS];  // executable memory: flash first, data RAM last
  int code_count;
  Area information[MAX_AREAS];  // memory without code and variables
  int information_count;
  Area windows[MAX_AREAS];  // device windows; their memory contains the values of reads
  int window_count;
  uint8_t *shadow;   // copy of the writable areas while a block is undone
  bool ram_runs;     // code has run in writable memory
  bool watches_ram;  // accesses to writable memory may be refused
} Memory;

// Returns data RAM.
static inline const Area *memory_ram(const Memory *m) { return &m->code[m->code_count - 1]; }
// Returns the code area, or the device window, that contains an address; NULL if there is none.
Area *memory_code(Memory *m, uint32_t address);
Area *memory_window(Memory *m, uint32_t address);
// Returns the memory (not a device window) that contains all of [address, address + size).
const Area *memory_holding(const Memory *m, uint32_t address, uint32_t size);
// Returns 0 if the area ends before it.
uint16_t memory_halfword(const Area *area, uint32_t address);
#endif  // HARNESS_SIMULATOR_NATIVE_MEMORY_H_
