// Registers of the System Control Block that the exception model needs (Armv8-M ARM, D1.2).
// scb.py declares all of its registers.
#ifndef HARNESS_SIMULATOR_NATIVE_SCB_H_
#define HARNESS_SIMULATOR_NATIVE_SCB_H_
#include <stdbool.h>
#include <stdint.h>

// SHCSR: enable bits of the configurable faults.
enum {
  MEMFAULTENA = 1 << 16,
  BUSFAULTENA = 1 << 17,
  USGFAULTENA = 1 << 18,
  SECUREFAULTENA = 1 << 19
};
// CFSR: MemManage in bits 7..0, BusFault in 15..8, UsageFault in 31..16.
enum { IACCVIOL = 1 << 0, DACCVIOL = 1 << 1, MUNSTKERR = 1 << 3, MSTKERR = 1 << 4 };
enum { MLSPERR = 1 << 5, BLSPERR = 1 << 13 };
enum { MMARVALID = 1 << 7, IBUSERR = 1 << 8, PRECISERR = 1 << 9, UNSTKERR = 1 << 11 };
enum { STKERR = 1 << 12, BFARVALID = 1 << 15, UNDEFINSTR = 1 << 16, INVSTATE = 1 << 17 };
enum { INVPC = 1 << 18, NOCP = 1 << 19, STKOF = 1 << 20, UNALIGNED = 1 << 24 };
enum { DIVBYZERO = 1 << 25 };
enum { BFSR = 0xFF00 };
// SFSR.
enum { INVEP = 1 << 0, INVIS = 1 << 1, INVER = 1 << 2, AUVIOL = 1 << 3, INVTRAN = 1 << 4 };
enum { LSPERR = 1 << 5, SFARVALID = 1 << 6, LSERR = 1 << 7 };
#define HFSR_VECTTBL 0x00000002u
#define HFSR_FORCED 0x40000000u
#define HFSR_DEBUGEVT 0x80000000u
#define CCR_RESET 0x00000201u  // STKALIGN and bit 0, which v8-M fixes at one
// FPCCR. Shared bits, kept in the secure bank: LSPEN, CLRONRET, TS, SFRDY, BFRDY, HFRDY and S. All
// others exist once per state.
#define FPCCR_ASPEN 0x80000000u
enum { FPCCR_LSPEN = 1 << 30, FPCCR_CLRONRET = 1 << 28, FPCCR_TS = 1 << 26 };
enum {
  FPCCR_UFRDY = 1 << 10,
  FPCCR_SPLIMVIOL = 1 << 9,
  FPCCR_SFRDY = 1 << 7,
  FPCCR_BFRDY = 1 << 6
};
enum { FPCCR_MMRDY = 1 << 5, FPCCR_HFRDY = 1 << 4, FPCCR_THREAD = 1 << 3, FPCCR_S = 1 << 2 };
enum { FPCCR_USER = 1 << 1, FPCCR_LSPACT = 1 << 0 };

// Registers of one security state.
typedef struct {
  uint32_t vtor, ccr, cpacr, fpccr, fpcar, fpdscr;
  uint32_t enables;      // SHCSR: of MemManage and UsageFault
  uint32_t cfsr, mmfar;  // CFSR without BFSR
} ScbBank;

// Shared registers.
typedef struct {
  uint32_t enables;     // SHCSR: of BusFault and SecureFault
  uint32_t bfsr, bfar;  // BFSR at its place in CFSR
  uint32_t hfsr, sfsr, sfar;
  uint32_t nsacr, sau_ctrl;
  bool reset_secure_only;  // AIRCR.SYSRESETREQS
} ScbShared;

static inline void scb_reset_bank(ScbBank *bank) {
  *bank = (ScbBank){.ccr = CCR_RESET, .fpccr = FPCCR_ASPEN};
}
#endif  // HARNESS_SIMULATOR_NATIVE_SCB_H_
