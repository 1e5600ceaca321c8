// SPDX-License-Identifier: GPL-2.0
#include "trace/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "trace/cgroup.h"
#include "trace/plan.h"
#include "trace/results_text.h"
#include "trace/text.h"

namespace djprobe::loader {
namespace {

// "--set cgroup_id=7 --set cgroup_level=2 "
std::string set_words(const std::vector<std::string>& variables) {
    return fmt::format("--set {} ", fmt::join(variables, " --set "));
}

// Of a group that is not here, or of any: whoever attaches the program knows the numbers.
std::string any_cgroup() {
    return set_words({fmt::format("{}=INODE", kCgroup), fmt::format("{}=LEVEL", kCgroupLevel)});
}

std::string words_to_attach(const Question& question, bool is_session, const std::string& cgroup,
                            const std::string& file) {
    const std::string where = question.is_glob() ? "--func '" + question.function() + "' " : "";
    return fmt::format("{}{}{}{}", is_session ? "--session " : "", where, cgroup, file);
}

class Writer {
  public:
    Writer(const Question& question, const TracePlan& plan) : question_(question), plan_(plan) {
        keeps_ = question.at_returns && !plan.arguments.empty();
        is_session_ = question.at_returns && (keeps_ || plan.needs_time);
        const TaskFilters& filters = question.filters;
        leaves_out_own_ = !filters.pid && !filters.tid && !filters.comm;
    }

    std::string write() {
        head();
        question_.aggregation ? lines(results_text(*question_.aggregation, plan_)) : event();
        if (plan_.needs.comm) read_comm();
        if (leaves_out_own_) own();
        if (question_.filters.cgroup) cgroup();
        if (keeps_) kept_calls();
        if (!plan_.entries.empty()) given();
        if (is_session_)
            session();
        else if (plan_.sites.size() > 1)
            several();
        else
            single();
        return text_.str();
    }
    [[nodiscard]] bool is_session() const { return is_session_; }
    [[nodiscard]] bool leaves_out_own() const { return leaves_out_own_; }

  private:
    template <typename... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        text_.line(fmt::format(format, std::forward<Args>(args)...));
    }
    void lines(std::string_view text) { text_.line(text); }

    // Within a comment none may begin, and it must not end early.
    void head() {
        std::string what = question_.place();
        if (question_.items) what += " '" + *question_.items + "'";
        if (question_.aggregation) what += option_text(*question_.aggregation);
        if (question_.condition) what += " --if '" + *question_.condition + "'";
        for (std::size_t at = 0; (at = what.find("/*", at)) != std::string::npos;)
            what.replace(at, 2, "/ *");
        for (std::size_t at = 0; (at = what.find("*/", at)) != std::string::npos;)
            what.replace(at, 2, "* /");
        lines("// SPDX-License-Identifier: GPL-2.0");
        line("/*\n * probeload trace {}\n *\n * Attach it with: probeload attach {}\n */", what,
             words_to_attach(question_, is_session_, question_.filters.cgroup ? any_cgroup() : "",
                             "FILE"));
        lines(
            "#include \"vmlinux.h\"\n\n#include <bpf/bpf_core_read.h>\n#include "
            "<bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n\n"
            "char LICENSE[] SEC(\"license\") = \"GPL\";\n");
        if (plan_.has_text_symbol)
            lines("/* The kernel's first byte. */\nextern const void _text __ksym;\n");
        if (!plan_.needs.reads) return;
        lines(
            "/* What a pointer points to, or 0 where that cannot be read. */\n"
            "#define READ(type, pointer)                                            \\\n"
            "    ({                                                                 \\\n"
            "        const void *djprobe_from_ = pointer;                           \\\n"
            "        typeof(type) djprobe_read_ = 0;                                \\\n"
            "        bpf_probe_read_kernel(&djprobe_read_, sizeof(djprobe_read_),   \\\n"
            "                              djprobe_from_);                          \\\n"
            "        djprobe_read_;                                                 \\\n"
            "    })\n");
    }

