// The tags that select a mode: F::PadFuncOptions({1, 2}).mode(kReflect), loss options' reduction(kSum). Each
// tag is a type of its own, so an option accepts exactly the tags that it knows.
#pragma once

#include "tenon/cxx20.h"

#include <cstdint>

namespace tenon {

// clang-format off
#define TENON_TAGS(X)                                                                                       \
  X(Linear)                                                                                                 \
  X(Conv1D) X(Conv2D) X(Conv3D) X(ConvTranspose1D) X(ConvTranspose2D) X(ConvTranspose3D) X(Sigmoid) X(Tanh) \
      X(ReLU) X(GELU) X(SiLU) X(Mish) X(LeakyReLU) X(FanIn) X(FanOut) X(Constant) X(Reflect) X(Replicate)   \
          X(Circular) X(Nearest) X(NearestExact) X(Bilinear) X(Bicubic) X(Trilinear) X(Area) X(Border)      \
              X(Reflection) X(Zeros) X(Sum) X(Mean) X(Max) X(None) X(BatchMean) X(RNN_TANH) X(RNN_RELU)     \
                  X(LSTM) X(GRU) X(Valid) X(Same)
// clang-format on

enum class Tag : uint8_t {
#define TENON_TAG(name) name,
  TENON_TAGS(TENON_TAG)
#undef TENON_TAG
};

namespace enumtype {
template <Tag tag>
struct Is {};
#define TENON_TAG(name) using k##name = Is<Tag::name>;
TENON_TAGS(TENON_TAG)
#undef TENON_TAG
}  // namespace enumtype

#define TENON_TAG(name) inline constexpr enumtype::k##name k##name{};
TENON_TAGS(TENON_TAG)
#undef TENON_TAG
#undef TENON_TAGS

// One of the given tags.
template <Tag... allowed>
class OneOf {
 public:
  template <Tag tag>
  requires((tag == allowed) || ...) constexpr OneOf(enumtype::Is<tag>) : tag_(tag) {}
  constexpr Tag tag() const { return tag_; }
  friend constexpr bool operator==(OneOf a, Tag b) { return a.tag_ == b; }

 private:
  Tag tag_;
};

}  // namespace tenon
