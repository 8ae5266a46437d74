// The driver's functions on modules, functions and launches.
#include <algorithm>
#include <cstring>

#include "cuda_sim/driver.h"
#include "cuda_sim/image.h"

using namespace tenon::cuda_sim;

namespace {

constexpr unsigned kStaticShared = 48 << 10;

unsigned most_shared(const Driver& d) { return d.settings.arch == 75 ? 64u << 10 : d.settings.arch == 80 ? 163u << 10 : 227u << 10; }

// A cubin runs on its own generation from its minor version on, PTX on any that is not older.
bool runs_on(const Image& image, int arch) { return image.arch <= arch && (image.ptx || image.arch / 10 == arch / 10); }

int load(Driver& d, const char* bytes, std::shared_ptr<Module>& module) {
  const std::optional<Image> image = unpack(bytes);
  if (!image) return kInvalidImage;
  if (!runs_on(*image, d.settings.arch)) return image->ptx ? kInvalidPtx : kNoBinaryForGpu;
  try {
    module = std::make_shared<Module>(Module{current()->ordinal, Program::load(image->text), true});
  } catch (const std::exception&) {
    return kInvalidImage;
  }
  return kSuccess;
}

// Warps that a multiprocessor has registers for at the same time: they are given in units of 256 a warp, and of four warps.
unsigned warps_by_registers(const Kernel& kernel) {
  constexpr unsigned kUnit = 256, kWarps = 4;
  const unsigned each = (kernel.registers * Engine::kWarp + kUnit - 1) / kUnit * kUnit;
  return each == 0 ? 64 : Engine::kRegisters / each / kWarps * kWarps;
}

unsigned warps_of(unsigned threads) { return (threads + Engine::kWarp - 1) / Engine::kWarp; }

// What TENON_LAUNCH or the registers allow.
unsigned max_threads(const Kernel& kernel) { return std::min(kernel.max_threads, warps_by_registers(kernel) * Engine::kWarp); }

// Limits of a launch; what breaks them fails at the call.
int check_launch(const Driver& d, const Function& function, unsigned threads, unsigned shared) {
  const Kernel& kernel = *function.kernel;
  if (threads > max_threads(kernel)) return kOutOfResources;
  if (shared > static_cast<unsigned>(function.max_dynamic_shared) || shared > most_shared(d)) return kInvalidValue;
  if (kernel.shared_bytes > (kernel.dynamic_shared ? shared : kStaticShared)) return kOutOfResources;
  return kSuccess;
}

}  // namespace

int tenon::cuda_sim::make_kernel(Driver& d, const KernelParameters& launch, int device, Work& work) {
  const auto found = d.functions.find(launch.function);
  if (found == d.functions.end()) return kInvalidHandle;
  const Function& function = *found->second;
  if (function.module->device != device) return kInvalidContext;
  if (launch.grid_x == 0 || launch.grid_x > 0x7fffffffu || launch.block_x == 0 || launch.block_x > Engine::kMaxThreads) {
    return kInvalidValue;
  }
  const bool line = launch.grid_y == 1 && launch.grid_z == 1 && launch.block_y == 1 && launch.block_z == 1;
  if (!line || launch.extra) return kNotSupported;  // Tenon's launches have one dimension
  if (const int code = check_launch(d, function, launch.block_x, launch.shared)) return code;
  const std::vector<unsigned>& bytes = function.kernel->parameter_bytes;
  if (!launch.parameters && !bytes.empty()) return kInvalidValue;
  work.kind = WorkKind::Kernel;
  work.kernel = {found->second, launch.grid_x, launch.block_x, launch.shared, std::vector<uint64_t>(bytes.size())};
  for (size_t i = 0; i < bytes.size(); ++i) std::memcpy(&work.kernel.parameters[i], launch.parameters[i], bytes[i]);
  return kSuccess;
}

TENON_SIM_API int cuModuleLoadDataEx(Module** handle, const void* bytes, unsigned, int*, void**) {
  return gate("cuModuleLoadDataEx", Need::Context, [&](Driver& d) -> int {
    if (!handle || !bytes) return kInvalidValue;
    if (d.disturbs_capture()) return kCaptureUnsupported;
    std::shared_ptr<Module> module;
    if (const int code = load(d, static_cast<const char*>(bytes), module)) return code;
    *handle = module.get();
    d.modules[*handle] = std::move(module);
    return kSuccess;
  });
}

