// Attention by plain loops in double, and the operations on the same operands: for the tests of all code generators.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

#include "ir/graph/attention.h"
#include "ir/op/target.h"

namespace tenon::test::attention {

using ir::Dims;
using ir::DType;
using ir::NodeRef;
using ir::Op;

enum class Mask { None, Bool, Add };

struct Case {
  DType dtype = DType::F32;
  int64_t length = 1, sources = 1, depth = 1, value_depth = 1;
  bool causal = false;
  Mask mask = Mask::None;
  Dims query = {}, key = {}, value = {}, masks = {};  // batch dims
  bool mask_rows = true;                              // else one row for all queries
  int multiprocessors = 1;                            // 1: the largest tiles that fit
  int compute = 80;                                   // from 80 on halves are on tensor cores
  int64_t shared_bytes = ir::kStaticSharedBytes;
  std::optional<double> scale = std::nullopt;
  int64_t rows = 100;  // the dim of the results' rows, at most the last but one
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << ir::name(c.dtype) << " L=" << c.length << " S=" << c.sources << " E=" << c.depth << " Ev=" << c.value_depth
             << (c.causal ? " causal" : "") << " mask " << static_cast<int>(c.mask) << " on " << c.multiprocessors << " sm_" << c.compute
             << " with " << c.shared_bytes << " bytes, rows at " << c.rows;
}

inline Dims with(Dims batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

inline DType type_of_sums(DType dtype) { return ir::is_half(dtype) ? DType::F32 : dtype; }

// Elements as doubles, and in memory with a margin on both sides that must stay as it was.
struct Array {
  Array(DType type, Dims dims) : dtype(type), shape(std::move(dims)), numbers(static_cast<size_t>(ir::element_count(shape))) {
    words.assign(numbers.size() * static_cast<size_t>(ir::item_size(dtype)) / 8 + 2 * kMargin + 1, kUntouched);
  }
  static constexpr size_t kMargin = 8;
  static constexpr uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5u;
  char* data() { return reinterpret_cast<char*>(words.data() + kMargin); }

  void fill(std::mt19937& random, double low, double high) {
    std::uniform_real_distribution<double> any(low, high);
    for (double& x : numbers) x = dtype == DType::Bool ? static_cast<double>(random() % 4 != 0) : any(random);
    store();
  }
  void store() {  // and what it rounds to
    const auto item = static_cast<size_t>(ir::item_size(dtype));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const ir::Constant c = ir::constant(dtype, numbers[i]);
      numbers[i] = ir::to_double(c);
      std::memcpy(data() + i * item, &c.bits, item);
    }
  }
  void load() {
    const auto item = static_cast<size_t>(ir::item_size(dtype));
    for (size_t i = 0; i < numbers.size(); ++i) {
      ir::Constant c{dtype, 0};
      std::memcpy(&c.bits, data() + i * item, item);
      numbers[i] = ir::to_double(c);
    }
  }
  bool intact() const {
    const size_t bytes = numbers.size() * static_cast<size_t>(ir::item_size(dtype));
    const auto* end = reinterpret_cast<const char*>(words.data() + kMargin) + bytes;
    const auto* last = reinterpret_cast<const char*>(words.data() + words.size());
    return std::all_of(words.begin(), words.begin() + kMargin, [](uint64_t word) { return word == kUntouched; }) &&
           std::all_of(end, last, [](char c) { return c == static_cast<char>(0xa5); });
  }

  DType dtype;
  Dims shape;
  std::vector<double> numbers;
  std::vector<double> magnitudes = std::vector<double>(numbers.size());  // of a result: sums of the magnitudes of what is added
  std::vector<uint64_t> words;
};

// A batch of a matrix whose batch dims repeat where they are 1.
struct View {
  const double* first;
  int64_t rows, columns;
  double at(int64_t row, int64_t column) const { return first[(rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column)]; }
};
inline View batch_of(const Array& a, const Dims& index) {
  const size_t rank = a.shape.size();
  int64_t number = 0;
  for (size_t d = 0; d + 2 < rank; ++d) number = number * a.shape[d] + (a.shape[d] == 1 ? 0 : index[d]);
  const int64_t rows = a.shape[rank - 2], columns = a.shape[rank - 1];
  return {a.numbers.data() + number * rows * columns, rows, columns};
}

// The operands, and what plain loops make of them.
struct Reference {
  explicit Reference(const Case& c)
      : query(c.dtype, with(c.query, c.length, c.depth)),
        key(c.dtype, with(c.key, c.sources, c.depth)),
        value(c.dtype, with(c.value, c.sources, c.value_depth)),
        mask(c.mask == Mask::Bool ? DType::Bool : c.dtype, with(c.masks, c.mask_rows ? c.length : 1, c.sources)),
        batch(whole_batch(c)),
        result(c.dtype, with(batch, c.length, c.value_depth)),
        grad(c.dtype, result.shape),
        lse(type_of_sums(c.dtype), with(batch, c.length, 1)),
        saved(c.dtype, result.shape),
        query_grad(c.dtype, with(batch, c.length, c.depth)),
        key_grad(c.dtype, with(batch, c.sources, c.depth)),
        value_grad(c.dtype, with(batch, c.sources, c.value_depth)),
        scale(c.scale.value_or(1 / std::sqrt(static_cast<double>(c.depth)))) {
    std::mt19937 random(static_cast<unsigned>(c.length * 131 + c.sources));
    for (Array* a : {&query, &key, &value, &grad}) a->fill(random, -2, 2);
    mask.fill(random, -2, 2);
    if (c.mask == Mask::Bool) see_something(c);
    Dims index(batch.size(), 0);
    for (int64_t b = 0; b < ir::element_count(batch); ++b) {
      compute(c, index, b);
      for (size_t d = batch.size(); d-- > 0 && ++index[d] == batch[d];) index[d] = 0;
    }
    lse.store();
    saved.store();
  }

