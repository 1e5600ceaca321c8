// SPDX-License-Identifier: GPL-2.0
// From the name that a caller gives to addresses.
#include "../facts/kernel_text.h"
#include "../facts/shadow_entry.h"
#include "registry.h"
#include "targets.h"

namespace djprobe::kmod {
namespace {

/// Move `address` from a function's first byte to its entry. `function` is the function whose entry
/// that is, or 0. `inside`: it was not the first byte.
Refusal locate_address(u64& address, u64& function, bool& inside) {
    u64 start = 0, size = 0;
    if (!djk_symbol_range(address, &start, &size) || !djk_has_name(address))
        return Refusal{Reason::NOT_TEXT};
    const u64 entry = djk_function_entry(start);
    inside = address != start;
    if (!inside) address = entry;
    function = address == entry ? start : 0;
    return {};
}

/// Where the places end that are counted from a symbol: from `_text`, the kernel's first byte, any
/// of its functions may be reached. Those of one name are told apart so, by a number that outlives
/// the boot. By another name of that byte, as startup_64, a place behind its function is a mistake.
u64 end_of_places(const char* name, u64 symbol, u64 size) {
    return __builtin_strcmp(name, "_text") == 0 ? core_text().end : symbol + size;
}

/// Find the address that a request names; also sets request.address and request.inside.
Refusal locate(djp_request& request, u64& function) {
    if (!request.symbol) return locate_address(request.address, function, request.inside);
    u64 start = 0, size = 0;
    u64 other[2] = {0, 0};
    if (const unsigned int reason = djk_symbol_find(request.symbol, &start, other))
        return Refusal{static_cast<Reason>(reason), other[0], other[1]};
    if (!djk_symbol_range(start, &start, &size)) return Refusal{Reason::NOT_TEXT};
    const u64 end = end_of_places(request.symbol, start, size);
    if (request.offset >= end - start) return Refusal{Reason::PAST_END, start, end};
    request.address = start + request.offset;
    if (request.offset >= size) return locate_address(request.address, function, request.inside);
    const u64 entry = djk_function_entry(start);
    request.inside = request.address != start;
    if (!request.inside) request.address = entry;
    function = request.address == entry ? start : 0;
    return {};
}

}  // namespace

/// Run look() while the function's module is pinned, under the lock, with all that the analysis
/// needs.
template <class Look>
Refusal Registry::look_into(u64 function, Look&& look) {
    Refusal refusal = learn_landings();
    if (!refusal) refusal = pin_target(function);
    if (refusal) return refusal;
    RegistryLock lock;
    refusal = look();
    djk_unpin_target(function);
    return refusal;
}

/// On a refusal there are no targets of the function.
Refusal Registry::find_returns(u64 function, Target target, Targets& targets) {
    Array<u64> returns;
    size_t count = 0;
    Refusal refusal = look_into(
        function, [&] { return analyst_.find_returns(function, table_, returns, count); });
    target.at_return = true;
    const size_t before = targets.count();
    for (size_t i = 0; i < count && !refusal; ++i) {
        u64 entry = 0;
        bool inside = false;
        target.address = returns[i];
        target.is_further = i > 0;
        // The module may have gone meanwhile.
        refusal = locate_address(target.address, entry, inside);
        if (!refusal && !targets.add(target)) refusal = Refusal{Reason::NO_MEMORY};
    }
    if (refusal) targets.cut(before);
    return refusal;
}

Refusal Registry::find_targets(djp_request& request, size_t index, Targets& targets) {
    Target target = {};
    target.request = index;
    target.since = __atomic_load_n(&unloads_, __ATOMIC_ACQUIRE);
    if (const Refusal refusal = locate(request, target.function)) return refusal;
    target.address = request.address;
    if (request.where != DJP_SITE && !target.function)
        return Refusal{Reason::NO_FUNCTION, request.address};
    switch (request.where) {
        case DJP_RETURNS:
            if (const Refusal refusal = find_returns(target.function, target, targets))
                return refusal;
            request.address = target.function;
            return {};
        case DJP_SHADOW_ENTRY:
            target.at_return = true;
            if (const Refusal refusal = look_into(target.function, [&] {
                    return check_shadow_entry({target.function, target.address}, analyst_, table_);
                }))
                return refusal;
            break;
        case DJP_SITE:
            target.at_entry = target.function != 0;
            break;
    }
    return targets.add(target) ? Refusal{} : Refusal{Reason::NO_MEMORY};
}

}  // namespace djprobe::kmod
