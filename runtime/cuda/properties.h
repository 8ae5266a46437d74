// What a GPU is.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::runtime::cuda {

struct Properties {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int64_t total_memory = 0;  // bytes
  int multiprocessors = 0;
  int max_threads_per_block = 0;
  int64_t shared_memory_per_block = 0;  // bytes, without opting in
  int warp_size = 0;
  int clock_khz = 0;
  std::string uuid_hex;
};

}  // namespace tenon::runtime::cuda
