// SPDX-License-Identifier: GPL-2.0
// The two locks, and the kernel's text as the patch protocol sees it.
#pragma once

#include "../../arch/x86/detour/patch.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// Holds the registry lock for a scope.
class RegistryLock {
  public:
    RegistryLock() { djk_registry_lock(); }
    ~RegistryLock() { djk_registry_unlock(); }
    RegistryLock(const RegistryLock&) = delete;
    RegistryLock& operator=(const RegistryLock&) = delete;
};

/// Holds djk_text_lock() as long as it lives: what happens under one object is one transition to
/// all other patchers.
class KernelText {
  public:
    KernelText() { djk_text_lock(); }
    ~KernelText() { djk_text_unlock(); }
    KernelText(const KernelText&) = delete;
    KernelText& operator=(const KernelText&) = delete;

    void write(u64 address, Span<const u8> bytes) {
        djk_text_write(address, bytes.data(), bytes.size());
    }
    void sync_cores() { djk_text_sync(); }
    /// Whether the kernel has kprobes of its own. None comes or goes meanwhile.
    bool has_kprobes() const {
        if (kprobes_ == Kprobes::NotAsked)
            kprobes_ = djk_has_kprobes() ? Kprobes::Some : Kprobes::None;
        return kprobes_ == Kprobes::Some;
    }
    bool matches(u64 address, Span<const u8> bytes) const {
        // Text stays readable, and text_mutex keeps every writer out.
        const auto* text = reinterpret_cast<const volatile u8*>(address);
        for (size_t i = 0; i < bytes.size(); ++i)
            if (text[i] != bytes[i]) return false;
        return true;
    }

  private:
    enum class Kprobes : u8 { NotAsked, None, Some };
    mutable Kprobes kprobes_ = Kprobes::NotAsked;
};

static_assert(x86::TextPort<KernelText>);

}  // namespace djprobe::kmod
