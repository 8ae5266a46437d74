#include "gradients/tape.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>

namespace tape {

bool Recording::enabled = true;

namespace {
uint64_t recorded = 0;

std::vector<size_t> first_places(size_t count) {
  std::vector<size_t> places(count);
  for (size_t i = 0; i < count; ++i) places[i] = i;
  return places;
}

// A record whose elements are elements of others.
RecordRef copy_of(std::vector<RecordRef> edges, size_t count) {
  auto record = std::make_shared<Record>();
  record->count = count;
  record->sequence = ++recorded;
  record->edges = std::move(edges);
  return record;
}

size_t index_of(const Array& base, size_t place) {
  return static_cast<size_t>(std::find(base.places.begin(), base.places.end(), place) - base.places.begin());
}

RecordRef read_of_base(const Array& x) {
  if (!x.base->history) return copy_of({}, x.places.size());
  RecordRef record = copy_of({x.base->history}, x.places.size());
  for (size_t i = 0; i < x.places.size(); ++i) record->terms.push_back({i, 0, index_of(*x.base, x.places[i]), 1});
  return record;
}

void look_at_base(Array& x) {
  x.version = x.memory->version;
  x.history = read_of_base(x);
}
}  // namespace

int64_t numel(const Ints& sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

Numbers Array::values() const {
  Numbers result;
  for (const size_t place : places) result.push_back(memory->values[place]);
  return result;
}

bool Array::repeats() const { return std::set<size_t>(places.begin(), places.end()).size() != places.size(); }

ArrayRef constant(const Ints& sizes, const Numbers& values) {
  auto x = std::make_shared<Array>();
  x->memory = std::make_shared<Memory>(Memory{values, 0});
  x->sizes = sizes;
  x->places = first_places(values.size());
  return x;
}

ArrayRef parameter(const Ints& sizes, const Numbers& values) {
  ArrayRef x = constant(sizes, values);
  x->history = copy_of({}, values.size());
  x->history->is_leaf = true;
  x->history->leaf = x;
  return x;
}

RecordRef history_of(const ArrayRef& x) {
  if (x->base && (x->history || x->base->history) && x->memory->version != x->version) look_at_base(*x);
  return x->history;
}
bool requires_grad(const ArrayRef& x) { return history_of(x) != nullptr; }

// --- operations

Operation::Operation(std::vector<ArrayRef> operands, Ints out) : sizes(std::move(out)), operands_(std::move(operands)) {
  values.assign(static_cast<size_t>(numel(sizes)), 0);
  for (const ArrayRef& x : operands_) {
    const RecordRef history = Recording::enabled ? history_of(x) : nullptr;
    edge_.push_back(history ? record_->edges.size() : kNone);
    if (history) record_->edges.push_back(history);
  }
}

void Operation::term(size_t out, size_t operand, size_t in, double partial) {
  if (tracks(operand)) record_->terms.push_back({out, edge_[operand], in, partial});
}

void Operation::save(size_t operand) {
  const ArrayRef& x = operands_[operand];
  saved_.emplace_back(operand, Record::Saved{x->memory, x->memory->version});
  save_other();
}

bool Operation::bounded() const {
  return std::ranges::all_of(values, [](double v) { return std::abs(v) < 30; }) &&
         std::ranges::all_of(record_->terms, [](const Record::Term& t) { return std::abs(t.partial) < 30; });
}

ArrayRef Operation::finish() {
  ArrayRef x = constant(sizes, values);
  if (record_->edges.empty()) return x;
  record_->count = values.size();
  record_->sequence = ++recorded;
  for (auto& [operand, saved] : saved_) record_->saved.push_back(saved);
  if (saves_result_) record_->saved.push_back({x->memory, 0});
  record_->keeps |= saves_result_;
  x->history = record_;
  return x;
}

void Operation::write(const ArrayRef& self) {
  for (size_t i = 0; i < values.size(); ++i) self->memory->values[self->places[i]] = values[i];
  ++self->memory->version;
  if (record_->edges.empty()) return;
  record_->count = values.size();
  record_->sequence = ++recorded;
  for (auto& [operand, saved] : saved_) {
    if (operand != 0) record_->saved.push_back(saved);  // its own old value is kept as a copy
  }
  if (saves_result_) record_->saved.push_back({self->memory, self->memory->version});
  record_->keeps |= saves_result_;
  const ArrayRef base = self->base ? self->base : self;
  if (!self->base) {
    self->history = record_;
    return;
  }
  const bool tracked = base->history != nullptr;
  if (tracked && operands_[0] == self && tracks(0)) record_->edges[edge_[0]] = read_of_base(*self);  // past the hooks on what it was
  std::vector<RecordRef> edges = {record_};
  if (tracked) edges.push_back(base->history);
  RecordRef whole = copy_of(edges, base->places.size());
  whole->keeps = true;  // the written function
  for (size_t j = 0; j < base->places.size(); ++j) {
    const size_t i = index_of(*self, base->places[j]);
    if (i < self->places.size()) whole->terms.push_back({j, 0, i, 1});
    else if (tracked) whole->terms.push_back({j, 1, j, 1});
  }
  base->history = whole;
  look_at_base(*self);
}

ArrayRef view(const ArrayRef& x, const Ints& sizes, const std::vector<size_t>& chosen) {
  const RecordRef from = history_of(x);
  auto v = std::make_shared<Array>();
  v->memory = x->memory;
  v->sizes = sizes;
  v->base = x->base ? x->base : x;
  v->version = x->memory->version;
  if (from) v->history = copy_of({from}, chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    v->places.push_back(x->places[chosen[i]]);
    if (from) v->history->terms.push_back({i, 0, chosen[i], 1});
  }
  return v;
}

ArrayRef detach(const ArrayRef& x) {
  auto v = std::make_shared<Array>(*x);
  v->base = v->grad = nullptr;
  v->history = nullptr;
  return v;
}

// --- the backward pass

namespace {

struct State {
  int64_t waits = 0;  // for gradients still to come
  std::optional<Numbers> grad;
  bool needed = true;
};

class Pass {
 public:
  Pass(bool retain, double& largest, const std::vector<ArrayRef>& inputs) : retain_(retain), largest_(largest) {
    for (const ArrayRef& x : inputs) captured_.push_back(history_of(x));
    taken_.resize(inputs.size());
  }

  // If it throws, the leaves have the gradients that they had.
  std::vector<std::optional<Numbers>> run(const RecordRef& root, const Numbers& grad) {
    try {
      return differentiate(root, grad);
    } catch (const std::exception&) {
      for (const Before& b : before_) {
        if (!b.grad) b.leaf->grad = nullptr;
        else b.leaf->grad->memory->values = *b.grad;
      }
      throw;
    }
  }

 private:
  struct Before {
    ArrayRef leaf;
    std::optional<Numbers> grad;  // all of its memory
  };

  std::vector<std::optional<Numbers>> differentiate(const RecordRef& root, const Numbers& grad) {
    find(root);
    if (!captured_.empty()) find_needed();
    states_[root].grad = grad;
    ready(root);
    while (!queue_.empty()) {
      const RecordRef next = queue_.top().second;
      queue_.pop();
      visit(next);
    }
    return taken_;
  }

  void ready(const RecordRef& r) { queue_.push({r->is_leaf ? ~uint64_t{0} : r->sequence, r}); }

  void find(const RecordRef& root) {
    std::vector<RecordRef> waiting = {root};
    states_[root];
    while (!waiting.empty()) {
      const RecordRef r = waiting.back();
      waiting.pop_back();
      for (const RecordRef& edge : r->edges) {
        if (!states_.contains(edge)) waiting.push_back(edge);
        ++states_[edge].waits;
      }
    }
  }

  bool captures(const RecordRef& r) const { return std::ranges::find(captured_, r) != captured_.end(); }

  void find_needed() {
    std::vector<RecordRef> all;
    for (auto& [r, state] : states_) all.push_back(r);
    std::ranges::sort(all, {}, [](const RecordRef& r) { return r->is_leaf ? 0 : r->sequence; });
    for (const RecordRef& r : all) {
      const auto leads = [&](const RecordRef& edge) { return captures(edge) || (!edge->is_leaf && states_[edge].needed); };
      states_[r].needed = std::ranges::any_of(r->edges, leads);
    }
  }

  void visit(const RecordRef& r) {
    State& state = states_[r];
    if (state.grad) {
      for (double& g : *state.grad) {
        for (const auto& hook : r->hooks) g = hook(g);
        largest_ = std::max(largest_, std::abs(g));
      }
      for (size_t i = 0; i < captured_.size(); ++i) {
        if (captured_[i] == r) taken_[i] = state.grad;
      }
      if (r->is_leaf && captured_.empty()) accumulate(r->leaf.lock(), *state.grad);
    }
    const bool passes = state.grad && state.needed;
    if (passes) {
      if (r->released) throw Released();
      for (const Record::Saved& s : r->saved) {
        if (s.memory->version != s.version) throw Written();
      }
      for (const RecordRef& edge : r->edges) {
        std::optional<Numbers>& grad = states_[edge].grad;
        if (!grad) grad = Numbers(edge->count, 0.0);
      }
      for (const Record::Term& t : r->terms) (*states_[r->edges[t.edge]].grad)[t.in] += (*state.grad)[t.out] * t.partial;
    }
    if (!retain_ && state.needed && r->keeps) r->released = true;
    for (const RecordRef& edge : r->edges) {
      if (--states_[edge].waits == 0) ready(edge);
    }
  }

  void accumulate(const ArrayRef& leaf, const Numbers& grad) {
    before_.push_back({leaf, leaf->grad ? std::optional(leaf->grad->memory->values) : std::nullopt});
    if (!leaf->grad) leaf->grad = constant(leaf->sizes, Numbers(grad.size(), 0.0));
    for (size_t i = 0; i < grad.size(); ++i) leaf->grad->memory->values[leaf->grad->places[i]] += grad[i];
  }

  const bool retain_;
  double& largest_;
  std::map<RecordRef, State> states_;
  std::vector<Before> before_;  // leaves that have been accumulated to
  std::vector<RecordRef> captured_;
  std::vector<std::optional<Numbers>> taken_;
  std::priority_queue<std::pair<uint64_t, RecordRef>> queue_;
};

}  // namespace

std::vector<std::optional<Numbers>> backward(const ArrayRef& root, const Numbers& grad, bool retain, double& largest,
                                             const std::vector<ArrayRef>& inputs) {
  return Pass(retain, largest, inputs).run(history_of(root), grad);
}

}  // namespace tape
