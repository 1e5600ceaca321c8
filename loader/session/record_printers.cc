// SPDX-License-Identifier: GPL-2.0
#include "session/record_printers.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace djprobe::loader {
namespace {

bool has_event_map(const Object& object, const std::string& name) {
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object.handle()) {
        if (name == bpf_map__name(map) && carries_events(map)) return true;
    }
    return false;
}

}  // namespace

RecordPrinters::RecordPrinters(const AttachOptions& options, const Object& object,
                               FrameNames& names)
    : folds_(options.folded), object_(object), names_(names), folded_(object.handle(), names) {
    for (const EventTypeOption& option : options.event_types) {
        if (!has_event_map(object, option.map))
            fail(ExitCode::kUsage, "--type: {} has no map '{}' that carries events", object.name(),
                 option.map);
        typed_.push_back({option.map, read_event_type(option)});
    }
}

RecordPrinters::Found RecordPrinters::find(const std::string& map, bool is_only) const {
    const auto typed = std::ranges::find(typed_, map, &Typed::map);
    if (typed != typed_.end())
        return {typed->type.types.get(), RecordType{typed->type.type_id, typed->type.name}};
    return {object_.types(), find_record_type(object_.types(), map, is_only)};
}

PrintRecord RecordPrinters::fold(const Found& found) {
    if (!found.type) return [](Buffer&, std::span<const std::byte>) {};
    return [this, fields = stack_fields_of(*found.types, found.type->type_id, "")](
               Buffer&, std::span<const std::byte> record) { folded_.add(fields, record); };
}

PrintRecord RecordPrinters::make(const std::string& map, bool is_only, RecordStyle style) {
    style.names = &names_;
    if (style.format == Format::kRaw) return RecordPrinter(nullptr, map, std::nullopt, style);
    const Found found = find(map, is_only);
    if (folds_) return fold(found);
    return RecordPrinter(found.types, map, found.type, style);
}

MakePrinter RecordPrinters::maker() {
    return [this](const std::string& map, bool is_only, const RecordStyle& style) {
        return make(map, is_only, style);
    };
}

}  // namespace djprobe::loader
