// Einstein sums. Every operand is brought to one order of dims, [result..., summed...], with size 1 where it
// lacks one; then they are multiplied from left to right, and a dim is summed as soon as no later operand has
// it.
//
//   "bij,bjk->bik"   a [b, i, 1, j]  b [b, 1, k, j]   ->   bmm([b, i, j], [b, j, k])
#include <algorithm>
#include <array>
#include <map>

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/text.h"
#include "tenon/algebra.h"

namespace tenon {
namespace {

constexpr int kLetters = 52, kEllipsis = 52;  // A-Z, a-z

int number_of(char letter) { return letter <= 'Z' ? letter - 'A' : letter - 'a' + 26; }
char letter_of(int number) { return static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26); }

using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> operands;
  optional<Labels> output;
};

Equation parse(std::string_view text) {
  Equation equation;
  const size_t arrow = text.find("->");
  const std::string_view lhs = text.substr(0, arrow);
  equation.operands.emplace_back();
  bool ellipsis = false;
  const auto read = [&](std::string_view part, size_t& i, size_t base, Labels& into, const std::string& whose) {
    const char c = part[i];
    if (c == '.') {
      check(!ellipsis, "einsum(): found '.' for ", whose, " for which an ellipsis was already found");
      check(part.substr(i, 3) == "...", "einsum(): found '.' for ", whose, " that is not part of any ellipsis");
      i += 2;
      ellipsis = true;
      into.push_back(kEllipsis);
    } else if (c != ' ') {
      check(ir::is_letter(c), "einsum(): invalid subscript given at index ", base + i,
            " in the equation string, subscripts must be in [a-zA-Z]");
      into.push_back(number_of(c));
    }
  };
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (lhs[i] == ',') {
      equation.operands.emplace_back();
      ellipsis = false;
    } else {
      read(lhs, i, 0, equation.operands.back(), "operand " + std::to_string(equation.operands.size() - 1));
    }
  }
  if (arrow == std::string_view::npos) return equation;
  equation.output.emplace();
  ellipsis = false;
  const std::string_view rhs = text.substr(arrow + 2);
  for (size_t i = 0; i < rhs.size(); ++i) read(rhs, i, arrow + 2, *equation.output, "output");
  return equation;
}

// How many dims the ellipsis stands for, the most over the operands.
int64_t ellipsis_dims(const Equation& equation, TensorList tensors) {
  int64_t most = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Labels& labels = equation.operands[i];
    const bool has = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
    const int64_t named = std::ssize(labels) - has, rank = tensors[i].dim();
    check(has || named == rank, "einsum(): the number of subscripts in the equation (", named,
          ") does not match the number of dimensions (", rank, ") for operand ", i, " and no ellipsis was given");
    check(named <= rank, "einsum(): the number of subscripts in the equation (", named, ") is more than the number of dimensions (", rank,
          ") for operand ", i);
    if (has) most = std::max(most, rank - named);
  }
  return most;
}

// Positions of the labels in the common order of dims; the ellipsis takes `ellipsis` positions.
struct DimLayout {
  std::array<int64_t, kLetters + 1> position;
  int64_t outputs = 0, rank = 0;
};

DimLayout layout_of(const Equation& equation, int64_t ellipsis) {
  std::array<int, kLetters + 1> uses{};
  for (const Labels& labels : equation.operands) {
    for (int l : labels) ++uses[at(l)];
  }
  DimLayout layout;
  layout.position.fill(-1);
  const auto place = [&](int label) {
    layout.position[at(label)] = layout.rank;
    layout.rank += label == kEllipsis ? ellipsis : 1;
  };
  if (equation.output) {
    for (int l : *equation.output) {
      if (l == kEllipsis) {
        place(l);
        continue;
      }
      check(layout.position[at(l)] < 0, "einsum(): output subscript ", letter_of(l), " appears more than once in the output");
      check(uses[at(l)] > 0, "einsum(): output subscript ", letter_of(l), " does not appear in the equation for any input operand");
      place(l);
    }
  } else {
    if (uses[kEllipsis]) place(kEllipsis);
    for (int l = 0; l < kLetters; ++l) {
      if (uses[at(l)] == 1) place(l);
    }
  }
  layout.outputs = layout.rank;
  for (int l = 0; l <= kLetters; ++l) {
    if (uses[at(l)] > 0 && layout.position[at(l)] < 0) place(l);
  }
  return layout;
}

