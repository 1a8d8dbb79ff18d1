// The depth of the stacks.
#ifndef HIL_STACK_H_
#define HIL_STACK_H_

namespace hil {

// Prints a `stack` record for the thread that calls. The kernel paints stacks when it makes them
// (CONFIG_INIT_STACKS); the high-water mark is the deepest byte that lost its paint.
void PrintStacks();

}  // namespace hil

#endif  // HIL_STACK_H_
