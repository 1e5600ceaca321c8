// SPDX-License-Identifier: GPL-2.0
// What each ioctl of uapi/djprobe.h takes and may answer.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "abifuzz.h"

namespace djprobe::vm {
namespace {

constexpr size_t kPage = 4096;  // a struct may not be larger
constexpr size_t kActions = 1024;
constexpr size_t kLists = 2048;  // where lists and names go, behind every struct
constexpr size_t kNames = 3072;

#define FIELD(kind, type, member) \
    { FieldKind::kind, offsetof(type, member), sizeof(type{}.member) }

constexpr Field kAttach[] = {
    FIELD(Return, djprobe_attach, flags),        FIELD(Site, djprobe_attach, symbol),
    FIELD(Any, djprobe_attach, cookie),          FIELD(Program, djprobe_attach, prog_fd),
    FIELD(Mode, djprobe_attach, mode),           FIELD(Any, djprobe_attach, reason),
    FIELD(Entry, djprobe_attach, entry_prog_fd), FIELD(Any, djprobe_attach, detail[0]),
};
constexpr Field kExplain[] = {
    FIELD(Return, djprobe_explain, flags),
    FIELD(Site, djprobe_explain, symbol),
    FIELD(Any, djprobe_explain, verdict),
    FIELD(Zero, djprobe_explain, reserved),
};
constexpr Field kMany[] = {
    FIELD(ManyFlags, djprobe_attach_many, flags),
    FIELD(SiteList, djprobe_attach_many, sites),
    FIELD(Mode, djprobe_attach_many, mode),
    FIELD(Program, djprobe_attach_many, prog_fd),
    FIELD(Any, djprobe_attach_many, failed),
    FIELD(EntryMany, djprobe_attach_many, entry_prog_fd),
    {FieldKind::Actions, offsetof(djprobe_attach_many, actions), 12},
    FIELD(Zero, djprobe_attach_many, times_fd),
};
constexpr Field kQuery[] = {
    FIELD(Index, djprobe_query, index),
    FIELD(Any, djprobe_query, state),
    FIELD(Zero, djprobe_query, flags),
    FIELD(Any, djprobe_query, hits),
};
constexpr Field kEnable[] = {
    FIELD(OnOff, djprobe_enable, enable),
    FIELD(Any, djprobe_enable, failed),
};
constexpr Field kTotal[] = {FIELD(Any, djprobe_total, hits)};
constexpr Field kQueryMany[] = {
    FIELD(Index, djprobe_query_many, first),
    FIELD(Answers, djprobe_query_many, count),
};
constexpr Field kHold[] = {FIELD(ProbeFd, djprobe_hold, probe_fd)};
constexpr Field kKeep[] = {FIELD(KernelFd, djprobe_keep, fd)};
constexpr Field kSwitch[] = {
    {FieldKind::Switches, offsetof(djprobe_switch, change), 8},
    FIELD(Any, djprobe_switch, reason),
};
constexpr Field kText[] = {
    FIELD(TextLength, djprobe_text, length),
    FIELD(TextAddress, djprobe_text, address),
    FIELD(TextRoom, djprobe_text, bytes),
};
constexpr Field kInfo[] = {FIELD(Any, djprobe_info, abi_version)};
#undef FIELD

constexpr uint64_t kSiteFlags[] = {0, DJPROBE_ATTACH_RETURN,
                                   DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW};

/// What a site may be refused with.
const std::vector<int> kSiteErrors = {ENOENT, ENOTUNIQ, ERANGE, EILSEQ, EBUSY, EACCES, ENOMEM};

const Command kCommands[] = {
    {"INFO", DJPROBE_IOC_INFO, Side::Control, sizeof(djprobe_info), 20, false, false, kInfo, {}},
    {"ATTACH", DJPROBE_IOC_ATTACH, Side::Control, sizeof(djprobe_attach), 25, true, true, kAttach,
     kSiteErrors},
    {"EXPLAIN",
     DJPROBE_IOC_EXPLAIN,
     Side::Control,
     sizeof(djprobe_explain),
     10,
     true,
     false,
     kExplain,
     {ENOENT, ENOTUNIQ, ERANGE, EACCES, ENOMEM}},
    {"ATTACH_MANY", DJPROBE_IOC_ATTACH_MANY, Side::Control, sizeof(djprobe_attach_many), 20, true,
     true, kMany, kSiteErrors},
    {"QUERY", DJPROBE_IOC_QUERY, Side::Probe, sizeof(djprobe_query), 20, false, false, kQuery, {}},
    {"WAIT", DJPROBE_IOC_WAIT, Side::Probe, 0, 2, true, false, {}, {EINTR}},
    {"ENABLE",
     DJPROBE_IOC_ENABLE,
     Side::Probe,
     sizeof(djprobe_enable),
     5,
     true,
     false,
     kEnable,
     {EBUSY, ENOMEM, EACCES, ENOENT, EINTR, ENXIO}},
    {"TOTAL", DJPROBE_IOC_TOTAL, Side::Probe, sizeof(djprobe_total), 10, false, false, kTotal, {}},
    {"QUERY_MANY",
     DJPROBE_IOC_QUERY_MANY,
     Side::Probe,
     sizeof(djprobe_query_many),
     15,
     false,
     false,
     kQueryMany,
     {ENOMEM}},
    {"SWITCH",
     DJPROBE_IOC_SWITCH,
     Side::Control,
     sizeof(djprobe_switch),
     2,
     true,
     false,
     kSwitch,
     {}},
    {"EVENT", DJPROBE_IOC_EVENT, Side::Control, 0, 10, false, true, {}, {}},
    {"HOLD", DJPROBE_IOC_HOLD, Side::Event, sizeof(djprobe_hold), 10, false, false, kHold, {EBUSY}},
    {"KEEP", DJPROBE_IOC_KEEP, Side::Probe, sizeof(djprobe_keep), 10, false, false, kKeep, {ENXIO}},
    {"TEXT",
     DJPROBE_IOC_TEXT,
     Side::Control,
     sizeof(djprobe_text),
     10,
     true,
     false,
     kText,
     {EACCES, ENOMEM}},
    {"number 99", _IO('j', 99), Side::Neither, 8, 2, false, false, {}, {}},
    {"another driver's", 0x5401, Side::Neither, 64, 2, false, false, {}, {}},
    {"with a direction",
     _IOWR('j', 1, djprobe_attach),
     Side::Neither,
     sizeof(djprobe_attach),
     2,
     false,
     false,
     {},
     {}},
};

void put(uint8_t* bytes, size_t offset, size_t width, uint64_t value) {
    std::memcpy(bytes + offset, &value, width);
}

uint64_t nonzero(Dice& dice, size_t width) {
    const uint64_t mask = width == 8 ? ~uint64_t{0} : (uint64_t{1} << width * 8) - 1;
    return (dice.one_in(2) ? uint64_t{1} << dice.below(width * 8) : dice.below(mask) + 1) & mask;
}

/// One site, right or wrong. What is wrong with the way it is named is refused before the site is
/// looked at; a site that is none, later.
void fill_site(uint8_t* bytes, size_t at, uint8_t* page, bool mistake, const Surroundings& around,
               Dice& dice, Model& model) {
    auto* const name = reinterpret_cast<char*>(page + kNames);
    uint64_t symbol = reinterpret_cast<uintptr_t>(name), offset = 0, address = 0;
    const std::string& chosen = around.symbols[dice.below(around.symbols.size())];
    std::memcpy(name, chosen.c_str(), chosen.size() + 1);
    if (mistake) {
        switch (dice.below(5)) {
            case 0:  // two ways at once
                address = dice.below(~uint64_t{0}) + 1;
                model.must_fail(EINVAL);
                break;
            case 1:  // an offset from nothing
                symbol = 0;
                offset = nonzero(dice, 8);
                model.must_fail(EINVAL);
                break;
            case 2:
                symbol = around.bad_pointers[dice.below(around.bad_pointers.size())];
                if (!symbol) symbol = 1;
                model.must_fail(EFAULT);
                break;
            case 3:  // too long, up to the end of the page
                std::memset(name, 'x', kPage - kNames);
                model.must_fail(EINVAL);
                model.errors.insert(EFAULT);  // what follows may be unmapped
                break;
            case 4:  // no name at all
                for (size_t i = 0, length = dice.below(40); i <= length; ++i)
                    name[i] = i == length ? '\0' : static_cast<char>(i ? 1 + dice.below(255) : 1);
                model.must_fail(ENOENT);
                break;
        }
    } else {
        switch (dice.below(4)) {
            case 0:
                symbol = 0;
                address = around.addresses[dice.below(around.addresses.size())] + dice.below(3);
                break;
            case 1:
                offset = dice.one_in(3) ? nonzero(dice, 8) : dice.below(64);
                break;
            default:
                break;
        }
    }
    put(bytes, at, 8, symbol);
    put(bytes, at + 8, 8, offset);
    put(bytes, at + 16, 8, address);
}

void fill_list(uint8_t* bytes, size_t at, bool mistake, const Surroundings& around, Dice& dice,
               Model& model) {
    uint64_t pointer = reinterpret_cast<uintptr_t>(bytes + kLists);
    uint64_t count = 1 + dice.below(6);
    for (uint64_t i = 0; i < count; ++i) {
        djprobe_site site = {};
        site.flags = static_cast<uint32_t>(dice.of(kSiteFlags));
        if (site.flags) model.errors.insert(EINVAL);  // offset must be 0
        std::memcpy(bytes + kLists + i * sizeof site, &site, sizeof site);
        fill_site(bytes, kLists + i * sizeof site, bytes, false, around, dice, model);
    }
    if (mistake) {
        const size_t last = kLists + (count - 1) * sizeof(djprobe_site);
        // Sites are looked at in their order: an earlier one may be refused first.
        for (const int error : kSiteErrors)
            model.errors.insert(error);
        switch (dice.below(5)) {
            case 0:
                pointer = around.bad_pointers[dice.below(around.bad_pointers.size())];
                model.must_fail(EFAULT);
                break;
            case 1:
                count = 0;
                model.must_fail(EINVAL);
                break;
            case 2:
                count = DJPROBE_MANY_MAX + 1 + dice.below(1u << 30);
                model.must_fail(EINVAL);
                model.errors.insert({E2BIG, EFAULT});
                break;
            case 3:
                put(bytes, last + offsetof(djprobe_site, flags), 4, nonzero(dice, 4) | 4);
                model.must_fail(EINVAL);
                break;
            case 4:
                fill_site(bytes, last, bytes, true, around, dice, model);
                break;
        }
    }
    put(bytes, at, 8, pointer);
    put(bytes, at + 8, 4, count);
}

void fill_answers(uint8_t* bytes, size_t at, bool mistake, const Surroundings& around, Dice& dice,
                  Model& model) {
    constexpr uint64_t kRoom = kNames - kLists;
    uint64_t pointer = reinterpret_cast<uintptr_t>(bytes + kLists);
    uint64_t count = 1 + dice.below(6);
    uint64_t size = std::min(8 + dice.below(kRoom / count - 8), sizeof(djprobe_query)) & ~7ull;
    if (mistake) {
        switch (dice.below(3)) {
            case 0:
                pointer = around.bad_pointers[dice.below(around.bad_pointers.size())];
                model.must_fail(EFAULT);
                break;
            case 1:
                count = 0;
                model.must_fail(EINVAL);
                break;
            case 2:
                size = dice.one_in(2) ? dice.below(32) * 8 + dice.below(2)
                                      : sizeof(djprobe_query) + 1 + dice.below(1u << 30);
                if (size % 8 == 0 && size && size <= sizeof(djprobe_query)) size = 0;
                model.must_fail(EINVAL);
                break;
        }
    }
    put(bytes, at, 4, count);
    put(bytes, at + 4, 4, size);
    put(bytes, at + 8, 8, pointer);
}

constexpr uint32_t kShadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;

uint32_t a_program(bool mistake, const Surroundings& around, Dice& dice, Model& model) {
    if (!mistake) return static_cast<uint32_t>(around.good_program);
    model.must_fail(EBADF);
    model.errors.insert({EOPNOTSUPP, EINVAL});
    // The site may be looked at first.
    for (const int error : kSiteErrors)
        model.errors.insert(error);
    return static_cast<uint32_t>(around.bad_programs[dice.below(around.bad_programs.size())]);
}

// Both structs begin with size and flags.
constexpr size_t kFlags = offsetof(djprobe_attach, flags);
static_assert(kFlags == offsetof(djprobe_attach_many, flags));

uint32_t flags_of(const uint8_t* bytes) {
    uint32_t flags = 0;
    std::memcpy(&flags, bytes + kFlags, sizeof flags);
    return flags;
}

/// An increment of the probe's own counter, or a question about the task.
djprobe_action an_action(bool counts, Dice& dice) {
    djprobe_action action = {};
    action.operation = DJPROBE_ACTION_COUNT;
    if (counts && dice.one_in(2)) return action;
    action.operation = static_cast<uint8_t>(DJPROBE_ACTION_IF_EQ + dice.below(6));
    action.flags = DJPROBE_ACTION_TASK | (dice.one_in(2) ? DJPROBE_ACTION_SIGNED : 0);
    action.reg = static_cast<uint8_t>(dice.below(DJPROBE_TASK_FIELDS));
    action.width = static_cast<uint8_t>(djprobe_task_field_size(action.reg));
    action.value = dice.below(1u << 31);
    return action;
}

/// None that uapi/djprobe_action.h defines.
djprobe_action no_action(Dice& dice) {
    djprobe_action action = an_action(true, dice);
    const uint8_t kWrong[] = {0, DJPROBE_ACTION_ELAPSED + 1, 255};
    switch (dice.below(3)) {
        case 0:
            action.operation = kWrong[dice.below(std::size(kWrong))];
            break;
        case 1:
            action.flags |= static_cast<uint8_t>(16u << dice.below(4));
            break;
        default:
            action.flags = DJPROBE_ACTION_TASK;
            action.reg = static_cast<uint8_t>(DJPROBE_TASK_FIELDS + dice.below(200));
    }
    return action;
}

/// Right ones; `wrong`: but for one. Where nothing counts, conditions.
void fill_list(uint8_t* list, size_t count, bool counts, bool wrong, Dice& dice) {
    const size_t odd = wrong ? dice.below(count) : count;
    for (size_t i = 0; i < count; ++i) {
        const djprobe_action action = i == odd ? no_action(dice) : an_action(counts, dice);
        std::memcpy(list + i * sizeof action, &action, sizeof action);
    }
}

/// Pointer and number of a list of actions.
void fill_actions(uint8_t* bytes, size_t at, bool mistake, const Surroundings& around, Dice& dice,
                  Model& model) {
    const bool counts = flags_of(bytes) == DJPROBE_ATTACH_COUNT;
    uint64_t pointer = 0, count = 0;
    const bool wrong = mistake && dice.one_in(2);
    if (mistake && !wrong) {
        pointer = around.bad_pointers[dice.below(around.bad_pointers.size())];
        count = dice.one_in(2) ? 1 : DJPROBE_ACTIONS_MAX + 1 + dice.below(1u << 31);
        model.must_fail(count == 1 ? EFAULT : EINVAL);
    } else if (wrong || dice.one_in(2)) {
        pointer = reinterpret_cast<uint64_t>(bytes) + kActions;
        count = 1 + dice.below(DJPROBE_ACTIONS_MAX);
        fill_list(bytes + kActions, count, counts, wrong, dice);
        if (wrong) model.must_fail(EINVAL);
    }
    put(bytes, at, 8, pointer);
    put(bytes, at + 8, 4, count);
}

/// No map, but a program.
uint32_t no_map(const Surroundings& around, Dice& dice, Model& model) {
    a_program(true, around, dice, model);
    return static_cast<uint32_t>(around.good_program);
}

/// A program, or a counter. The flags and the sites are there already.
uint32_t fill_program(const Field& field, uint8_t* bytes, bool mistake, const Surroundings& around,
                      Dice& dice, Model& model) {
    // A mistake that has hit the mark.
    if (flags_of(bytes) == DJPROBE_ATTACH_COUNT) return no_map(around, dice, model);
    if (flags_of(bytes) || !dice.one_in(3)) return a_program(mistake, around, dice, model);
    put(bytes, kFlags, 4, DJPROBE_ATTACH_COUNT);
    model.errors.insert({EINVAL, ERANGE});  // a site with flags; no such counter
    // The map has one counter, whose name is 0; that is what the cookies of many sites are.
    if (field.offset == offsetof(djprobe_attach, prog_fd) && dice.one_in(2))
        put(bytes, offsetof(djprobe_attach, cookie), 8, 0);
    return mistake ? no_map(around, dice, model) : static_cast<uint32_t>(around.good_map);
}

/// A session, or none.
void fill_session(const Field& field, uint8_t* bytes, bool mistake, const Surroundings& around,
                  Dice& dice, Model& model) {
    const uint32_t others = field.kind == FieldKind::Entry ? kShadow : 0;
    const uint32_t flags = flags_of(bytes);
    if (flags == others && dice.one_in(2)) {
        put(bytes, kFlags, 4, others | DJPROBE_ATTACH_SESSION);
        put(bytes, field.offset, field.width, a_program(mistake, around, dice, model));
        model.errors.insert({EINVAL, EOPNOTSUPP});  // a site without SHADOW; NO_SHADOW
    } else if (flags == DJPROBE_ATTACH_SESSION) {
        a_program(true, around, dice, model);  // a mistake that has hit the mark; fd 0 is none
    } else if (mistake) {
        put(bytes, field.offset, field.width, nonzero(dice, field.width));
        model.must_fail(EINVAL);
    }
}

void fill_field(const Field& field, uint8_t* bytes, bool mistake, const Surroundings& around,
                Dice& dice, Model& model) {
    uint64_t value = 0;
    switch (field.kind) {
        case FieldKind::Site:
            return fill_site(bytes, field.offset, bytes, mistake, around, dice, model);
        case FieldKind::SiteList:
            return fill_list(bytes, field.offset, mistake, around, dice, model);
        case FieldKind::Answers:
            return fill_answers(bytes, field.offset, mistake, around, dice, model);
        case FieldKind::Any:
            value = dice.below(~uint64_t{0});
            break;
        case FieldKind::Zero:
            if (mistake) value = nonzero(dice, field.width), model.must_fail(EINVAL);
            break;
        case FieldKind::ManyFlags: {
            static constexpr uint64_t kGood[] = {0, 0, DJPROBE_ATTACH_AS_KPROBE,
                                                 DJPROBE_ATTACH_AS_MULTI};
            // The lower ones are flags of a site, or fill_session()'s.
            value = mistake ? (1 + dice.below(1u << 20)) << 8 | 8 : dice.of(kGood);
            if (mistake) model.must_fail(EINVAL);
            // The good program is none of kprobe.multi.
            if (value == DJPROBE_ATTACH_AS_MULTI) a_program(true, around, dice, model);
            break;
        }
        case FieldKind::Mode:
        case FieldKind::OnOff:
            value = mistake ? 2 + dice.below(1u << 31) : dice.below(2);
            if (mistake) model.must_fail(EINVAL);
            break;
        case FieldKind::Switches: {
            constexpr uint32_t kAll = DJPROBE_SWITCH_PROBES | DJPROBE_SWITCH_JUMPS;
            uint64_t change = dice.below(kAll + 1), on = change & dice.below(kAll + 1);
            if (mistake) {
                (dice.one_in(2) ? change : on) |= uint64_t{kAll + 1} << dice.below(30);
                model.must_fail(EINVAL);
            }
            value = change | on << 32;
            break;
        }
        case FieldKind::Return: {
            static constexpr uint64_t kBad[] = {DJPROBE_ATTACH_SHADOW, 4};
            value = mistake ? dice.of(kBad) | dice.below(1u << 29) << 2 : dice.of(kSiteFlags);
            if (mistake) model.must_fail(EINVAL);
            if (value & DJPROBE_ATTACH_RETURN) model.errors.insert(EINVAL);  // offset must be 0
            break;
        }
        case FieldKind::Index:
            // Which fd it is asked of decides how many there are.
            value = mistake ? 6 + dice.below(1u << 31) : dice.below(3);
            if (mistake) model.must_fail(ERANGE);
            model.errors.insert(ERANGE);
            break;
        case FieldKind::ProbeFd:
            value = static_cast<uint32_t>(
                mistake ? around.other_files[dice.below(around.other_files.size())] : around.probe);
            if (mistake || around.probe < 0) model.must_fail(EBADF);
            break;
        case FieldKind::TextLength:
            value = mistake ? (dice.one_in(3) ? 0 : DJPROBE_TEXT_MAX + 1 + dice.below(1u << 31))
                            : 1 + dice.below(kPage - kLists);
            if (mistake) model.must_fail(EINVAL);
            break;
        case FieldKind::TextAddress:
            value = dice.one_in(4)
                        ? dice.below(~uint64_t{0})
                        : around.addresses[dice.below(around.addresses.size())] + dice.below(300);
            break;
        case FieldKind::TextRoom:
            value = mistake ? around.bad_pointers[dice.below(around.bad_pointers.size())]
                            : reinterpret_cast<uintptr_t>(bytes + kLists);
            if (mistake) model.must_fail(EFAULT), model.errors.insert(EACCES);
            break;
        case FieldKind::KernelFd: {
            const int strange = dice.one_in(4)
                                    ? around.probe
                                    : around.other_files[dice.below(around.other_files.size())];
            const int known = dice.one_in(2) ? around.perf_event : around.bpf_link;
            value = static_cast<uint32_t>(mistake ? strange : known);
            if (mistake) model.must_fail(EBADF);
            break;
        }
        case FieldKind::Program:
            value = fill_program(field, bytes, mistake, around, dice, model);
            break;
        case FieldKind::Actions:
            return fill_actions(bytes, field.offset, mistake, around, dice, model);
        case FieldKind::Entry:
        case FieldKind::EntryMany:
            return fill_session(field, bytes, mistake, around, dice, model);
    }
    put(bytes, field.offset, field.width, value);
}

/// Beside any other flags, and where nothing is wrong: some sites are none, and may be left out.
void fill_skip(const Command& command, uint8_t* bytes, Dice& dice, const Model& model) {
    if (command.number == DJPROBE_IOC_ATTACH_MANY && model.success && dice.one_in(2))
        put(bytes, kFlags, 4, flags_of(bytes) | DJPROBE_ATTACH_SKIP);
}

/// How many bytes were published first: the least that the module takes.
size_t first_size(const Command& command) {
    return command.number == DJPROBE_IOC_ATTACH_MANY ? offsetof(djprobe_attach_many, actions)
                                                     : command.size;
}

/// The first member of every struct.
void fill_size(const Command& command, uint8_t* bytes, bool mistake, Dice& dice, Model& model) {
    uint64_t size = command.size;
    if (mistake && dice.one_in(2)) {
        size = dice.below(first_size(command));
        model.must_fail(EINVAL);
    } else if (mistake && dice.one_in(2)) {
        size = kPage + 1 + dice.below(1u << 31);
        model.must_fail(E2BIG);
    } else if (mistake || dice.one_in(10)) {
        size = command.size + 1 + dice.below(64);
        std::memset(bytes + command.size, 0, 65);
        if (mistake) {
            bytes[command.size + dice.below(size - command.size)] = 0xff;
            model.must_fail(E2BIG);
        }
    }
    put(bytes, 0, 4, size);
}

}  // namespace

std::span<const Command> commands() {
    return kCommands;
}

Model fill(const Command& command, uint8_t* bytes, bool mistake, const Surroundings& around,
           Dice& dice) {
    Model model;
    for (const int error : command.refusals)
        model.errors.insert(error);
    if (!command.size) return model;
    std::memset(bytes, 0, command.size);
    const uint64_t wrong = dice.below(command.fields.size() + 1);  // the last: the size
    const auto is_wrong = [&](uint64_t i) { return mistake && (i == wrong || dice.one_in(8)); };
    for (size_t i = 0; i < command.fields.size(); ++i) {
        const Field& field = command.fields[i];
        const bool can = field.kind != FieldKind::Any;
        fill_field(field, bytes, can && is_wrong(i), around, dice, model);
    }
    fill_skip(command, bytes, dice, model);
    // A field that takes everything cannot be wrong: then the size is.
    fill_size(command, bytes, mistake && (model.success || dice.one_in(8)), dice, model);
    return model;
}

}  // namespace djprobe::vm
