// SPDX-License-Identifier: GPL-2.0
// A callable of another's, passed through an interface that is no template.
#pragma once

namespace djprobe::kmod {

template <class Signature>
class FunctionRef;

/// Refers to a callable that outlives the call it is passed to. Copies nothing, allocates nothing.
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
