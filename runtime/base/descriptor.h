// Owns a file descriptor.
#pragma once

#include <unistd.h>

namespace tenon::runtime {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}  // -1: none
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_;
};

}  // namespace tenon::runtime