// The operand in the common order of dims. A label that occurs twice is its diagonal.
Tensor arranged(const Tensor& x, const Labels& labels, const DimLayout& layout, int64_t ellipsis, size_t operand) {
  Dims sizes(at(layout.rank), 1), strides(at(layout.rank), 0);
  ElementMap own{strides};
  const Dims own_strides = ir::contiguous_strides(impl(x).sizes());
  std::vector<bool> seen(at(layout.rank));
  const int64_t covered = x.dim() - std::ssize(labels) + 1;  // by the ellipsis, if there is one
  int64_t dim = 0;
  for (int label : labels) {
    const int64_t count = label == kEllipsis ? covered : 1;
    const int64_t first = layout.position[at(label)] + (label == kEllipsis ? ellipsis - covered : 0);
    for (int64_t i = 0; i < count; ++i, ++dim) {
      const size_t to = at(first + i);
      const int64_t size = x.size(dim);
      check(!seen[to] || sizes[to] == size, "einsum(): subscript ", label == kEllipsis ? '.' : letter_of(label),
            " is repeated for operand ", operand, " but the sizes don't match, ", size, " != ", sizes[to]);
      seen[to] = true;
      sizes[to] = size;
      strides[to] += impl(x).strides()[at(dim)];
      own.strides[to] += own_strides[at(dim)];
    }
  }
  if (impl(x).sizes() == sizes && impl(x).strides() == strides) return x;
  return make_view(x, ref(sizes), ref(strides), x.storage_offset(), &own);
}

void check_broadcast(const std::vector<Tensor>& operands, const DimLayout& layout) {
  Dims known(at(layout.rank), 1);
  for (size_t i = 0; i < operands.size(); ++i) {
    for (int64_t d = 0; d < layout.rank; ++d) {
      const int64_t size = operands[i].size(d);
      const auto label = std::find(layout.position.begin(), layout.position.begin() + kLetters, d);
      const auto l = static_cast<int>(label - layout.position.begin());
      check(size == 1 || known[at(d)] == 1 || known[at(d)] == size, "einsum(): subscript ",
            l < kLetters ? std::string(1, letter_of(l)) : "...", " has size ", size, " for operand ", i,
            " which does not broadcast with previously seen size ", known[at(d)]);
      if (known[at(d)] == 1) known[at(d)] = size;
    }
  }
}

int64_t product_of(const Tensor& x, const std::vector<int64_t>& dims) {
  Dims sizes;
  for (int64_t d : dims) sizes.push_back(x.size(d));
  return checked_numel(ref(sizes));
}

std::vector<int64_t> joined(std::initializer_list<const std::vector<int64_t>*> parts) {
  std::vector<int64_t> all;
  for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

// The sum of left * right over `summed`, whose dims keep size 1. Both have the same rank; sizes of 1
// broadcast.
Tensor sum_of_products(Tensor left, Tensor right, const std::vector<int64_t>& summed) {
  std::vector<int64_t> batch, rows, columns, contracted;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const bool in_left = left.size(d) != 1, in_right = right.size(d) != 1;
    if (std::find(summed.begin(), summed.end(), d) != summed.end()) {
      if (in_left && in_right) contracted.push_back(d);
      if (in_left && !in_right) left = sum(left, d, true);
      if (in_right && !in_left) right = sum(right, d, true);
    } else if (in_left && in_right) {
      batch.push_back(d);
    } else if (in_left) {
      rows.push_back(d);
    } else if (in_right) {
      columns.push_back(d);
    }
  }
  if (contracted.empty()) return mul(left, right);
  // A product and a sum where there is no matrix; the sum of integers stays in their type, as in the matrix
  // product.
  if (rows.empty() && columns.empty()) {
    check(left.scalar_type() == right.scalar_type(), "expected scalar type ", left.scalar_type(), " but found ", right.scalar_type());
    check<NotImplementedError>(left.scalar_type() != kBool, "\"bmm\" not implemented for 'Bool'");
    const Tensor product = mul(left, right);
    return sum(product, contracted, true, product.scalar_type());
  }
  std::vector<int64_t> rest;  // size 1 in both
  Dims shape;
  for (int64_t d : batch) shape.push_back(left.size(d));
  for (int64_t d : rows) shape.push_back(left.size(d));
  for (int64_t d : columns) shape.push_back(right.size(d));
  std::vector<int64_t> order = joined({&batch, &rows, &columns});
  for (int64_t d = 0; d < left.dim(); ++d) {
    if (std::find(order.begin(), order.end(), d) != order.end()) continue;
    order.push_back(d);
    shape.push_back(1);
    if (std::find(contracted.begin(), contracted.end(), d) == contracted.end()) rest.push_back(d);
  }
  const int64_t b = product_of(left, batch), k = product_of(left, contracted);
  const Tensor a = reshape(permute(left, joined({&batch, &rows, &contracted, &columns, &rest})), {b, product_of(left, rows), k});
  const Tensor c = reshape(permute(right, joined({&batch, &contracted, &columns, &rows, &rest})), {b, k, product_of(right, columns)});
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[at(order[i])] = static_cast<int64_t>(i);
  return permute(reshape(bmm(a, c), ref(shape)), back);
}

}  // namespace

