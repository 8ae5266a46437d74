#include "tenon/nn/utils.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/src/tensor/text.h"
#include "tenon/algebra.h"
#include "tenon/arrays.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::nn::utils {
namespace {

std::vector<Tensor> gradients_of(TensorList parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    if (const Tensor gradient = parameter.grad(); gradient.defined()) gradients.push_back(gradient.data());
  }
  return gradients;
}

Tensor total_norm(const std::vector<Tensor>& gradients, double order) {
  if (order == 0) return full({}, static_cast<double>(gradients.size()));
  std::vector<Tensor> norms;
  const bool largest = order == std::numeric_limits<double>::infinity();
  for (const Tensor& gradient : gradients) norms.push_back(largest ? gradient.abs().max() : gradient.norm(order));
  if (norms.size() == 1) return norms[0];
  return largest ? stack(norms).max() : stack(norms).norm(order);
}

}  // namespace

TotalNorm clip_grad_norm_(TensorList parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  const std::vector<Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return TotalNorm(zeros({}));
  const Tensor norm = total_norm(gradients, norm_type);
  check(!error_if_nonfinite || std::isfinite(norm.item<double>()), "The total norm of order ", norm_type,
        " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the "
        "gradients with the non-finite norm anyway, set `error_if_nonfinite=false`");
  const Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  for (Tensor gradient : gradients) gradient.mul_(factor);
  return TotalNorm(norm);
}

void clip_grad_value_(TensorList parameters, double clip_value) {
  for (Tensor gradient : gradients_of(parameters)) gradient.clamp_(-clip_value, clip_value);
}

Tensor parameters_to_vector(TensorList parameters) {
  std::vector<Tensor> vectors;
  for (const Tensor& parameter : parameters) vectors.push_back(parameter.view({-1}));
  return cat(vectors);
}

void vector_to_parameters(const Tensor& vec, TensorList parameters) {
  int64_t elements = 0, begin = 0;
  for (const Tensor& parameter : parameters) elements += parameter.numel();
  check(vec.dim() == 1 && vec.numel() >= elements, "vector_to_parameters: expected a vector of ", elements,
        " elements, but got a tensor of shape ", vec.sizes());
  for (Tensor parameter : parameters) {
    const int64_t end = begin + parameter.numel();
    parameter.set_data(vec.slice(0, begin, end).view_as(parameter).data());
    begin = end;
  }
}

namespace rnn {
namespace {

std::vector<int64_t> numbers(const Tensor& x) {
  const Tensor values = x.contiguous();
  return {values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + values.numel()};
}

// Where the packed rows lie in a padded [time * batch, ...].
Tensor places(const std::vector<int64_t>& batch_sizes, int64_t batch, Device device) {
  std::vector<int64_t> rows;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    for (int64_t b = 0; b < batch_sizes[t]; ++b) rows.push_back(static_cast<int64_t>(t) * batch + b);
  }
  return tensor(rows, kLong).to(device);
}

std::vector<int64_t> with_rows(const Tensor& x, size_t drop, std::vector<int64_t> first) {
  first.insert(first.end(), x.sizes().begin() + drop, x.sizes().end());
  return first;
}

void check_lengths(const std::vector<int64_t>& lengths, const Tensor& input) {
  check(input.dim() >= 2 && input.numel() > 0, "Cannot pack empty tensors.");
  check(std::ssize(lengths) == input.size(1), "Expected `len(lengths)` to be equal to batch_size, but got ", lengths.size(),
        " (batch_size=", input.size(1), ")");
  for (size_t i = 0; i < lengths.size(); ++i) {
    check(lengths[i] > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
    check(i == 0 || lengths[i] <= lengths[i - 1],
          "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
          "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.");
  }
  check(lengths[0] <= input.size(0), "Expected sequences of at most ", input.size(0), " steps, but a length is ", lengths[0]);
}

}  // namespace

Tensor invert_permutation(const Tensor& permutation) { return permutation.defined() ? argsort(permutation) : Tensor(); }

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices, Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(unsorted_indices.defined() ? std::move(unsorted_indices) : invert_permutation(sorted_indices_)) {
  check(batch_sizes_.device().is_cpu(),
        "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be instantiated by "
        "functions like pack_sequence and pack_padded_sequences in nn::utils::rnn. "
        "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence");
}

PackedSequence PackedSequence::to(TensorOptions options) const {
  const Tensor data = data_.to(options);
  const auto moved = [&](const Tensor& indices) { return indices.defined() ? indices.to(data.device()) : indices; };
  return PackedSequence(data, batch_sizes_, moved(sorted_indices_), moved(unsorted_indices_));
}

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first, bool enforce_sorted) {
  check(lengths.dim() == 1 && lengths.device().is_cpu(), "'lengths' argument should be a 1D CPU int64 tensor, but got ", lengths.dim(),
        "D ", lengths.device(), " ", lengths.scalar_type(), " tensor");
  lengths = lengths.to(kLong);
  Tensor sorted_indices;
  if (!enforce_sorted) {
    std::tie(lengths, sorted_indices) = sort(lengths, -1, true);
    sorted_indices = sorted_indices.to(input.device());
    input = input.index_select(batch_first ? 0 : 1, sorted_indices);
  }
  if (batch_first && input.dim() >= 2) input = input.transpose(0, 1);
  const std::vector<int64_t> sizes = numbers(lengths);
  check_lengths(sizes, input);
  std::vector<int64_t> batch_sizes;
  for (int64_t t = 0; t < sizes[0]; ++t)
    batch_sizes.push_back(std::count_if(sizes.begin(), sizes.end(), [&](int64_t length) { return length > t; }));
  const Tensor rows = input.reshape(with_rows(input, 2, {input.size(0) * input.size(1)}));
  return PackedSequence(rows.index_select(0, places(batch_sizes, input.size(1), input.device())), tensor(batch_sizes, kLong),
                        sorted_indices);
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, double padding_value,
                                               optional<int64_t> total_length) {
  const std::vector<int64_t> batch_sizes = numbers(sequence.batch_sizes());
  int64_t longest = std::ssize(batch_sizes);
  check(!total_length || *total_length >= longest,
        "Expected total_length to be at least the length of the longest sequence in input, but got total_length=", total_length.value_or(0),
        " and max sequence length being ", longest);
  longest = total_length.value_or(longest);
  const Tensor& data = sequence.data();
  const int64_t batch = batch_sizes[0];
  const Tensor empty = full(with_rows(data, 1, {longest * batch}), padding_value, data.options().requires_grad(false));
  Tensor padded = empty.index_copy(0, places(batch_sizes, batch, data.device()), data).reshape(with_rows(data, 1, {longest, batch}));
  std::vector<int64_t> sizes(static_cast<size_t>(batch), 0);
  for (const int64_t count : batch_sizes) {
    for (int64_t b = 0; b < count; ++b) ++sizes[static_cast<size_t>(b)];
  }
  if (batch_first) padded = padded.transpose(0, 1);
  const Tensor lengths = tensor(sizes, kLong), &back = sequence.unsorted_indices();
  if (!back.defined()) return {padded, lengths};
  return {padded.index_select(batch_first ? 0 : 1, back), lengths.index_select(0, back.cpu())};
}

PackedSequence pack_sequence(TensorList sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  for (const Tensor& sequence : sequences) lengths.push_back(sequence.size(0));
  return pack_padded_sequence(pad_sequence(sequences), tensor(lengths, kLong), false, enforce_sorted);
}

}  // namespace rnn
}  // namespace tenon::nn::utils
