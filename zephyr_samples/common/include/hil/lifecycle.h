// Counts the calls that the runtime makes to an operator of the application's own.
#ifndef HIL_LIFECYCLE_H_
#define HIL_LIFECYCLE_H_

#include <cstdint>

namespace hil {

// One operator's calls. An object of static storage enters itself into a list when the operator is
// registered; the runner prints the whole list at the end.
class Lifecycle {
 public:
  constexpr explicit Lifecycle(const char* name) : operator_(name) {}

  // Enters this operator into the list; a second call changes nothing.
  void Enlist();

  void Init() { Count(init_, 'i'); }
  void Prepare() { Count(prepare_, 'p'); }
  void Invoke() { Count(invoke_, 'v'); }
  void Free() { Count(free_, 'f'); }
  void Reset() { Count(reset_, 'r'); }

  // Prints a `lifecycle` record for every operator of the list.
  static void PrintAll();

 private:
  static constexpr unsigned kOrder = 16;

  void Count(uint32_t& counter, char step);

  const char* operator_;
  uint32_t init_ = 0, prepare_ = 0, invoke_ = 0, free_ = 0, reset_ = 0;
  // The order of the steps, a run of one step written once: "ipvrf".
  char order_[kOrder + 1] = {};
  unsigned steps_ = 0;
  bool enlisted_ = false;
  Lifecycle* next_ = nullptr;
};

}  // namespace hil

#endif  // HIL_LIFECYCLE_H_
