// CUDA devices: how many there are, which one is current, how much of their memory is in use.
//
// Without a device the questions have answers (false, 0) and what needs one is an Error with PyTorch's text.
#pragma once

#include <string>
#include <utility>

#include "tenon/types.h"

namespace tenon::cuda {

bool is_available();
inline bool cudnn_is_available() { return false; }  // nothing is given to cuDNN
int64_t device_count();
int64_t current_device();
std::string get_device_name(int64_t device = -1);  // -1: the current one
void synchronize(int64_t device = -1);             // waits for all work that was started

int64_t memory_allocated(int64_t device = -1);  // bytes that tensors use
int64_t memory_reserved(int64_t device = -1);   // bytes taken from the device
inline int64_t memory_cached(int64_t device = -1) { return memory_reserved(device); }
std::pair<int64_t, int64_t> mem_get_info(int64_t device = -1);  // bytes free, bytes in all
void empty_cache();

void manual_seed(uint64_t seed);
void manual_seed_all(uint64_t seed);

}  // namespace tenon::cuda
