// Generator: a handle on a stream of random numbers: PyTorch's Mersenne twister for tensors on the CPU, its Philox for those
// on a CUDA device, where a seed and an offset say where the stream stands. Copying it copies the handle.
#pragma once

#include <mutex>
#include <type_traits>
#include <utility>

#include "tenon/types.h"

namespace tenon {

class Tensor;
class GeneratorImpl;
struct CPUGeneratorImpl;   // names the kind in make_generator<CPUGeneratorImpl>()
struct CUDAGeneratorImpl;  // make_generator<CUDAGeneratorImpl>(device index)

inline constexpr uint64_t default_rng_seed_val = 67280421310721;

namespace detail {
void retain(GeneratorImpl* impl) noexcept;
void release(GeneratorImpl* impl) noexcept;
}  // namespace detail

// Every method may be called from any thread. An undefined generator stands for the default one as an
// argument; its own methods are Errors.
class Generator {
 public:
  Generator() = default;
  Generator(const Generator& other) noexcept : impl_(other.impl_) {
    if (impl_) detail::retain(impl_);
  }
  Generator(Generator&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Generator& operator=(Generator other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Generator() {
    if (impl_) detail::release(impl_);
  }

  bool defined() const { return impl_ != nullptr; }
  void set_current_seed(uint64_t seed);  // starts the stream of this seed; on the CPU only its low 32 bits choose it
  uint64_t current_seed() const;
  uint64_t seed();  // starts a stream that nobody can foresee and returns its seed
  Generator& manual_seed(uint64_t seed) {
    set_current_seed(seed);
    return *this;
  }
  uint64_t initial_seed() const { return current_seed(); }

  // How far the stream of a CUDA device has got, a multiple of 4. Error on the CPU.
  void set_offset(uint64_t offset);
  uint64_t get_offset() const;
  // Where the stream stands, as the bytes (uint8) that torch.get_rng_state() gives: 5056, or 16 of a CUDA device.
  Tensor get_state() const;
  void set_state(const Tensor& state);
  Generator clone() const;  // goes on from here by itself

  Device device() const;
  // For callers that want several calls to be one step among themselves. No method takes it.
  std::mutex& mutex() const;
  friend bool operator==(const Generator& a, const Generator& b) { return a.impl_ == b.impl_; }

  // For Tenon's own sources.
  explicit Generator(GeneratorImpl* impl) noexcept : impl_(impl) {}
  GeneratorImpl* unsafe_impl() const { return impl_; }

 private:
  GeneratorImpl* impl_ = nullptr;
};

namespace detail {
Generator createCPUGenerator(uint64_t seed = default_rng_seed_val);
const Generator& getDefaultCPUGenerator();
}  // namespace detail

namespace cuda {
namespace detail {
Generator createCUDAGenerator(DeviceIndex device = -1);  // of the current device, if none is given
const Generator& getDefaultCUDAGenerator(DeviceIndex device = -1);
}  // namespace detail
uint64_t initial_seed();  // of the current device's default generator
uint64_t seed();
Tensor get_rng_state(DeviceIndex device = -1);
void set_rng_state(const Tensor& state, DeviceIndex device = -1);
}  // namespace cuda

template <typename Impl>
Generator make_generator() {
  static_assert(std::is_same_v<Impl, CPUGeneratorImpl> || std::is_same_v<Impl, CUDAGeneratorImpl>,
                "generators live on the CPU and on CUDA devices");
  if constexpr (std::is_same_v<Impl, CPUGeneratorImpl>) return detail::createCPUGenerator();
  else return cuda::detail::createCUDAGenerator();
}
// The argument is the seed for the CPU, and the index of the device for CUDA.
template <typename Impl>
Generator make_generator(uint64_t argument) {
  static_assert(std::is_same_v<Impl, CPUGeneratorImpl> || std::is_same_v<Impl, CUDAGeneratorImpl>,
                "generators live on the CPU and on CUDA devices");
  if constexpr (std::is_same_v<Impl, CPUGeneratorImpl>) return detail::createCPUGenerator(argument);
  else return cuda::detail::createCUDAGenerator(static_cast<DeviceIndex>(argument));
}

// The generator that is used where none is given. Unforeseeable until it is seeded.
inline const Generator& default_generator() { return detail::getDefaultCPUGenerator(); }
// Seeds the default generators of the CPU and of all CUDA devices, those too that are used later; a negative seed is seed + 2^64.
void manual_seed(uint64_t seed);
uint64_t initial_seed();
uint64_t seed();
Tensor get_rng_state();
void set_rng_state(const Tensor& state);

}  // namespace tenon
