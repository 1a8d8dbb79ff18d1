// The two stacks, under the names and with the paint that Zephyr gives its own: main() runs on the
// first (PSP), exceptions on the second (MSP). Both have their hardware limit set.
#ifndef TFLM_HIL_STANDALONE_STACKS_H_
#define TFLM_HIL_STANDALONE_STACKS_H_

#include <stddef.h>
#include <stdint.h>

#ifndef CONFIG_MAIN_STACK_SIZE
#define CONFIG_MAIN_STACK_SIZE 4096
#endif
#ifndef CONFIG_ISR_STACK_SIZE
#define CONFIG_ISR_STACK_SIZE 1024
#endif

inline constexpr uint8_t kStackPaint = 0xAA;

extern "C" {
extern uint8_t z_main_stack[CONFIG_MAIN_STACK_SIZE];
extern uint8_t z_interrupt_stacks[CONFIG_ISR_STACK_SIZE];
}

#endif  // TFLM_HIL_STANDALONE_STACKS_H_
