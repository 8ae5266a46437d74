// The device that the tests of devices run on: TENON_TEST_DEVICE=late (tests/device/late_device.h, and so without it) or cuda, the
// first GPU, real or simulated.
#pragma once

#include <tenon/tenon.h>

#include <cstdint>
#include <string>

namespace tenon::runtime {
class Device;
}

namespace tenon::test {

Device tested_device();     // throws std::runtime_error with the reason if there is no GPU
std::string tested_name();  // "cuda:0"
runtime::Device& tested_runtime_device();

// The elements in row-major order, every nan alike: which sign and payload a nan has is the processor's choice.
std::string bits_of(const Tensor& x);

// Draws another order for what its streams do; nothing on a GPU, which has an order of its own.
void shuffle(uint64_t seed);

// TENON_TEST_SLICE=2/16: of the golden cases only each sixteenth, from the third on, so that several processes share them.
bool is_in_slice(size_t index);
bool is_sliced();

}  // namespace tenon::test
