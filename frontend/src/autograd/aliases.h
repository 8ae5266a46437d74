// Views and writes, with what autograd has to say of them: whether self may be written, and what it is a function of then.
#pragma once

#include "frontend/src/autograd/history.h"

namespace tenon {

// --- views

// `own`: what it is a function of; without it that is the memory, in which elements of the source may share a place.
Tensor make_view(const Tensor& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset, const ElementMap* own = nullptr);
// What make_view owes to autograd: the base of the view, and a GradFn where no scope gives one.
void adopt_view(const Tensor& source, const Tensor& view, const ElementMap* own = nullptr);
void forget_base(const Tensor& view);  // it shares memory, and is no view

// --- writes

// Throws if autograd forbids a write to self: a leaf that requires grad, a view of one, one of several views.
// `recording`: does what is written require grad?
void check_writable(const Tensor& self, bool recording = this_thread.recorder && this_thread.grad_mode);
// These replace elements (see replace_elements and replace_places in impl.h) by the operation of the current scope: self, and the
// tensor that it shows, get its history.
void write(const Tensor& self, NodeRef value);
void write_places(const Tensor& self, const NodeRef& places, const NodeRef& values, Op op);
// A write that chose no element: self stays as it is, and is written all the same.
void write_nothing(const Tensor& self);

// self takes the elements of a result that has its shape, and its history; they are cast to its dtype. Error if the shapes
// differ or the result's type is of a higher category.
//
//   Tensor& Tensor::exp_() const { return assign(*this, tenon::exp(*this)); }
Tensor& assign(const Tensor& self, const Tensor& result);
// self becomes another view, made of it, of the same memory.
Tensor& reshape_in_place(const Tensor& self, const Tensor& view);

}  // namespace tenon
