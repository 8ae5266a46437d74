// A device for tests that does everything as late as is legal, in memory that the host cannot touch. It runs the CPU's code,
// so its results are the CPU's bits; what it shows is whether the library asks for what it needs:
//
//   memory    addresses without access: a read by the host ends the test. The device finds what they hold elsewhere. New
//             memory is 0xff (nan), released memory too, and no address is used twice.
//   work      waits in its stream until somebody waits for it: synchronise, an event, copy_to_host. Then that stream runs, and
//             by chance (from the seed) work of other streams that is legal by now. A missing event gives wrong numbers.
//   arguments are copied at the call, as a device does.
//   faults    the n-th call of a kind fails, or what it submitted fails when it runs.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/device/device.h"

namespace tenon::test {

enum class DeviceCall : uint8_t { Allocate, CopyIn, CopyOut, Copy, Compile, Load, Launch, Library, Interpret };
inline constexpr int kDeviceCalls = 9;

class LateDevice : public runtime::Device {
 public:
  using runtime::Device::Device;
  static LateDevice& get(int index = 0);   // privateuseone:index, registered by the first call; 0 or 1
  static LateDevice& cuda(int index = 0);  // the same as cuda:index: what the frontend does for the name alone

  virtual void shuffle(uint64_t seed) = 0;  // from now on
  // The n-th call of the kind from now on fails (0: the next); `late`: what it submits fails when it runs.
  virtual void fail(DeviceCall call, int64_t nth, bool late = false) = 0;
  virtual void heal() = 0;                                      // no more faults
  virtual std::array<int64_t, kDeviceCalls> calls() const = 0;  // so far, by kind
  virtual int64_t waiting() const = 0;                          // pieces of work that have not run
};

}  // namespace tenon::test