    void event() {
        lines("struct event {");
        for (const Field& field : plan_.fields)
            lines(field.declaration);
        lines("};");
        lines("const struct event *unused_event __attribute__((unused));\n");
        lines("struct {");
        lines("__uint(type, BPF_MAP_TYPE_RINGBUF);\n__uint(max_entries, 256 * 1024);");
        lines("} events SEC(\".maps\");\n");
        lines("/* Events for which there was no room. */\n__u64 lost;\n");
    }

    // The helper looks at each byte of the name by itself.
    void read_comm() {
        lines("/* What is read of a task. Where it is the running kernel tells. */");
        lines(
            "struct task_struct___named {\nchar comm[16];\n} "
            "__attribute__((preserve_access_index));\n");
        lines("/* The task's name, for a tenth of what bpf_get_current_comm() costs. */");
        line("static __always_inline void {}(char *to) {{", kReadComm);
        lines(
            "const struct task_struct___named *task = (const void *)bpf_get_current_task_btf();\n"
            "const __u64 *from = (const void *)task->comm;\n\n"
            "((__u64 *)to)[0] = from[0];\n((__u64 *)to)[1] = from[1];\n}\n");
    }

    // What shows the events would make more of them, without end.
    void own() {
        lines("/* The tracer, whose own calls do not count. 0: all calls do. */");
        line("const volatile __u32 {};\n", kOwnProcess);
    }

    void cgroup() {
        lines("/* The control group whose tasks count, and its level below the root. */");
        line("const volatile __u64 {};\nconst volatile __u32 {};\n", kCgroup, kCgroupLevel);
    }

    void kept_calls() {
        lines("/* What a call was given, until it returns. */\nstruct call {");
        for (const Local& argument : plan_.arguments)
            lines(argument.declaration + ";");
        lines("};\n");
        lines("/* By the stack's place: no two calls under way have the same. */\nstruct {");
        lines(
            "__uint(type, BPF_MAP_TYPE_HASH);\n__uint(max_entries, 10240);\n"
            "__type(key, __u64);\n__type(value, struct call);");
        lines("} calls SEC(\".maps\");\n");
    }

    // An older entry of the same place would be another call's: it goes where there is no room.
    void given() {
        lines("/* What registers held when the function began. */\nstruct given {");
        for (const std::string& one : plan_.given)
            line("unsigned long {};", one);
        lines("};\n");
        lines("/* By where the caller's frame ends: no two calls under way have the same. */");
        lines(
            "struct {\n__uint(type, BPF_MAP_TYPE_LRU_HASH);\n__uint(max_entries, 10240);\n"
            "__type(key, __u64);\n__type(value, struct given);\n} begun SEC(\".maps\");\n");
        lines("/* An entry may be another call's. */\n__u32 unsure;\n");
        for (const SiteSpec& entry : plan_.entries)
            at_beginning(entry);
    }
    void at_beginning(const SiteSpec& entry) {
        line("SEC(\"kprobe/{}\")", entry.str());
        line("int begin_{}(struct pt_regs *ctx) {{", identifier(entry));
        lines("__u64 frame = PT_REGS_SP(ctx) + 8;\nstruct given given = {");
        for (const std::string& one : plan_.given)
            line(".{0} = ctx->{0},", one);
        lines("};\n");
        lines("if (bpf_map_update_elem(&begun, &frame, &given, BPF_ANY) != 0) {");
        lines("long error = bpf_map_delete_elem(&begun, &frame);");
        lines("if (error && error != -2 /* ENOENT */) unsure = 1;\n}");
        lines("return 0;\n}\n");
    }
    // What comes before the values at a site.
    void prepare(const PlannedSite& site) {
        for (const Local& words : site.words)
            declare(words);
        if (site.frame.empty()) return;
        line("__u64 frame = {};", site.frame);
        lines("struct given *given = bpf_map_lookup_elem(&begun, &frame);\n");
        lines("/* The call began before the trace. */\nif (!given || unsure) return 0;");
    }
    static std::string identifier(const SiteSpec& site) {
        std::string name = site.str();
        std::ranges::replace_if(
            name,
            [](char letter) {
                return std::string_view("+.:").find(letter) != std::string_view::npos;
            },
            '_');
        return name;
    }

