#include "hil/runner.h"

#include <zephyr/kernel.h>

#include <algorithm>
#include <cstring>

#include "hil/console.h"
#include "hil/data.h"
#include "hil/lifecycle.h"
#include "hil/record.h"
#include "hil/stack.h"
#include "hil/ticks.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/recording_micro_interpreter.h"
#include "tensorflow/lite/schema/schema_generated.h"

#if defined(CONFIG_BOARD_TARGET)
#define TFLM_HIL_BOARD CONFIG_BOARD_TARGET
#elif defined(CONFIG_BOARD)
#define TFLM_HIL_BOARD CONFIG_BOARD
#else
#error "the build must say which board this is: CONFIG_BOARD"
#endif

namespace hil {
namespace {

// After this long without a record there is no host.
constexpr int64_t kHostPatienceMs = 30'000;

const char* TypeName(TfLiteType type) {
  switch (type) {
    case kTfLiteFloat32:
      return "float32";
    case kTfLiteInt8:
      return "int8";
    case kTfLiteUInt8:
      return "uint8";
    case kTfLiteInt16:
      return "int16";
    case kTfLiteInt32:
      return "int32";
    case kTfLiteInt64:
      return "int64";
    case kTfLiteBool:
      return "bool";
    default:
      return "unknown";
  }
}

void PrintTensor(const char* role, uint32_t index, const TfLiteTensor& tensor) {
  Record("tensor")
      .Text("role", role)
      .Count("index", index)
      .Text("type", TypeName(tensor.type))
      .List("shape", tensor.dims->data, static_cast<size_t>(tensor.dims->size))
      .Float("scale", tensor.params.scale)
      .Number("zero_point", tensor.params.zero_point);
}

uint32_t InputBytes(tflite::MicroInterpreter& interpreter) {
  uint32_t bytes = 0;
  for (size_t i = 0; i < interpreter.inputs_size(); ++i) bytes += interpreter.input(i)->bytes;
  return bytes;
}

// Takes one host `input` record into the tensors; the reason for a refusal, or null.
const char* TakeInput(const HostRecord& record, tflite::MicroInterpreter& interpreter,
                      uint32_t* received) {
  uint32_t index, offset, total;
  uint8_t bytes[HostRecord::kChunk];
  size_t size;
  if (!record.Count("index", &index) || !record.Count("offset", &offset) ||
      !record.Count("total", &total) || !record.Bytes("hex", bytes, sizeof(bytes), &size)) {
    return "format";
  }
  if (index >= interpreter.inputs_size()) return "range";
  TfLiteTensor* tensor = interpreter.input(index);
  if (total != tensor->bytes || offset > total || size > total - offset) return "range";
  std::memcpy(static_cast<uint8_t*>(tensor->data.data) + offset, bytes, size);
  *received += size;
  return nullptr;
}

}  // namespace

void Runner::Boot() {
  StartTicks();
  Record("boot")
      .Text("sample", image_.sample)
      .Text("board", TFLM_HIL_BOARD)
      .Text("runtime", image_.runtime)
      .Word("model_crc32", Crc32(g_model, image_.model_bytes))
      .Count("model_bytes", image_.model_bytes)
      .Text("build", image_.build);
}

void Runner::Report(const Registration& registration) {
  Record("resolver")
      .Text("name", registration.name)
      .Count("declared", registration.declared)
      .Count("registered", registration.registered)
      .Count("refused", registration.refused);
}

bool Runner::Fail(const char* stage, TfLiteStatus status) {
  status_ = status == kTfLiteOk ? kTfLiteError : status;
  Record("failed").Text("stage", stage).Number("status", status_);
  return false;
}

const tflite::Model* Runner::OpenModel() {
  const tflite::Model* model = tflite::GetModel(g_model);
  if (model->version() == TFLITE_SCHEMA_VERSION) return model;
  MicroPrintf("Model provided is schema version %d not equal to supported version %d.",
              static_cast<int>(model->version()), TFLITE_SCHEMA_VERSION);
  Fail("schema", kTfLiteError);
  return nullptr;
}

tflite::MicroResourceVariables* Runner::Variables(tflite::MicroAllocator* allocator) const {
  return make_variables_ == nullptr ? nullptr : make_variables_(allocator);
}

bool Runner::Open(tflite::MicroInterpreter& interpreter) {
  const TfLiteStatus status = interpreter.AllocateTensors();
  if (status != kTfLiteOk) {
    MicroPrintf("AllocateTensors() failed");
    return Fail("allocate", status);
  }
  for (size_t i = 0; i < interpreter.inputs_size(); ++i) {
    PrintTensor("input", i, *interpreter.input(i));
  }
  for (size_t i = 0; i < interpreter.outputs_size(); ++i) {
    PrintTensor("output", i, *interpreter.output(i));
  }
  Record("arena")
      .Count("declared", image_.arena_bytes)
      .Count("used", interpreter.arena_used_bytes());
  return true;
}

bool Runner::Infer(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  profiler_.Clear();
  const uint32_t start = Ticks();
  const TfLiteStatus status = interpreter.Invoke();
  const uint32_t ticks = Ticks() - start;
  if (status == kTfLiteOk) {
    for (size_t i = 0; i < interpreter.outputs_size(); ++i) {
      const TfLiteTensor* output = interpreter.output(i);
      PrintTensorBytes("output", inference, i, output->data.data, output->bytes);
    }
    ++inferences_;
  }
  Record("inference")
      .Count("index", inference)
      .Count("ticks", ticks)
      .Text("source", "dwt")
      .Count("hz", kTicksPerSecond)
      .Number("status", status);
  return status == kTfLiteOk || Fail("invoke", status);
}

bool Runner::FillBuiltin(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  if (image_.input_rows == 0 || InputBytes(interpreter) != image_.input_bytes) {
    MicroPrintf("the image holds no inputs of %d bytes for this model",
                static_cast<int>(InputBytes(interpreter)));
    return false;
  }
  const unsigned char* row = g_inputs + (inference % image_.input_rows) * image_.input_bytes;
  for (size_t i = 0; i < interpreter.inputs_size(); ++i) {
    TfLiteTensor* input = interpreter.input(i);
    std::memcpy(input->data.data, row, input->bytes);
    row += input->bytes;
  }
  return true;
}

template <typename Inferences>
void Runner::Run(const tflite::MicroOpResolver& resolver, uint8_t* arena, Inferences infer) {
  const tflite::Model* model = OpenModel();
  if (model == nullptr) return;
  tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(arena, image_.arena_bytes);
  tflite::MicroInterpreter interpreter(model, resolver, allocator, Variables(allocator),
                                       &profiler_);
  if (!Open(interpreter)) return;
  infer(interpreter);
  // free() of operators with state is called here; a lifecycle record shows whether it was.
  const TfLiteStatus status = interpreter.Reset();
  if (status != kTfLiteOk) Fail("invoke", status);
}

void Runner::RunBuiltin(const tflite::MicroOpResolver& resolver, uint8_t* arena, FillInputs fill,
                        DescribeOutputs describe) {
  Run(resolver, arena,
      [&](tflite::MicroInterpreter& interpreter) { InferBuiltin(interpreter, fill, describe); });
}

void Runner::RunConsole(const tflite::MicroOpResolver& resolver, uint8_t* arena) {
  Run(resolver, arena,
      [this](tflite::MicroInterpreter& interpreter) { InferForHost(interpreter); });
}

void Runner::InferBuiltin(tflite::MicroInterpreter& interpreter, FillInputs fill,
                          DescribeOutputs describe) {
  for (uint32_t inference = 0; inference < image_.inferences; ++inference) {
    const bool filled = fill != nullptr ? fill(inference, interpreter) == kTfLiteOk
                                        : FillBuiltin(inference, interpreter);
    if (!filled) {
      Fail("input", kTfLiteError);
      break;
    }
    for (size_t i = 0; i < interpreter.inputs_size(); ++i) {
      const TfLiteTensor* input = interpreter.input(i);
      PrintTensorBytes("input", inference, i, input->data.data, input->bytes);
    }
    if (!Infer(inference, interpreter)) break;
    profiler_.Print(inference);
    if (describe != nullptr) describe(inference, interpreter);
  }
}

void Runner::InferForHost(tflite::MicroInterpreter& interpreter) {
  Console console;
  const uint32_t wanted = InputBytes(interpreter);
  Record("ready").Count("input_bytes", wanted);
  uint32_t received = 0;
  HostRecord record;
  for (;;) {
    if (!console.Next(&record, kHostPatienceMs)) {
      Fail("input", kTfLiteError);
      break;
    }
    if (record.Is("done")) {
      console.Acknowledge(record);
      break;
    }
    if (record.Is("input")) {
      const char* reason = TakeInput(record, interpreter, &received);
      if (reason == nullptr) {
        console.Acknowledge(record);
      } else {
        console.Refuse(record, reason);
      }
    } else if (record.Is("run")) {
      uint32_t inference;
      if (!record.Count("inference", &inference)) {
        console.Refuse(record, "format");
      } else if (received != wanted) {
        console.Refuse(record, "range");
      } else {
        console.Acknowledge(record);
        received = 0;
        if (!Infer(inference, interpreter)) break;
        Record("ready").Count("input_bytes", wanted);
      }
    } else {
      console.Refuse(record, "kind");
    }
  }
}

void Runner::PrintLifecycles() { Lifecycle::PrintAll(); }

void Runner::RecordAllocations(const tflite::MicroOpResolver& resolver, uint8_t* arena) {
  if (status_ != kTfLiteOk) return;  // it would fail again in the same way
  using Type = tflite::RecordedAllocationType;
  constexpr struct {
    Type type;
    const char* name;
  } kTypes[] = {
      {Type::kTfLiteEvalTensorData, "eval_tensor"},
      {Type::kPersistentTfLiteTensorData, "persistent_tensor"},
      {Type::kPersistentTfLiteTensorQuantizationData, "persistent_quantization"},
      {Type::kPersistentBufferData, "persistent_buffer"},
      {Type::kTfLiteTensorVariableBufferData, "variable_buffer"},
      {Type::kNodeAndRegistrationArray, "node_and_registration"},
      {Type::kOpData, "op_data"},
  };
  tflite::RecordingMicroAllocator* allocator =
      tflite::RecordingMicroAllocator::Create(arena, image_.arena_bytes);
  tflite::RecordingMicroInterpreter interpreter(tflite::GetModel(g_model), resolver, allocator,
                                                Variables(allocator), nullptr);
  if (interpreter.AllocateTensors() != kTfLiteOk) {
    Fail("allocate", kTfLiteError);
    return;
  }
  for (const auto& [type, name] : kTypes) {
    const tflite::RecordedAllocation allocation =
        interpreter.GetMicroAllocator().GetRecordedAllocation(type);
    Record("allocation")
        .Text("type", name)
        .Count("requested", allocation.requested_bytes)
        .Count("used", allocation.used_bytes)
        .Count("count", allocation.count);
  }
}

void Runner::End() {
  PrintStacks();
  Record("end").Count("inferences", inferences_).Number("status", status_);
}

}  // namespace hil
