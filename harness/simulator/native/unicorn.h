// The part of Unicorn's public C interface that the core uses. Nothing is linked against Unicorn:
// the addresses of its functions are passed in.
#ifndef HARNESS_SIMULATOR_NATIVE_UNICORN_H_
#define HARNESS_SIMULATOR_NATIVE_UNICORN_H_
#include <stddef.h>
#include <stdint.h>

// Register ids.
enum { REG_APSR_NZCV = 2, REG_FPSCR = 6, REG_LR = 10, REG_PC = 11, REG_SP = 12 };
enum { REG_R0 = 66, REG_R12 = 78, REG_S0 = 79, REG_PSP = 116, REG_CONTROL = 117 };
enum { REG_XPSR = 120, REG_EPSR = 121, REG_PRIMASK = 123, REG_BASEPRI = 124, REG_FAULTMASK = 126 };
enum { REG_XPSR_NZCVQG = 138 };
// Hooks, accesses, controls, errors.
enum { HOOK_INTR = 1, HOOK_CODE = 4, HOOK_BLOCK = 8, HOOK_MEM_INVALID = 1008 };
enum { MEM_WRITE_UNMAPPED = 20, MEM_FETCH_UNMAPPED = 21, MEM_WRITE_PROT = 22, MEM_FETCH_PROT = 24 };
enum { CTL_REMOVE_CACHE = 9 | (2 << 26) | (1 << 30) };
enum { CTL_FLUSH_TB = 10 | (1 << 30), CTL_FLUSH_TLB = 11 | (1 << 30) };
enum { PAGE_READ = 1, PAGE_WRITE = 2, PAGE_EXECUTE = 4 };
enum { ERROR_EXCEPTION = 21 };  // an exception that Unicorn does not handle
// Exception numbers: SVC, a refused fetch, a refused access, BKPT, a branch to EXC_RETURN.
enum {
  RAISED_SVC = 2,
  RAISED_FETCH = 3,
  RAISED_DATA = 4,
  RAISED_BREAKPOINT = 7,
  RAISED_RETURN = 8,
};
#define PAGE 1024          // the smallest page
#define NEVER 0xFFFFFFF0u  // an address at which no code ends

typedef struct {
  int (*start)(void *uc, uint64_t begin, uint64_t until, uint64_t timeout, size_t count);
  int (*stop)(void *uc);
  int (*reg_read)(void *uc, int id, void *value);
  int (*reg_write)(void *uc, int id, const void *value);
  int (*hook_add)(void *uc, size_t *hook, int type, void *callback, void *user, uint64_t begin,
                  uint64_t end, ...);
  int (*ctl)(void *uc, int control, ...);
  size_t (*context_size)(void *uc);
  int (*context_alloc)(void *uc, void **context);
  int (*context_save)(void *uc, void *context);
  int (*context_restore)(void *uc, void *context);
  int (*context_free)(void *context);
  int (*mem_protect)(void *uc, uint64_t address, size_t size, uint32_t rights);
} UnicornApi;
#define UNICORN_FUNCTIONS 12
#endif  // HARNESS_SIMULATOR_NATIVE_UNICORN_H_
