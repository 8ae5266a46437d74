// Formulas by what they are applied to, and their graphs.
#include "frontend/src/tensor/formula.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <vector>

#include "frontend/src/autograd/recording.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/pending.h"
#include "ir/mix.h"
#include "ir/template.h"

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

// The formula, its form, and of each tensor dtype, device and shape.
using Key = SmallVector<uint64_t, 24>;
struct HashOfKey {
  size_t operator()(const Key& key) const {
    uint64_t hash = key.size();
    for (uint64_t word : key) hash = ir::mix(hash, word);
    return hash;
  }
};

Key key_of(Formula formula, uint32_t form, std::span<const Tensor> tensors) {
  Key key;
  key.push_back(reinterpret_cast<uintptr_t>(formula));
  key.push_back(uint64_t{form} << 32 | tensors.size());
  for (const Tensor& tensor : tensors) {
    const TensorImpl& t = impl(tensor);
    key.push_back(static_cast<uint64_t>(t.dtype()) | uint64_t{static_cast<uint8_t>(t.device())} << 8 | t.sizes().size() << 16);
    for (int64_t size : t.sizes()) key.push_back(static_cast<uint64_t>(size));
  }
  return key;
}

// By key, under the lock of the graph. Null: it was applied once, or what it records is no matter of the tensors' types.
class Book {
 public:
  struct Entry {
    bool recorded = false;
    std::shared_ptr<const Recorded> formula;
  };
  static Book& get() {
    static auto* const book = new Book;  // outlives every static optimizer
    return *book;
  }
  // The entry, and whether this is the first time that it is asked for.
  std::pair<Entry, bool> find(const Key& key) {
    const auto held = ir::hold_graph();
    if (entries_.size() >= kMost) entries_.clear();
    const auto [at, fresh] = entries_.try_emplace(key);
    return {at->second, fresh};
  }
  void keep(const Key& key, std::shared_ptr<const Recorded> formula) {
    const auto held = ir::hold_graph();
    entries_[key] = {true, std::move(formula)};
  }

 private:
  static constexpr size_t kMost = 4096;
  std::unordered_map<Key, Entry, HashOfKey> entries_;
};

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

// Whether each tensor is all of a storage of its own, whose value may be replaced at any time, and the numbers are such as every float
// type has. All else is recorded as it comes.
bool is_plain(std::span<const Tensor> tensors, std::span<const double> numbers) {
  if (ir::Tape::current || GradScope::open()) return false;
  constexpr double kLargest = 6e4;
  for (double number : numbers) {
    if (!(std::fabs(number) <= kLargest)) return false;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorImpl& t = impl(tensors[i]);
    if (!t.contiguous() || t.offset() != 0 || t.base.defined() || t.inference() || t.numel() == 0) return false;
    for (size_t k = 0; k < i; ++k) {
      if (&impl(tensors[k]).storage() == &t.storage()) return false;
    }
  }
  return true;
}

// Their values; false if one is not what the tensor shows, or is memory that others may write.
bool read_values(std::span<const Tensor> tensors, std::vector<NodeRef>& values) {
  for (const Tensor& tensor : tensors) {
    const TensorImpl& t = impl(tensor);
    values.push_back(t.storage().value());
    const ir::Node& value = *values.back();
    if (value.dtype() != t.dtype() || !(value.shape() == t.sizes()) || value.reads_volatile()) return false;
  }
  return true;
}

}  // namespace

void apply_formula(Formula formula, uint32_t form, std::span<const Tensor> tensors, std::span<const double> numbers) {
  std::vector<NodeRef> values;
  values.reserve(2 * tensors.size());
  if (!is_plain(tensors, numbers) || !read_values(tensors, values)) return formula(form, tensors, numbers);
  const Key key = key_of(formula, form, tensors);
  auto [entry, first] = Book::get().find(key);
  if (first) return formula(form, tensors, numbers);
  if (!entry.recorded) Book::get().keep(key, entry.formula = record_formula(formula, form, tensors, numbers.size()));
  if (!entry.formula) return formula(form, tensors, numbers);
  const Recorded& recorded = *entry.formula;
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
