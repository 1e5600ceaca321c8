// SPDX-License-Identifier: GPL-2.0
// Loaded BPF objects and their maps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct bpf_link;
struct bpf_object;

namespace djprobe::vm {

/// A loaded bpf/NAME.bpf.o.
class Object {
  public:
    /// Throws std::runtime_error.
    explicit Object(const std::string& name);
    int program(const std::string& name) const;
    int map(const std::string& name) const;

    /// Read or write an element by its 32-bit key; throw std::runtime_error.
    template <typename Value>
    Value get(const std::string& map_name, uint32_t key) const {
        Value value;
        lookup(map_name, &key, &value);
        return value;
    }
    template <typename Value>
    void set(const std::string& map_name, uint32_t key, const Value& value) const {
        update(map_name, &key, &value);
    }
    /// The sum over all CPUs of a per-CPU map's 64-bit element.
    uint64_t sum(const std::string& map_name, uint32_t key) const;

    struct Unlink {
        void operator()(bpf_link* link) const;
    };
    using Link = std::unique_ptr<bpf_link, Unlink>;
    /// The same program on a kprobe of the kernel's own. Empty where it refuses.
    Link kernel_kprobe(const std::string& program, const std::string& symbol, uint64_t offset,
                       uint64_t cookie) const;

  private:
    struct Close {
        void operator()(bpf_object* object) const;
    };
    void lookup(const std::string& map_name, const void* key, void* value) const;
    void update(const std::string& map_name, const void* key, const void* value) const;

    std::unique_ptr<bpf_object, Close> object_;
};

}  // namespace djprobe::vm
