// SPDX-License-Identifier: GPL-2.0
#include "trace/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/error.h"
#include "decode/btf_util.h"
#include "trace/precedence.h"

namespace djprobe::loader {
namespace {

using Kind = Expression::Kind;

constexpr std::uint32_t kText = 64;
// Larger structs and arrays are not read at a glance.
constexpr std::uint32_t kWhole = 256;
constexpr std::uint32_t kLongest = 4096;
// Of a stack: bytes of a frame's address, how many without a word, and how many at most.
constexpr std::uint32_t kFrame = 8, kFrames = 16, kMostFrames = 127;

// What C and the program itself already use.
const std::set<std::string> kTakenByC = {"auto",  "break",  "case",   "default", "do",    "else",
                                         "for",   "goto",   "if",     "inline",  "int",   "long",
                                         "short", "static", "struct", "switch",  "union", "while"};

std::string field_name(const Expression& expression) {
    if (expression.kind == Kind::kName || expression.kind == Kind::kMember) return expression.word;
    if (expression.kind == Kind::kBinary || expression.kind == Kind::kCondition ||
        expression.kind == Kind::kNumber)
        return "value";
    return field_name(expression.children.front());
}

std::string free_name(const std::string& wanted, const std::vector<Field>& others) {
    const auto is_taken = [&](const std::string& name) {
        return kTakenByC.contains(name) ||
               std::ranges::find(others, name, &Field::name) != others.end();
    };
    std::string name = wanted;
    for (int i = 2; is_taken(name); ++i)
        name = fmt::format("{}_{}", wanted, i);
    return name;
}

class FieldMaker {
  public:
    /// `record`: what comes before the member: "event->".
    FieldMaker(const Item& item, Translator& translator, const Types& types,
               std::string_view source, const char* record)
        : item_(item), translator_(translator), types_(types), source_(source), record_(record) {}

    Field make(const std::string& name) {
        field_.name = name;
        refuse_length();
        if (!item_.form)
            plain();
        else if (item_.form->name == "str")
            text("kernel");
        else if (item_.form->name == "ustr")
            text("user");
        else if (item_.form->name == "x")
            hex_number();
        else if (item_.form->name == "sym")
            symbol();
        else if (item_.form->name == "ip")
            internet_address();
        else if (item_.form->name == "hex")
            bytes();
        else if (item_.form->name == "kstack")
            frames();
        else if (item_.form->name == "linear")
            wrong("linear() is for --hist");
        else
            wrong("a value is shown as :str, :ustr, :x, :hex N, :ip, :sym or :kstack N");
        return field_;
    }

  private:
    [[noreturn]] void wrong(const std::string& message) const {
        fail_at(source_, item_.form ? item_.form->span : item_.expression.span, message);
    }
    void refuse_length() const {
        constexpr std::array<std::string_view, 3> kWithout = {"x", "sym", "ip"};
        if (item_.form && item_.form->length && std::ranges::count(kWithout, item_.form->name) != 0)
            wrong(fmt::format(":{} takes no length", item_.form->name));
    }
    [[nodiscard]] std::uint32_t length(std::uint32_t without) const {
        const std::uint32_t length = item_.form->length.value_or(without);
        if (length > kLongest) wrong(fmt::format("at most {} bytes are shown", kLongest));
        return length;
    }
    [[nodiscard]] std::string member() const { return record_ + field_.name; }
    void declare(TypeId type) {
        type = types_.named_number(type);
        field_.declaration = types_.declare(types_.unqualified(type), field_.name) + ";";
        if (field_.declaration.find("{...}") != std::string::npos)
            wrong("its type has no name: name one of its members");
        translator_.need(type);
    }
    void assign(const std::string& value) {
        field_.fill = fmt::format("{} = {};", member(), value);
    }
    void copy(const std::string& from, std::string_view helper = "kernel") {
        field_.fill =
            fmt::format("bpf_probe_read_{0}({1}, sizeof({1}), {2});", helper, member(), from);
    }

    // By its type: a number, a pointer, or a small struct or array whole.
    void plain() {
        const Value value = translator_.value(item_.expression);
        const bool whole = types_.is_composite(value.type) || types_.is_array(value.type);
        if (!whole) {
            const Value number = translator_.read(item_.expression, value);
            declare(number.type);
            return assign(number.text);
        }
        const std::uint32_t size = types_.size(value.type);
        if (size == 0 || size > kWhole)
            wrong(
                fmt::format("{} has {} bytes, and up to {} are shown whole: name one of its "
                            "members",
                            types_.name(value.type), size, kWhole));
        const bool is_array = types_.is_array(value.type);
        if (is_array && types_.name(types_.target(value.type)) == "unsigned char")
            field_.declaration = fmt::format("char {}[{}];", field_.name, size);
        else
            declare(value.type);
        const std::string to = (is_array ? "" : "&") + member();
        if (value.path.empty())
            field_.fill =
                fmt::format("bpf_probe_read_kernel({}, sizeof({}), {});", to, member(), value.text);
        else
            field_.fill = fmt::format("BPF_CORE_READ_INTO(&{}, {});", member(), value.steps());
    }

    // An array's own place, or what a pointer points to.
    Value pointer(Value of) {
        Value pointer = translator_.read(item_.expression, std::move(of));
        if (!types_.is_pointer(pointer.type))
            wrong(
                fmt::format("it is no pointer and no array: it is {}", types_.name(pointer.type)));
        return pointer;
    }