Tensor einsum(std::string_view text, TensorList tensors, OptionalIntArrayRef) {
  const CallScope call("einsum", tensors);
  check(!tensors.empty(), "einsum(): must provide at least one operand");
  const Equation equation = parse(text);
  check(equation.operands.size() >= tensors.size(), "einsum(): more operands were provided than specified in the equation");
  check(equation.operands.size() <= tensors.size(), "einsum(): fewer operands were provided than specified in the equation");
  const int64_t ellipsis = ellipsis_dims(equation, tensors);
  const DimLayout layout = layout_of(equation, ellipsis);
  std::vector<Tensor> operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back(arranged(tensors[i], equation.operands[i], layout, ellipsis, i));
  }
  check_broadcast(operands, layout);
  std::vector<size_t> last(at(layout.rank), 0);  // operand that has the dim
  for (size_t i = 0; i < operands.size(); ++i) {
    for (int64_t d = 0; d < layout.rank; ++d) {
      if (operands[i].size(d) != 1) last[at(d)] = i;
    }
  }
  Tensor result = operands[0];
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<int64_t> summed;
    for (int64_t d = layout.outputs; d < layout.rank; ++d) {
      if (last[at(d)] == i && (i > 0 || result.size(d) != 1)) summed.push_back(d);  // nothing is summed over size 1
    }
    if (i > 0) result = sum_of_products(result, operands[i], summed);
    else if (!summed.empty()) result = sum(result, summed, operands.size() > 1);
  }
  if (result.dim() != layout.outputs) return reshape(result, {result.sizes().data(), at(layout.outputs)});
  return result.is_same(tensors[0]) ? expand(result, result.sizes()) : result;  // a view, never the operand
}

Tensor tensordot(const Operand& a, const Operand& b, IntArrayRef dims_a, IntArrayRef dims_b) {
  const CallScope call("tensordot", a, b);
  check(dims_a.size() == dims_b.size(), "both dimension lists should have same length");
  Dims da, db;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    da.push_back(wrap_dim(dims_a[i], a.dim()));
    db.push_back(wrap_dim(dims_b[i], b.dim()));
    const int64_t sa = a.size(da[i]), sb = b.size(db[i]);
    check(sa == sb || sa == 1 || sb == 1, "contracted dimensions need to match, but first has size ", sa, " in dim ", dims_a[i],
          " and second has size ", sb, " in dim ", dims_b[i]);
  }
  wrap_dims(ref(da), a.dim());  // refuses repeated dims
  wrap_dims(ref(db), b.dim());
  Tensor x = a, y = b;
  for (size_t i = 0; i < da.size(); ++i) {  // a dim of size 1 meets the other's sum
    if (x.size(da[i]) == 1 && y.size(db[i]) != 1) y = sum(y, db[i], true);
    if (y.size(db[i]) == 1 && x.size(da[i]) != 1) x = sum(x, da[i], true);
  }
  const auto contains = [](const Dims& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  std::vector<int64_t> order_x, order_y(db.begin(), db.end());
  Dims shape, contracted;
  int64_t rows = 1, columns = 1, k = 1;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (contains(da, d)) continue;
    order_x.push_back(d);
    shape.push_back(x.size(d));
    rows *= x.size(d);
  }
  order_x.insert(order_x.end(), da.begin(), da.end());
  for (int64_t d : da) k *= x.size(d);
  for (int64_t d = 0; d < y.dim(); ++d) {
    if (contains(db, d)) continue;
    order_y.push_back(d);
    shape.push_back(y.size(d));
    columns *= y.size(d);
  }
  checked_numel(ref(shape));
  return reshape(mm(reshape(permute(x, order_x), {rows, k}), reshape(permute(y, order_y), {k, columns})), ref(shape));
}

}  // namespace tenon
