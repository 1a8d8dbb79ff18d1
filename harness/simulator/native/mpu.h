// The memory protection unit: its registers and access checks (Armv8-M ARM, B9 and D1.2, MPU_*).
#ifndef HARNESS_SIMULATOR_NATIVE_MPU_H_
#define HARNESS_SIMULATOR_NATIVE_MPU_H_
#include <stdbool.h>
#include <stdint.h>

enum { MPU_REGIONS = 16 };
enum { MPU_ENABLE = 1, MPU_HFNMIENA = 2, MPU_PRIVDEFENA = 4 };  // MPU_CTRL
// Results of mpu_region_at() if not exactly one region contains an address.
enum { MPU_NO_REGION = -1, MPU_SEVERAL_REGIONS = -2 };

// MPU_CTRL, and RBAR and RLAR of each region.
typedef struct {
  uint32_t ctrl, bases[MPU_REGIONS], limits[MPU_REGIONS];
  uint32_t fillers;  // the regions of mpu_fill(), one bit each
} Regions;

static inline uint32_t mpu_first(const Regions *r, int i) { return r->bases[i] & ~31u; }
static inline uint32_t mpu_last(const Regions *r, int i) { return r->limits[i] | 31; }
// Returns the region that contains an address, or MPU_NO_REGION or MPU_SEVERAL_REGIONS.
int mpu_region_at(const Regions *r, uint32_t address);
// Whether data at this address may be accessed while the MPU is on.
bool mpu_allows(const Regions *r, uint32_t address, bool write, bool privileged);

// The registers of one security state.
typedef struct Mpu {
  struct {
    Regions regions;
    uint32_t number, attributes[2];  // RNR, MAIR0 and MAIR1
  } state;                           // everything that a snapshot keeps
  int count;                         // of regions
  bool nonsecure;
  // Called after each change with an effect, if there is an owner; `at_once`: with the instruction.
  void (*changed)(struct Mpu *m, bool at_once);
  void *owner;
} Mpu;

// Whether the memory at an address, or of a region, is Device memory by MAIR0, MAIR1 and
// RLAR.AttrIndx.
bool mpu_is_device(const Mpu *m, uint32_t address);
bool mpu_makes_device(const Mpu *m, int region);

// Registers by their offset from 0xE000_ED00.
enum { MPU_FIRST = 0x90, MPU_REGION_FIRST = 0x98, MPU_END = 0xC8 };
uint32_t mpu_read(const Mpu *m, uint32_t offset);
void mpu_write(Mpu *m, uint32_t offset, uint32_t value);
#endif  // HARNESS_SIMULATOR_NATIVE_MPU_H_