    void text(std::string_view memory) {
        field_.declaration = fmt::format("char {}[{}];", field_.name, length(kText));
        copy(pointer(translator_.value(item_.expression)).text, fmt::format("{}_str", memory));
    }

    void hex_number() {
        const Value number = translator_.number(item_.expression);
        field_.shape = types_.is_pointer(number.type) ? Shape::kValue : Shape::kHex;
        declare(number.type);
        assign(number.text);
    }

    void symbol() {
        const Value number = translator_.number(item_.expression);
        field_.shape = Shape::kSymbol;
        field_.declaration = fmt::format("unsigned long {};", field_.name);
        assign("(unsigned long)" + bound(number, kUnaryBinds));
    }

    void internet_address() {
        const Value value = translator_.value(item_.expression);
        const std::uint32_t size = types_.size(value.type);
        if ((size != 4 && size != 16) || types_.is_pointer(value.type))
            wrong(fmt::format("an address has 4 or 16 bytes: this is {}", types_.name(value.type)));
        field_.shape = Shape::kAddress;
        field_.declaration = fmt::format("__u8 {}[{}];", field_.name, size);
        if (value.in_memory) return copy(translator_.address(item_.expression, value).text);
        field_.declaration = fmt::format("__u32 {};", field_.name);
        assign(value.text);
    }

    void bytes() {
        const Value value = translator_.value(item_.expression);
        const bool there = value.in_memory && !types_.is_pointer(value.type);
        const std::string from =
            there ? translator_.address(item_.expression, value).text : pointer(value).text;
        const std::uint32_t size = length(there ? types_.size(value.type) : 16);
        if (size == 0) wrong("how many bytes? :hex N");
        field_.shape = Shape::kBytes;
        field_.declaration = fmt::format("__u8 {}[{}];", field_.name, size);
        copy(from);
    }

    // Return addresses that the kernel has kept, up to a 0.
    void frames() {
        const Value value = translator_.value(item_.expression);
        const bool is_array = types_.is_array(value.type);
        const Value from = pointer(value);
        if (types_.size(types_.target(from.type)) != kFrame)
            wrong(fmt::format("a stack is an array of addresses: this is {}",
                              types_.name(value.type)));
        const std::uint32_t whole = is_array ? types_.size(value.type) / kFrame : kFrames;
        const std::uint32_t count = item_.form->length.value_or(whole);
        if (count == 0 || count > kMostFrames)
            wrong(fmt::format("how many frames, up to {}? :kstack N", kMostFrames));
        field_.shape = Shape::kStack;
        field_.declaration = fmt::format("unsigned long {}[{}];", field_.name, count);
        copy(from.text);
    }

    const Item& item_;
    Translator& translator_;
    const Types& types_;
    std::string_view source_;
    const char* record_;
    Field field_;
};

}  // namespace

Field make_field(const Item& item, Translator& translator, const Types& types,
                 std::string_view source, const std::vector<Field>& others) {
    const Expression& expression = item.expression;
    const std::string name = free_name(field_name(expression), others);
    return FieldMaker(item, translator, types, source, "event->").make(name);
}

Field make_key(const Item& item, Translator& translator, const Types& types,
               std::string_view source, const std::vector<Field>& others) {
    const std::string& word = item.expression.word;
    const bool is_name = item.expression.kind == Kind::kName && !translator.is_argument(word);
    const bool is_stack = word == "kstack" || word == "ustack";
    if (is_name && (is_stack || word == "comm") && item.form)
        fail_at(source, item.form->span, fmt::format("{} is shown in one form only", word));
    if (is_name && is_stack) return stack_key(word, others);
    const std::string name = free_name(field_name(item.expression), others);
    if (is_name && word == "comm")
        return {name, fmt::format("char {}[16] __attribute__((aligned(8)));", name),
                fmt::format("{}(key.{});", kReadComm, name)};
    Field field = FieldMaker(item, translator, types, source, "key.").make(name);
    if (is_name && word == "func") field.shape = Shape::kFunction;
    return field;
}

Field stack_key(const std::string& stack, const std::vector<Field>& others) {
    const std::string name = free_name(stack, others);
    return {name, fmt::format("__s32 {};", name),
            fmt::format("key.{} = bpf_get_stackid(ctx, &stacks, {});", name,
                        stack == "ustack" ? "BPF_F_USER_STACK" : "0"),
            Shape::kStackId};
}

Field task_field(const std::string& column) {
    if (column == "time")
        return {"time", "__u64 time; /* nanoseconds since boot */",
                "event->time = bpf_ktime_get_ns();", Shape::kTime};
    if (column == "cpu") return {"cpu", "__u32 cpu;", "event->cpu = bpf_get_smp_processor_id();"};
    if (column == "pid")
        return {"pid", "__u32 pid;", "event->pid = bpf_get_current_pid_tgid() >> 32;"};
    if (column == "tid") return {"tid", "__u32 tid;", "event->tid = bpf_get_current_pid_tgid();"};
    if (column == "uid") return {"uid", "__u32 uid;", "event->uid = bpf_get_current_uid_gid();"};
    if (column == "comm")
        return {"comm", "char comm[16];", fmt::format("{}(event->comm);", kReadComm)};
    const bool is_user = column == "ustack";
    return {column, fmt::format("unsigned long {}[32];", column),
            fmt::format("__builtin_memset(event->{0}, 0, sizeof(event->{0}));\n"
                        "bpf_get_stack(ctx, event->{0}, sizeof(event->{0}), {1});",
                        column, is_user ? "BPF_F_USER_STACK" : "0"),
            Shape::kStack};
}

}  // namespace djprobe::loader
