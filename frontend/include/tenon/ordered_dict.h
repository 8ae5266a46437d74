// A dictionary that keeps its order: LibTorch's OrderedDict, what named_parameters() and its like give.
//
//   for (const auto& item : net->named_parameters()) std::cout << item.key() << item->sizes();
//   dict["weight"];  dict[0].key();  dict.insert("bias", b);  dict.find("bias");
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/error.h"

namespace tenon {

// Pairs in the order of insertion; a key occurs once (else Error). Keys are strings in all of Tenon's own.
template <typename Key, typename Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    const Key& key() const { return pair_.first; }
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    Value& operator*() { return pair_.second; }
    const Value& operator*() const { return pair_.second; }
    Value* operator->() { return &pair_.second; }
    const Value* operator->() const { return &pair_.second; }
    const std::pair<Key, Value>& pair() const { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  explicit OrderedDict(std::string key_description = "Key") : what_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const Item& item : items) insert(item.key(), item.value());
  }
  const std::string& key_description() const { return what_; }

  size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }

  // Items by their position. Error if there is none.
  Item& front() { return checked_item(0, "Called front() on an empty OrderedDict"); }
  const Item& front() const { return const_cast<OrderedDict*>(this)->front(); }
  Item& back() { return checked_item(size() - 1, "Called back() on an empty OrderedDict"); }
  const Item& back() const { return const_cast<OrderedDict*>(this)->back(); }
  Item& operator[](size_t index) { return checked_item(index, "Index " + std::to_string(index) + " is out of bounds"); }
  const Item& operator[](size_t index) const { return const_cast<OrderedDict&>(*this)[index]; }

  // Values by their key: null (find) or an Error if there is none.
  Value* find(const Key& key) {
    const size_t place = place_of(key);
    return holds(place, key) ? &items_[by_key_[place]].value() : nullptr;
  }
  const Value* find(const Key& key) const { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const { return find(key) != nullptr; }
  Value& operator[](const Key& key) {
    if (Value* value = find(key)) return *value;
    throw Error(what_ + " '" + key + "' is not defined");
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }

  Value& insert(Key key, Value value) {
    const size_t place = place_of(key);
    if (holds(place, key)) throw Error(what_ + " '" + key + "' already defined");
    by_key_.insert(by_key_.begin() + static_cast<std::ptrdiff_t>(place), items_.size());
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().value();
  }
  void update(const OrderedDict& other) {  // inserts all of them
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void erase(const Key& key) {
    const size_t place = place_of(key);
    if (!holds(place, key)) throw Error("Key '" + key + "' doesn't exist");
    const size_t index = by_key_[place];
    by_key_.erase(by_key_.begin() + static_cast<std::ptrdiff_t>(place));
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(index));
    for (size_t& other : by_key_) other -= other > index;
  }
  void clear() {
    by_key_.clear();
    items_.clear();
  }
  void reserve(size_t count) {
    by_key_.reserve(count);
    items_.reserve(count);
  }

  const std::vector<Item>& items() const { return items_; }
  std::vector<Key> keys() const {
    return collected<Key>([](const Item& item) -> const Key& { return item.key(); });
  }
  std::vector<Value> values() const {
    return collected<Value>([](const Item& item) -> const Value& { return item.value(); });
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    return collected<std::pair<Key, Value>>([](const Item& item) -> const auto& { return item.pair(); });
  }
  // The same keys and values in the same order.
  friend bool operator==(const OrderedDict& a, const OrderedDict& b) { return a.pairs() == b.pairs(); }

 private:
  Item& checked_item(size_t index, const std::string& message) {
    if (index >= items_.size()) throw Error(message);
    return items_[index];
  }
  // Where the key stands in by_key_, or would.
  size_t place_of(const Key& key) const {
    size_t first = 0, last = by_key_.size();
    while (first < last) {
      const size_t middle = first + (last - first) / 2;
      if (items_[by_key_[middle]].key() < key) first = middle + 1;
      else last = middle;
    }
    return first;
  }
  bool holds(size_t place, const Key& key) const { return place < by_key_.size() && items_[by_key_[place]].key() == key; }
  template <typename Part, typename Of>
  std::vector<Part> collected(Of part) const {
    std::vector<Part> parts;
    parts.reserve(items_.size());
    for (const Item& item : items_) parts.push_back(part(item));
    return parts;
  }

  std::vector<Item> items_;
  std::vector<size_t> by_key_;  // positions in items_, sorted by key
  std::string what_;
};

}  // namespace tenon
