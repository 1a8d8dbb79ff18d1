// The standalone runtime's interpreter on the machine that runs the tests.
//
//   host_runner run MODEL ARENA_BYTES   inferences: inputs on standard input, outputs on standard
//                                       output, both raw; the log goes to standard error
//   host_runner each ARENA_BYTES        the same for each folder that is named on standard input,
//                                       with its model.tflite, input.bin, output.bin and log;
//                                       ends at the first that fails
//   host_runner resolver                every refusal of the resolver, on standard error
//   host_runner plan                    "bytes first last" lines to offsets, in the same order
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tensorflow/lite/micro/debug_log.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/memory_planner/greedy_memory_planner.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/recording_micro_interpreter.h"

extern "C" void DebugLog(const char* format, va_list args) { std::vfprintf(stderr, format, args); }

namespace {

// Memory that begins at a multiple of 16; the sanitizer watches its end.
class Memory {
 public:
  explicit Memory(size_t bytes) : data_(std::aligned_alloc(16, (bytes + 15) & ~size_t{15})) {}
  ~Memory() { std::free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return data_; }

 private:
  void* data_;
};

// As many as any model of the tests has.
constexpr int kVariables = 2;

int Run(const char* path, size_t arena_bytes, std::FILE* given) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  // The model must be as aligned as in an image.
  const Memory model_memory(bytes.size());
  const Memory arena_memory(arena_bytes);
  auto* model_bytes = static_cast<char*>(model_memory.get());
  std::memcpy(model_bytes, bytes.data(), bytes.size());
  auto* arena = static_cast<uint8_t*>(arena_memory.get());

  tflite::MicroMutableOpResolver<21> resolver;
  resolver.AddAdd();
  resolver.AddAssignVariable();
  resolver.AddAveragePool2D();
  resolver.AddConcatenation();
  resolver.AddConv2D();
  resolver.AddDepthwiseConv2D();
  resolver.AddDequantize();
  resolver.AddFullyConnected();
  resolver.AddLogistic();
  resolver.AddMaxPool2D();
  resolver.AddMean();
  resolver.AddMul();
  resolver.AddPad();
  resolver.AddQuantize();
  resolver.AddReadVariable();
  resolver.AddRelu();
  resolver.AddRelu6();
  resolver.AddReshape();
  resolver.AddSoftmax();
  resolver.AddStridedSlice();
  resolver.AddVarHandle();

  // Poisoned, so that memory that nobody wrote shows.
  std::memset(arena, 0xA5, arena_bytes);
  auto* allocator = tflite::RecordingMicroAllocator::Create(arena, arena_bytes);
  auto* variables = tflite::MicroResourceVariables::Create(allocator, kVariables);
  tflite::RecordingMicroInterpreter interpreter(tflite::GetModel(model_bytes), resolver, allocator,
                                                variables);
  if (interpreter.AllocateTensors() != kTfLiteOk) {
    return 3;
  }
  std::fprintf(stderr, "used %zu\n", interpreter.arena_used_bytes());
  while (true) {
    for (size_t n = 0; n < interpreter.inputs_size(); ++n) {
      TfLiteTensor* input = interpreter.input(n);
      if (std::fread(input->data.raw, 1, input->bytes, given) != input->bytes) {
        return 0;
      }
    }
    if (interpreter.Invoke() != kTfLiteOk) {
      return 4;
    }
    for (size_t n = 0; n < interpreter.outputs_size(); ++n) {
      const TfLiteTensor* output = interpreter.output(n);
      std::fwrite(output->data.raw, 1, output->bytes, stdout);
    }
  }
}

int Each(size_t arena_bytes) {
  std::string folder;
  while (std::getline(std::cin, folder)) {
    if (std::freopen((folder + "/output.bin").c_str(), "wb", stdout) == nullptr ||
        std::freopen((folder + "/log").c_str(), "wb", stderr) == nullptr) {
      return 2;
    }
    std::FILE* input = std::fopen((folder + "/input.bin").c_str(), "rb");
    if (input == nullptr) {
      return 2;
    }
    const int status = Run((folder + "/model.tflite").c_str(), arena_bytes, input);
    std::fclose(input);
    if (status != 0) {
      return status;
    }
  }
  return 0;
}

int Resolver() {
  const TFLMRegistration custom = tflite::Register_ADD();
  tflite::MicroMutableOpResolver<1> one;
  one.AddFullyConnected();
  one.AddFullyConnected();         // twice, and full: told as twice
  one.AddSoftmax();                // full
  one.AddCustom("Atan", &custom);  // full
  tflite::MicroMutableOpResolver<2> two;
  two.AddCustom("Atan", &custom);
  two.AddCustom("Atan", &custom);  // twice
  two.AddReshape();
  two.AddCustom("Atan", &custom);  // twice, and full: told as full
  std::printf("%u %u\n", one.GetRegistrationLength(), two.GetRegistrationLength());
  std::printf("%d %d\n", one.FindOp(tflite::BuiltinOperator_FULLY_CONNECTED) != nullptr,
              one.FindOp(tflite::BuiltinOperator_SOFTMAX) != nullptr);
  std::printf("%d %d\n", two.FindOp("Atan") != nullptr, two.FindOp("Tan") != nullptr);
  return 0;
}

int Plan() {
  std::vector<tflite::BufferRequirement> buffers;
  size_t bytes;
  int first;
  int last;
  while (std::cin >> bytes >> first >> last) {
    buffers.push_back({bytes, static_cast<int16_t>(first), static_cast<int16_t>(last), 0,
                       static_cast<uint16_t>(buffers.size()), 0});
  }
  const size_t needed = tflite::PlanGreedily(buffers.data(), buffers.size());
  std::vector<size_t> offsets(buffers.size());
  for (const auto& buffer : buffers) {
    offsets[buffer.index] = buffer.offset;
  }
  std::cout << needed << '\n';
  for (const size_t offset : offsets) {
    std::cout << offset << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "run") == 0) {
    return Run(argv[2], std::strtoul(argv[3], nullptr, 10), stdin);
  }
  if (argc == 3 && std::strcmp(argv[1], "each") == 0) {
    return Each(std::strtoul(argv[2], nullptr, 10));
  }
  if (argc == 2 && std::strcmp(argv[1], "resolver") == 0) {
    return Resolver();
  }
  if (argc == 2 && std::strcmp(argv[1], "plan") == 0) {
    return Plan();
  }
  return 2;
}
