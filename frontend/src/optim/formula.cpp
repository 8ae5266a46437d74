// Formulas by what they are applied to, and their graphs.
#include "frontend/src/optim/formula.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/tensor/pending.h"
#include "frontend/src/tensor/replay_key.h"
#include "ir/graph/memo.h"
#include "ir/graph/template.h"
#include "runtime/base/options.h"

namespace tenon {
namespace {

// What a formula does to tensors of some types.
struct Recorded {
  ir::Template graph;
  struct Write {
    uint32_t tensor;
    int64_t count;  // of writes to it
  };
  std::vector<Write> writes;  // in the order of the graph's outputs
  int64_t operations, bytes;  // of what it records
};

ReplayKey key_of(Formula formula, uint32_t form, std::span<const Tensor> tensors) {
  ReplayKey key;
  key.add(reinterpret_cast<const void*>(formula));
  key.add(uint64_t{form} << 32 | tensors.size());
  for (const Tensor& tensor : tensors) key.add(impl(tensor));
  return key;
}

ir::Memo<ReplayKey, Recorded>& memo() {
  static auto* const memo = new ir::Memo<ReplayKey, Recorded>;  // outlives every static optimizer
  return *memo;
}

// --- recording

// Over placeholders of the tensors, with these numbers.
Recorded record_once(Formula formula, uint32_t form, std::span<const Tensor> tensors, std::span<const double> numbers) {
  std::vector<NodeRef> operands, outputs;
  std::vector<Tensor> placeholders;
  for (const Tensor& tensor : tensors) {
    const TensorImpl& t = impl(tensor);
    operands.push_back(ir::make_input(t.dtype(), t.sizes(), nullptr, t.device()));
    placeholders.push_back(Tensor(new TensorImpl(operands.back()), false));
  }
  const UncountedWork work;
  formula(form, placeholders, numbers);
  std::vector<Recorded::Write> writes;
  for (uint32_t i = 0; i < placeholders.size(); ++i) {
    const TensorImpl& t = impl(placeholders[i]);
    if (t.version() == 0) continue;
    writes.push_back({i, t.version()});
    outputs.push_back(t.node());
  }
  return {ir::Template(operands, outputs), std::move(writes), work.operations(), work.bytes()};
}

// Numbers are found by recording with two sets of them, of which no operation makes anything special.
std::shared_ptr<const Recorded> record_formula(Formula formula, uint32_t form, std::span<const Tensor> tensors, size_t count) {
  std::vector<double> numbers, others;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(0.2718281828 + 0.0314159265 * static_cast<double>(i));
    others.push_back(0.3819660113 + 0.0141421356 * static_cast<double>(i));
  }
  Recorded recorded = record_once(formula, form, tensors, numbers);
  const Recorded other = record_once(formula, form, tensors, others);
  const bool usable = recorded.graph.is_closed() && recorded.graph.find_numbers(other.graph, numbers, others);
  return usable ? std::make_shared<const Recorded>(std::move(recorded)) : nullptr;
}

// --- applying

// Whether the tensors are plain and the numbers such as every float type has. All else is recorded as it comes.
bool may_repeat(std::span<const Tensor> tensors, std::span<const double> numbers) {
  if (!runtime::replays() || ir::Tape::current || this_thread.recorder) return false;
  constexpr double kLargest = 6e4;
  for (double number : numbers) {
    if (!(std::fabs(number) <= kLargest)) return false;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorImpl& t = impl(tensors[i]);
    if (!is_plain(t) || t.inference()) return false;
    for (size_t k = 0; k < i; ++k) {
      if (&impl(tensors[k]).storage() == &t.storage()) return false;
    }
  }
  return true;
}

// Their values; false if one has none.
bool read_values(std::span<const Tensor> tensors, std::vector<NodeRef>& values) {
  for (const Tensor& tensor : tensors) {
    values.push_back(plain_value(impl(tensor)));
    if (!values.back()) return false;
  }
  return true;
}

}  // namespace

void apply_formula(Formula formula, uint32_t form, std::span<const Tensor> tensors, std::span<const double> numbers) {
  std::vector<NodeRef> values;
  values.reserve(2 * tensors.size());
  if (!may_repeat(tensors, numbers) || !read_values(tensors, values)) return formula(form, tensors, numbers);
  const ReplayKey key = key_of(formula, form, tensors);
  auto found = memo().find(key);
  if (found.again) memo().note(key, found.kept = record_formula(formula, form, tensors, numbers.size()));
  if (!found.kept) return formula(form, tensors, numbers);
  const Recorded& recorded = *found.kept;
  std::vector<NodeRef> results;
  recorded.graph.make(values, numbers, results);
  for (size_t k = 0; k < results.size(); ++k) {
    const Tensor& written = tensors[recorded.writes[k].tensor];
    write(written, std::move(results[k]));
    for (int64_t count = 1; count < recorded.writes[k].count; ++count) impl(written).bump_version();
  }
  if (count_work(recorded.operations, recorded.bytes)) eval(TensorList(tensors.data(), tensors.size()));
}

}  // namespace tenon
