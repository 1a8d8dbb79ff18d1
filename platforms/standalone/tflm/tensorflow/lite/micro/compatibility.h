// A class with a virtual destructor asks for operator delete; nothing here is ever deleted.
#ifndef TFLM_HIL_STANDALONE_COMPATIBILITY_H_
#define TFLM_HIL_STANDALONE_COMPATIBILITY_H_

#define TF_LITE_REMOVE_VIRTUAL_DELETE \
  void operator delete(void*) {}

#endif  // TFLM_HIL_STANDALONE_COMPATIBILITY_H_
