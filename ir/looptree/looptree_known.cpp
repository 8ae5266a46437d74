// Following known trees: comparing statement by statement, and giving back what was passed. See TreeFollower.
#include <algorithm>
#include <utility>

#include "ir/looptree/looptree.h"

namespace tenon::ir {
namespace {

// But for what is in their blocks.
bool same_head(const Stmt& a, const Stmt& b) {
  return a.kind == b.kind && a.op == b.op && a.strided == b.strided && a.unroll == b.unroll && a.transposed == b.transposed &&
         a.fast == b.fast && a.buffer == b.buffer && a.slot == b.slot && a.result == b.result && a.mask == b.mask && a.step == b.step &&
         a.bits == b.bits && a.args == b.args;
}

bool same(const Stmt& a, const Stmt& b);
// The first `count` of each.
bool same(const std::vector<Stmt>& a, const std::vector<Stmt>& b, size_t count) {
  if (a.size() < count || b.size() < count) return false;
  const auto end = a.begin() + static_cast<std::ptrdiff_t>(count);
  return std::equal(a.begin(), end, b.begin(), [](const Stmt& x, const Stmt& y) { return same(x, y); });
}
bool same(const std::vector<Stmt>& a, const std::vector<Stmt>& b) { return a.size() == b.size() && same(a, b, a.size()); }
bool same(const Stmt& a, const Stmt& b) { return same_head(a, b) && same(a.body, b.body) && same(a.orelse, b.orelse); }

bool same(const TreeBuffer& a, const TreeBuffer& b) {
  return a.dtype == b.dtype && a.space == b.space && a.size_param == b.size_param && a.count == b.count && a.aliased == b.aliased &&
         a.stages == b.stages;
}

// All but the statements.
bool same_frame(const LoopTree& a, const LoopTree& b) {
  const auto same_phase = [](const Phase& x, const Phase& y) { return x.index == y.index && x.extent == y.extent; };
  const auto same_buffer = [](const TreeBuffer& x, const TreeBuffer& y) { return same(x, y); };
  return a.target == b.target && a.lanes == b.lanes && a.threads == b.threads && a.resident == b.resident && a.index_type == b.index_type &&
         a.scalars == b.scalars && a.size_count == b.size_count && a.values == b.values &&
         std::equal(a.buffers.begin(), a.buffers.end(), b.buffers.begin(), b.buffers.end(), same_buffer) &&
         std::equal(a.phases.begin(), a.phases.end(), b.phases.begin(), b.phases.end(), same_phase);
}

}  // namespace

template <typename Matches>
bool TreeFollower::goes_on(const Matches& matches) {
  if (matches()) return true;
  for (size_t k = 1; k < known_.size(); ++k) {
    if (!take_up(*known_[k])) continue;
    known_ = known_.subspan(k);
    return goes_on(matches);
  }
  return false;
}

// Follows it from where the first one was followed to, if all that was passed is the same there.
bool TreeFollower::take_up(const LoopTree& other) {
  if (other.phases.size() < phases_ + (path_.empty() ? 0 : 1)) return false;
  for (size_t p = 0; p < phases_; ++p) {
    if (!same(known_[0]->phases[p].body, other.phases[p].body)) return false;
  }
  std::vector<Place> path = path_;
  for (size_t d = 0; d < path.size(); ++d) {
    const bool innermost = d + 1 == path.size();
    path[d].block = d == 0 ? &other.phases[phases_].body : path[d].block;
    if (!same(*path_[d].block, *path[d].block, path[d].passed)) return false;
    if (innermost) break;
    if (path[d].at_end() || !same_head(path_[d].next(), path[d].next())) return false;
    const bool in_else = path_[d + 1].block == &path_[d].next().orelse;
    if (in_else && !same(path_[d].next().body, path[d].next().body)) return false;
    path[d + 1].block = in_else ? &path[d].next().orelse : &path[d].next().body;
  }
  path_ = std::move(path);
  return true;
}

bool TreeFollower::next_is(const Stmt& stmt) const { return !path_.back().at_end() && same_head(path_.back().next(), stmt); }

bool TreeFollower::begin_phase() {
  if (!goes_on([&] { return phases_ < known_[0]->phases.size(); })) return false;
  path_.push_back({&known_[0]->phases[phases_].body, 0});
  return true;
}

bool TreeFollower::end_phase() {
  if (!goes_on([&] { return path_.back().at_end(); })) return false;
  path_.pop_back();
  ++phases_;
  return true;
}

bool TreeFollower::statement(const Stmt& stmt) {
  if (!goes_on([&] { return next_is(stmt); })) return false;
  ++path_.back().passed;
  return true;
}

bool TreeFollower::operation(Op op, std::span<const ValueId> args, ValueId result) {
  if (!active() || path_.empty() || path_.back().at_end()) return false;
  const Stmt& next = path_.back().next();
  if (next.kind != StmtKind::Let || next.op != op || next.result != result || next.slot >= 0 || next.bits != 0 || next.fast ||
      !std::equal(args.begin(), args.end(), next.args.begin(), next.args.end()))
    return false;
  ++path_.back().passed;
  return true;
}

bool TreeFollower::begin(const Stmt& header) {
  if (!goes_on([&] { return next_is(header); })) return false;
  path_.push_back({&path_.back().next().body, 0});
  return true;
}

bool TreeFollower::begin_else() {
  if (!goes_on([&] { return path_.back().at_end(); })) return false;
  path_.back() = {&path_[path_.size() - 2].next().orelse, 0};
  return true;
}

bool TreeFollower::end() {
  const auto ends = [&] {
    const Stmt& stmt = path_[path_.size() - 2].next();
    return path_.back().at_end() && (stmt.orelse.empty() || path_.back().block == &stmt.orelse);
  };
  if (!goes_on(ends)) return false;
  path_.pop_back();
  ++path_.back().passed;
  return true;
}

bool TreeFollower::finish(const LoopTree& tree) {
  return goes_on([&] { return same_frame(tree, *known_[0]); });
}

void TreeFollower::copy_to(LoopTree& tree, std::vector<std::vector<Stmt>>& open, std::vector<Stmt>& headers) {
  for (size_t p = 0; p < phases_; ++p) tree.phases[p].body = known_[0]->phases[p].body;
  for (size_t d = 0; d < path_.size(); ++d) {
    const Place& place = path_[d];
    open[d].assign(place.block->begin(), place.block->begin() + static_cast<std::ptrdiff_t>(place.passed));
    if (d > 0 && place.block == &path_[d - 1].next().orelse) headers[d - 1].body = path_[d - 1].next().body;
  }
  known_ = {};
}

}  // namespace tenon::ir