// Work of it that is still queued will be a finding.
TENON_SIM_API int cuModuleUnload(Module* handle) {
  return gate("cuModuleUnload", Need::Context, [&](Driver& d) -> int {
    Module* const module = find(d.modules, handle);
    if (!module) return kInvalidHandle;
    module->loaded = false;
    std::erase_if(d.functions, [&](const auto& entry) { return entry.second->module.get() == module; });
    d.modules.erase(handle);
    return kSuccess;
  });
}

TENON_SIM_API int cuModuleGetFunction(Function** handle, Module* module, const char* name) {
  return gate("cuModuleGetFunction", Need::Context, [&](Driver& d) -> int {
    if (!handle || !name) return kInvalidValue;
    const auto found = d.modules.find(module);
    if (found == d.modules.end()) return kInvalidHandle;
    const Kernel* const kernel = found->second->program->find(name);
    if (!kernel) return kNotFound;
    for (const auto& [known, function] : d.functions) {
      if (function->module.get() == module && function->kernel == kernel) {
        *handle = function.get();
        return kSuccess;
      }
    }
    auto function = std::make_shared<Function>(Function{found->second, kernel});
    *handle = function.get();
    d.functions[*handle] = std::move(function);
    return kSuccess;
  });
}

TENON_SIM_API int cuFuncGetAttribute(int* value, int number, Function* handle) {
  return gate("cuFuncGetAttribute", Need::Context, [&](Driver& d) -> int {
    const Function* const function = find(d.functions, handle);
    if (!value) return kInvalidValue;
    if (!function) return kInvalidHandle;
    const bool is_static = !function->kernel->dynamic_shared;
    switch (number) {
      case 0: *value = static_cast<int>(max_threads(*function->kernel)); return kSuccess;
      case 1: *value = is_static ? static_cast<int>(function->kernel->shared_bytes) : 0; return kSuccess;
      case 2:
      case 7: *value = 0; return kSuccess;  // constant memory, cache mode
      case 3: *value = static_cast<int>(function->kernel->local_bytes); return kSuccess;
      case 4: *value = static_cast<int>(function->kernel->registers); return kSuccess;
      case 5:
      case 6: *value = d.settings.arch; return kSuccess;
      case 8: *value = function->max_dynamic_shared; return kSuccess;
      case 9: *value = -1; return kSuccess;
      default: return kInvalidValue;
    }
  });
}

TENON_SIM_API int cuFuncSetAttribute(Function* handle, int number, int value) {
  return gate("cuFuncSetAttribute", Need::Context, [&](Driver& d) -> int {
    Function* const function = find(d.functions, handle);
    if (!function) return kInvalidHandle;
    if (number == 9) return value >= -1 && value <= 100 ? kSuccess : kInvalidValue;
    if (number != 8 || value < 0 || static_cast<unsigned>(value) > most_shared(d)) return kInvalidValue;
    function->max_dynamic_shared = value;
    return kSuccess;
  });
}

TENON_SIM_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* handle, int threads, size_t shared) {
  return gate("cuOccupancyMaxActiveBlocksPerMultiprocessor", Need::Context, [&](Driver& d) -> int {
    const Function* const function = find(d.functions, handle);
    if (!blocks || threads <= 0) return kInvalidValue;
    if (!function) return kInvalidHandle;
    const bool old = d.settings.arch == 75;
    const size_t room = old ? 64 << 10 : d.settings.arch == 80 ? 164 << 10 : 228 << 10;
    const size_t each = std::max<size_t>(shared, function->kernel->shared_bytes) + (old ? 0 : 1 << 10);
    const int by_threads = (old ? 1024 : 2048) / ((threads + 31) / 32 * 32);
    const int by_shared = each == 0 ? 32 : static_cast<int>(room / each);
    const auto by_registers = static_cast<int>(warps_by_registers(*function->kernel) / warps_of(static_cast<unsigned>(threads)));
    *blocks = std::min({by_threads, by_shared, by_registers, old ? 16 : 32});
    return kSuccess;
  });
}

TENON_SIM_API int cuLaunchKernel(Function* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, void* stream_handle, void** parameters, void** extra) {
  return gate("cuLaunchKernel", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, stream_handle);
    if (!stream) return kInvalidHandle;
    Work work;
    const int code = make_kernel(
        d, {handle, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, parameters, extra, nullptr, nullptr}, stream->device, work);
    return code ? code : submit(d, *stream, std::move(work));
  });
}