    // Where many functions are meant, an option says where.
    void section(std::string_view type) {
        if (question_.is_glob()) return line("SEC(\"{}\")", type);
        line("SEC(\"{}/{}\")", type, site().str());
    }
    // Of the sites that debug information has found some may be left out.
    [[nodiscard]] const SiteSpec& site() const {
        return plan_.sites.empty() ? question_.site : plan_.sites.front().site;
    }
    [[nodiscard]] std::string name() const {
        if (question_.is_glob()) return "call";
        std::string name = site().symbol.substr(site().symbol.find(':') + 1);
        std::ranges::replace(name, '.', '_');
        return name;
    }

    void filters() {
        const TaskFilters& filters = question_.filters;
        if (leaves_out_own_)
            line("if ({0} && bpf_get_current_pid_tgid() >> 32 == {0}) return 0;", kOwnProcess);
        const auto skip_unless = [this](const std::string& what, std::optional<std::uint32_t> is) {
            if (is) line("if ({} != {}) return 0;", what, *is);
        };
        skip_unless("bpf_get_current_pid_tgid() >> 32", filters.pid);
        skip_unless("(__u32)bpf_get_current_pid_tgid()", filters.tid);
        skip_unless("(__u32)bpf_get_current_uid_gid()", filters.uid);
        skip_unless("bpf_get_smp_processor_id()", filters.cpu);
        if (filters.cgroup)
            line("if (bpf_get_current_ancestor_cgroup_id({}) != {}) return 0;", kCgroupLevel,
                 kCgroup);
        if (!filters.comm) return;
        lines("bpf_get_current_comm(task_comm, sizeof(task_comm));");
        line("if (bpf_strncmp(task_comm, sizeof(task_comm), {}) != 0) return 0;",
             c_string(*filters.comm));
    }
    void declare_comm() {
        if (question_.filters.comm) lines("char task_comm[16];");
    }

    // What does not pass is read no further.
    void check() {
        for (const Local& local : plan_.read_first)
            declare(local);
        if (!plan_.condition.empty()) line("if (!({})) return 0;", plan_.condition);
        for (const Local& local : plan_.read)
            declare(local);
    }

    // The event, or the result with this call in it.
    void act() {
        if (!question_.aggregation) return send();
        lines(update_text(*question_.aggregation, plan_));
    }
    void declare_record() {
        lines(question_.aggregation ? record_text(plan_) : "struct event *event;");
    }

    void send() {
        lines("event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);\nif (!event) {");
        lines("__sync_fetch_and_add(&lost, 1);\nreturn 0;");
        lines("}");
        for (const Field& field : plan_.fields)
            lines(field.fill);
        lines("bpf_ringbuf_submit(event, 0);");
    }
    void declare(const Local& local) { line("{} = {};", local.declaration, local.value); }

    // "fs/read_write.c:470 in vfs_read"
    void about(const PlannedSite& site) {
        if (!site.about.empty()) line("/* {} */", site.about);
    }

    // A program for each site, which finds the variables there for what they have in common.
    void several() {
        std::string parameters = "struct pt_regs *ctx";
        for (const Local& variable : plan_.variables)
            parameters += ", " + variable.declaration;
        line("static __always_inline int on_line({}) {{", parameters);
        body();
        for (const PlannedSite& site : plan_.sites) {
            lines("");
            about(site);
            at_site(site);
        }
    }
    void at_site(const PlannedSite& site) {
        line("SEC(\"kprobe/{}\")", site.site.str());
        line("int at_{}(struct pt_regs *ctx) {{", identifier(site.site));
        prepare(site);
        std::string values = "ctx";
        for (const std::string& value : site.values)
            values += ", " + value;
        line("return on_line({});\n}}", values);
    }

