#include "hil/lifecycle.h"

#include "hil/record.h"

namespace hil {
namespace {

Lifecycle* first = nullptr;

}  // namespace

void Lifecycle::Enlist() {
  if (enlisted_) return;
  enlisted_ = true;
  next_ = first;
  first = this;
}

void Lifecycle::PrintAll() {
  for (const Lifecycle* one = first; one != nullptr; one = one->next_) {
    Record("lifecycle")
        .Text("operator", one->operator_)
        .Count("init", one->init_)
        .Count("prepare", one->prepare_)
        .Count("invoke", one->invoke_)
        .Count("free", one->free_)
        .Count("reset", one->reset_)
        .Text("order", one->order_);
  }
}

void Lifecycle::Count(uint32_t& counter, char step) {
  ++counter;
  if (steps_ > 0 && order_[steps_ - 1] == step) return;
  if (steps_ < kOrder) order_[steps_++] = step;
}

}  // namespace hil
