// What both images know: registers, and the gateways of the secure one.
#ifndef WORLDS_H_
#define WORLDS_H_
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))

// Armv8-M Architecture Reference Manual, D1.2. Each world has a SysTick, a SHPR3 and a VTOR.
#define SYST_CSR REG(0xE000E010)
#define SYST_RVR REG(0xE000E014)
#define SYST_CVR REG(0xE000E018)
#define NVIC_ISER0 REG(0xE000E100)
#define NVIC_ISPR0 REG(0xE000E200)
#define NVIC_ITNS0 REG(0xE000E380)
#define ICSR REG(0xE000ED04)
#define SHPR3 REG(0xE000ED20)
#define TICK_CYCLES 64000u  // 1 ms at 64 MHz

// nRF9160 Product Specification v2.1, "Instantiation".
#define RTC0_IRQ 20
#define EGU0_IRQ 27

// Sends text on the console; -1 if it does not lie in non-secure memory.
int Say(const char *text, uint32_t size);
// Has the secure world pend an interrupt of its own.
void Ring(void);
// Interrupts that the secure world took: SysTick's in the upper half, EGU0's in the lower.
uint32_t Taken(void);

#endif  // WORLDS_H_
