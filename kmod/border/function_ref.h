// SPDX-License-Identifier: GPL-2.0
// A reference to a callable, for interfaces that are no templates.
#pragma once

namespace djprobe::kmod {

template <class Signature>
class FunctionRef;

/// Refers to a callable, which must outlive the call that it is passed to. Copies and allocates
/// nothing.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
  public:
    template <class Callable>
    FunctionRef(const Callable& callable)  // NOLINT(google-explicit-constructor): lambdas convert
        : object_(&callable), call_([](const void* object, Arguments... arguments) -> Result {
              return (*static_cast<const Callable*>(object))(arguments...);
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

  private:
    const void* object_;
    Result (*call_)(const void* object, Arguments... arguments);
};

}  // namespace djprobe::kmod
