// What the two images of the TrustZone tests share: the scenario that the test asks for, registers,
// gateways.
#ifndef TESTS_FIRMWARE_WORLDS_WORLDS_H_
#define TESTS_FIRMWARE_WORLDS_WORLDS_H_
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define BYTE(address) (*(volatile uint8_t *)(address))

// Written by the test before the first instruction: what to do, and with which address or value.
#define SCENARIO REG(0x20003FF0)
#define OPERAND REG(0x20003FF4)

// Interrupts that only software pends (EGU0 to EGU2).
#define IRQ_SECURE 27
#define IRQ_NONSECURE 28
#define IRQ_NONSECURE_LATE 29

#define SYST_CSR REG(0xE000E010)
#define SYST_RVR REG(0xE000E014)
#define SYST_CVR REG(0xE000E018)
#define NVIC_ISER0 REG(0xE000E100)
#define NVIC_ISPR0 REG(0xE000E200)
#define NVIC_ITNS0 REG(0xE000E380)
#define NVIC_IPR(irq) BYTE(0xE000E400 + (irq))
#define SCB_ICSR REG(0xE000ED04)
#define SCB_VTOR REG(0xE000ED08)
#define SCB_AIRCR REG(0xE000ED0C)
#define SCB_SHCSR REG(0xE000ED24)
#define SCB_CFSR REG(0xE000ED28)
#define SCB_HFSR REG(0xE000ED2C)
#define SCB_CPACR REG(0xE000ED88)
#define SCB_NSACR REG(0xE000ED8C)
#define SAU_CTRL REG(0xE000EDD0)
#define SFSR REG(0xE000EDE4)
#define SFAR REG(0xE000EDE8)
#define FPCCR REG(0xE000EF34)
#define NONSECURE_ALIAS 0x20000u  // of the system control space, for secure code

enum Scenario {
  CALLS = 1,
  POINTERS,
  CALLBACK,
  PREEMPT_SECURE,
  PREEMPT_NONSECURE,
  NESTED,
  FLOATS_OUT,
  FLOATS_IN,
  FLOATS_LAZY,
  FLOATS_PREEMPTED,
  SYSTICKS,
  PRIORITIES,
  BANKED,
  ATTRIBUTION,
  READ,
  WRITE,
  EXECUTE,
  FORGED_RETURN,
  BAD_SIGNATURE,
  BAD_EXC_RETURN,
  UNMARKED_BRANCH,
  SECURE_ONLY,
  BXNS_TO_SECURE,
  BXNS_STAYING,
  FAULT_BELOW_CALLBACK,
};

typedef uint32_t (*Callback)(uint32_t);

// The gateways.
uint32_t Add(uint32_t a, uint32_t b, uint32_t c, uint32_t d);
uint32_t Sum(const uint8_t *data, uint32_t size);
uint32_t CallBack(Callback back, uint32_t value);
uint32_t Count(void);
uint32_t Pend(uint32_t irqs);
float Halve(float value);
uint32_t CallBackWithFloats(Callback back);
uint32_t CallBackLazily(Callback back);
void Banks(void);
uint32_t PendWithFloats(uint32_t irqs);
void SpoilFrame(void);
void BranchTo(uint32_t address);
uint32_t BranchByBxns(uint32_t address);
uint32_t StayingBxns(void);

#endif  // TESTS_FIRMWARE_WORLDS_WORLDS_H_
