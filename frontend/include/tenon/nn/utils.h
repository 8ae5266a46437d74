// torch::nn::utils: gradients held within bounds, and a module's parameters as one vector.
//
//   loss.backward();
//   nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//   optimizer.step();
#pragma once

#include <vector>

#include "tenon/arrays.h"
#include "tenon/tensor.h"

namespace tenon::nn::utils {

// The norm of all gradients before they were clipped: a number, computed when it is read. A step that does not read it
// stays one plan.
class TotalNorm {
 public:
  explicit TotalNorm(Tensor norm) : norm_(std::move(norm)) {}
  operator double() const { return norm_.item<double>(); }
  const Tensor& tensor() const { return norm_; }  // of no dims

 private:
  Tensor norm_;
};

// Scales the gradients of these parameters, in place, so that their norm, as of one vector, is at most `max_norm`: by
// max_norm / (norm + 1e-6) if that is below 1. Parameters without a gradient do not count. `norm_type` is the order of the
// norm, infinity included. With error_if_nonfinite a norm that is nan or infinite is an Error, and nothing was scaled.
TotalNorm clip_grad_norm_(TensorList parameters, double max_norm, double norm_type = 2.0, bool error_if_nonfinite = false);

// Clamps each element of the gradients, in place, to [-clip_value, clip_value].
void clip_grad_value_(TensorList parameters, double clip_value);

// The elements of all parameters, one after another, as one vector of their dtype.
Tensor parameters_to_vector(TensorList parameters);

// The reverse: each parameter's data becomes its part of the vector, whose memory they share from then on. Error, before any is
// changed, if the vector is too short.
void vector_to_parameters(const Tensor& vec, TensorList parameters);

// Sequences of different lengths without padding: the rows of all at time 0, then those of time 1, ...
namespace rnn {
using tenon::pad_sequence;
class PackedSequence {
 public:
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {}, Tensor unsorted_indices = {});
  const Tensor& data() const { return data_; }                // [rows, ...]
  const Tensor& batch_sizes() const { return batch_sizes_; }  // [longest], int64 on the CPU: how many sequences each time has
  // The sequences from long to short, and back; undefined if they were given so.
  const Tensor& sorted_indices() const { return sorted_indices_; }
  const Tensor& unsorted_indices() const { return unsorted_indices_; }
  PackedSequence pin_memory() const { return *this; }
  PackedSequence to(TensorOptions options) const;
  PackedSequence cuda() const { return to(kCUDA); }
  PackedSequence cpu() const { return to(kCPU); }
  bool is_cuda() const { return data_.is_cuda(); }
  bool is_pinned() const { return data_.is_pinned(); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};
Tensor invert_permutation(const Tensor& permutation);
// input [longest, batch, ...], or [batch, longest, ...]; lengths [batch], from long to short unless enforce_sorted is false.
PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first = false, bool enforce_sorted = true);
// The padded sequences, in the order in which they were packed, and their lengths.
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false, double padding_value = 0.0,
                                               optional<int64_t> total_length = nullopt);
PackedSequence pack_sequence(TensorList sequences, bool enforce_sorted = true);
}  // namespace rnn

}  // namespace tenon::nn::utils
