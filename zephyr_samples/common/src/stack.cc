#include "hil/stack.h"

#include <zephyr/kernel.h>

#include "hil/record.h"

namespace hil {

void PrintStacks() {
  const k_tid_t thread = k_current_get();
  size_t unused = 0;
  if (k_thread_stack_space_get(thread, &unused) != 0) return;  // the kernel does not keep track
  const size_t size = thread->stack_info.size;
  Record("stack").Text("name", "main").Count("size", size).Count("used", size - unused);
}

}  // namespace hil
