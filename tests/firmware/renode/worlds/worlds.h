// What the secure frame and the non-secure images of this folder share.
#ifndef TESTS_FIRMWARE_RENODE_WORLDS_WORLDS_H_
#define TESTS_FIRMWARE_RENODE_WORLDS_WORLDS_H_
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define CCR REG(0xE000ED14)
#define DIV_0_TRP (1u << 4)
#define IRQ_SECURE 27     // EGU0; enabled
#define IRQ_NONSECURE 28  // EGU1

// Gateways: prints NAME=VALUE; a register as the secure world reads it; how often IRQ_SECURE was
// taken; the end.
void PrintWord(const char *name, uint32_t value);
uint32_t SecureRegister(uint32_t address);
uint32_t SecureTaken(void);
void Done(void);
#endif  // TESTS_FIRMWARE_RENODE_WORLDS_WORLDS_H_