  static Dims whole_batch(const Case& c) {
    Dims batch = c.query;
    for (size_t d = 0; d < batch.size(); ++d)
      batch[d] = std::max({c.query[d], c.key[d], c.value[d], c.mask == Mask::None ? 1 : c.masks[d]});
    return batch;
  }

  // Each row sees a key: what rows make of none has a test of its own.
  void see_something(const Case& c) {
    for (size_t i = 0; i < mask.numbers.size(); i += static_cast<size_t>(c.sources)) mask.numbers[i] = 1;
    mask.store();
  }

  void compute(const Case& c, const Dims& index, int64_t b) {
    const View q = batch_of(query, index), k = batch_of(key, index), v = batch_of(value, index), m = batch_of(mask, index),
               g = batch_of(grad, index);
    const auto place = [&](const Array& a, int64_t row, int64_t column, int64_t columns) {
      return static_cast<size_t>((b * a.shape[a.shape.size() - 2] + row) * columns + column);
    };
    const auto at = [&](Array& a, int64_t row, int64_t column, int64_t columns) -> double& {
      return a.numbers[place(a, row, column, columns)];
    };
    const auto add = [&](Array& a, int64_t row, int64_t column, int64_t columns, double x) {
      a.numbers[place(a, row, column, columns)] += x;
      a.magnitudes[place(a, row, column, columns)] += std::abs(x);
    };
    for (int64_t i = 0; i < c.length; ++i) {
      std::vector<double> p(static_cast<size_t>(c.sources)), back(p.size());
      double most = -INFINITY, sum = 0, mean = 0;
      for (int64_t j = 0; j < c.sources; ++j) {
        double s = 0;
        for (int64_t e = 0; e < c.depth; ++e) s += q.at(i, e) * k.at(j, e);
        s *= scale;
        if (c.mask == Mask::Add) s += m.at(i, j);
        if ((c.mask == Mask::Bool && m.at(i, j) == 0) || (c.causal && j > i)) s = -INFINITY;
        p[static_cast<size_t>(j)] = s;
        most = std::max(most, s);
      }
      for (double& s : p) sum += s = std::exp(s - most);
      at(lse, i, 0, 1) = most + std::log(sum);
      for (int64_t j = 0; j < c.sources; ++j) {
        double& pj = p[static_cast<size_t>(j)];
        pj /= sum;
        for (int64_t e = 0; e < c.value_depth; ++e) {
          add(result, i, e, c.value_depth, pj * v.at(j, e));
          back[static_cast<size_t>(j)] += g.at(i, e) * v.at(j, e);
          add(value_grad, j, e, c.value_depth, pj * g.at(i, e));
        }
      }
      for (int64_t e = 0; e < c.value_depth; ++e) {  // from the result as it is stored
        const double x = ir::to_double(ir::constant(c.dtype, at(result, i, e, c.value_depth)));
        at(saved, i, e, c.value_depth) = x;
        mean += x * g.at(i, e);
      }
      for (int64_t j = 0; j < c.sources; ++j) {
        const double ds = p[static_cast<size_t>(j)] * (back[static_cast<size_t>(j)] - mean) * scale;
        for (int64_t e = 0; e < c.depth; ++e) {
          add(query_grad, i, e, c.depth, ds * k.at(j, e));
          add(key_grad, j, e, c.depth, ds * q.at(i, e));
        }
      }
    }
  }