    // One program, that needs nothing of the entry.
    void single() {
        if (!plan_.sites.empty()) about(plan_.sites.front());
        section(question_.at_returns ? "kretprobe" : "kprobe");
        line("int on_{}(struct pt_regs *ctx) {{", name());
        if (!plan_.sites.empty()) prepare(plan_.sites.front());
        for (std::size_t i = 0; i < plan_.variables.size(); ++i)
            line("{} = {};", plan_.variables[i].declaration, plan_.sites.front().values[i]);
        body();
    }

    void body() {
        if (plan_.result) declare(*plan_.result);
        for (const Local& argument : plan_.arguments)
            declare(argument);
        declare_record();
        declare_comm();
        lines("");
        filters();
        check();
        act();
        lines("return 0;\n}");
    }

    void session() {
        at_entry();
        lines("");
        at_return();
    }

    void at_entry() {
        lines("/* What it returns is the call's name at its return; of a 0 none is seen. */");
        section("kprobe");
        line("__u64 on_entry(struct pt_regs *ctx) {{");
        if (keeps_) lines("__u64 frame = PT_REGS_SP(ctx);\nstruct call call;");
        declare_comm();
        if (keeps_ || question_.filters.comm) lines("");
        filters();
        if (keeps_) {
            lines("__builtin_memset(&call, 0, sizeof(call));");
            for (const Local& argument : plan_.arguments)
                line("call.{} = {};", argument.variable, argument.value);
            lines("if (bpf_map_update_elem(&calls, &frame, &call, BPF_ANY) != 0) {");
            lines("__sync_fetch_and_add(&lost, 1);\nreturn 0;\n}\nreturn frame;");
        } else {
            lines("return 1;");
        }
        lines("}");
    }

    void at_return() {
        section("kretprobe");
        lines("int BPF_KPROBE(on_return, __u64 frame, __u64 entered) {");
        if (plan_.result) declare(*plan_.result);
        for (const Local& argument : plan_.arguments)
            lines(argument.declaration + ";");
        if (keeps_) lines("struct call *call = bpf_map_lookup_elem(&calls, &frame);");
        declare_record();
        lines("");
        if (keeps_) {
            lines("if (!call) return 0;");
            for (const Local& argument : plan_.arguments)
                line("{0} = call->{0};", argument.variable);
            lines("bpf_map_delete_elem(&calls, &frame);");
        }
        check();
        act();
        lines("return 0;\n}");
    }

    const Question& question_;
    const TracePlan& plan_;
    bool keeps_ = false;       // arguments, from the entry on
    bool is_session_ = false;  // of entry and return
    bool leaves_out_own_ = false;
    ProgramText text_;
};

}  // namespace

std::vector<std::string> cgroup_variables(const std::string& folder) {
    const Cgroup cgroup = find_cgroup(folder);
    return {fmt::format("{}={}", kCgroup, cgroup.id),
            fmt::format("{}={}", kCgroupLevel, cgroup.level)};
}

namespace {

std::string cgroup_words(const Question& question) {
    if (!question.filters.cgroup) return "";
    try {
        return set_words(cgroup_variables(*question.filters.cgroup));
    } catch (const Error&) {
        return any_cgroup();
    }
}

}  // namespace

std::string attach_words(const Question& question, bool is_session, const std::string& file) {
    return words_to_attach(question, is_session, cgroup_words(question), file);
}

namespace {

std::vector<SiteSpec> sites_of(const TracePlan& plan) {
    std::vector<SiteSpec> sites;
    for (const PlannedSite& site : plan.sites)
        sites.push_back(site.site);
    sites.insert(sites.end(), plan.entries.begin(), plan.entries.end());
    return sites;
}

}  // namespace

TraceProgram write_program(const Question& question, Types& types) {
    TracePlan plan = make_plan(question, types);
    Writer writer(question, plan);
    std::string source = writer.write();
    const bool keeps_entries = !plan.entries.empty();
    return {std::move(source),       std::move(plan.needs.types), std::move(plan.fields),
            plan.value_is_signed,    writer.is_session(),         writer.leaves_out_own(),
            std::move(plan.unknown), std::move(plan.left_out),    keeps_entries,
            sites_of(plan)};
}

}  // namespace djprobe::loader