  Array query, key, value, mask;
  Dims batch;
  Array result, grad, lse, saved, query_grad, key_grad, value_grad;
  double scale;
};

inline NodeRef placeholder(const Array& a) { return ir::make_input(a.dtype, a.shape); }

// The operation on placeholders, `count` results of it from number `first` on.
inline std::vector<NodeRef> nodes(const Case& c, Reference& r, Op op, size_t count, std::vector<Array*>& operands, int64_t first = 0) {
  operands = {&r.query, &r.key, &r.value};
  if (op == Op::AttentionGrad) operands.insert(operands.end(), {&r.grad, &r.lse, &r.saved});
  if (c.mask != Mask::None) operands.push_back(&r.mask);
  std::vector<NodeRef> inputs, made;
  for (const Array* a : operands) inputs.push_back(placeholder(*a));
  for (int64_t which = first; which < first + static_cast<int64_t>(count); ++which) {
    const bool lse = op == Op::Attention && which == static_cast<int64_t>(ir::AttentionResult::Lse);
    const int64_t last = static_cast<int64_t>(r.batch.size()), rows = lse ? last : std::min(c.rows, last);
    const int64_t ints[] = {c.causal, std::bit_cast<int64_t>(r.scale), rows, which};
    made.push_back(ir::make_node(op, inputs, ints, DType::F32, ir::Folding::Off));
  }
  return made;
}

// The numbers of a result in the order N.., L, Ev, wherever its rows are.
inline void load_rows_last(Array& result, const ir::Node& made) {
  result.load();
  const Dims dims = ir::attention_dims(made), strides = ir::contiguous_strides(made.shape());
  Dims shape, index(dims.size(), 0);
  for (const int64_t d : dims) shape.push_back(made.shape()[d]);
  std::vector<double> numbers;
  for (size_t i = 0; i < result.numbers.size(); ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < dims.size(); ++d) place += index[d] * strides[dims[d]];
    numbers.push_back(result.numbers[static_cast<size_t>(place)]);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  result.shape = shape;
  result.numbers = std::move(numbers);
}

inline double epsilon(DType dtype) {
  return dtype == DType::F64 ? 0x1p-53 : dtype == DType::F32 ? 0x1p-24 : dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
}

// One rounding of the result, and of each element of the sums behind it one relative to the greatest magnitudes there are. On tensor
// cores also one of each p and ds, before it is multiplied, and 2^-22 of its power.
inline void check_near(const Array& got, const Array& wanted, const Case& c, bool on_tensor_cores) {
  double greatest = 1;
  for (const double x : wanted.numbers) greatest = std::max(greatest, std::abs(x));
  const double sums = epsilon(type_of_sums(c.dtype)) * static_cast<double>(c.depth + c.value_depth + c.length + c.sources + 40);
  for (size_t i = 0; i < wanted.numbers.size(); ++i) {
    const double error = std::abs(got.numbers[i] - wanted.numbers[i]);
    const double factors = on_tensor_cores ? epsilon(c.dtype) * wanted.magnitudes[i] + 0x1p-22 * greatest : 0;
    const double bound = epsilon(got.dtype) * std::abs(wanted.numbers[i]) + sums * greatest + factors;
    if (error <= bound) continue;
    FAIL_CHECK("element " << i << ": " << got.numbers[i] << ", wanted " << wanted.numbers[i] << " within " << bound);
    return;
  }
}

}  // namespace tenon::test::attention
