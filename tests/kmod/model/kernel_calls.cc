// SPDX-License-Identifier: GPL-2.0
// djk_* of kmod/glue/kernel.h: the model in the clothes of the kernel.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "failure.h"
#include "kernel_model.h"

using namespace djprobe;
using namespace djprobe::model;

namespace {

Handler& handler_of(const djk_handler* handler) {
    static_assert(offsetof(Handler, link) == 0);
    return *reinterpret_cast<Handler*>(const_cast<djk_handler*>(handler));
}

bool is_live(const Function& function) {
    return !function.in_module || kernel->module != ModuleState::Gone;
}

const Function* live_function(u64 address) {
    const Function* function = kernel->image.function_at(address);
    return function && is_live(*function) ? function : nullptr;
}

}  // namespace

extern "C" {

// ---- Text.

void djk_text_lock() {
    if (kernel->text_locked) fail("the text lock is taken twice");
    if (kernel->on_gap && kernel->registry_locked) kernel->on_gap();
    kernel->text_locked = true;
    kernel->watch.look_at_links();
}

void djk_text_unlock() {
    if (!kernel->text_locked) fail("the text lock is given back, but not held");
    if (!kernel->watch.is_synced())
        fail("the text lock is given back before all CPUs know the text");
    kernel->text_locked = false;
}

void djk_text_write(unsigned long address, const void* bytes, size_t size) {
    kernel->write(address, bytes, size);
}

void djk_text_sync() {
    if (!kernel->text_locked) fail("a core sync without the text lock");
    ++kernel->syncs;
    kernel->watch.sync();
}

void djk_quiesce() {
    kernel->quiesce();
}

void* djk_exec_alloc(size_t size) {
    return kernel->allocate_exec(size);
}

void djk_exec_free(void* memory, size_t size) {
    kernel->free_exec(memory, size);
}

// ---- Symbols and facts.

unsigned int djk_symbol_find(const char* name, unsigned long* address, unsigned long*) {
    if (name == std::string_view("_text")) {
        *address = kernel->image.core().begin;
        return DJPROBE_REASON_NONE;
    }
    for (const Function& function : kernel->image.functions) {
        if (function.name != name || !is_live(function)) continue;
        *address = function.start;
        return DJPROBE_REASON_NONE;
    }
    return DJPROBE_REASON_NO_SUCH_SYMBOL;
}

bool djk_symbol_range(unsigned long address, unsigned long* start, unsigned long* size) {
    const Function* function = live_function(address);
    if (!function) return false;
    *start = function->start;
    *size = function->size;
    return true;
}

bool djk_has_name(unsigned long address) {
    const Function* function = live_function(address);
    return function && !function->nameless;
}

void djk_symbol_name(unsigned long address, char* name, char* module, unsigned long* offset) {
    const Function* function = live_function(address);
    strcpy(name, function ? function->name.c_str() : "");
    strcpy(module, function && function->in_module ? "module" : "");
    *offset = function ? address - function->start : 0;
}

unsigned long djk_function_entry(unsigned long function) {
    const Function* found = live_function(function);
    return found && found->start == function ? found->entry : function;
}

unsigned int djk_forbidden(unsigned long address) {
    const Function* function = live_function(address);
    if (!function) return DJPROBE_REASON_NOT_TEXT;
    return function->blacklisted ? DJPROBE_REASON_BLACKLISTED : DJPROBE_REASON_NONE;
}

unsigned int djk_forbidden_in_unlisted(unsigned long address) {
    const unsigned int reason = djk_forbidden(address);
    if (reason == DJPROBE_REASON_BLACKLISTED) fail("what the kernel lists is taken for unlisted");
    return reason;
}

void djk_reserved(unsigned long address, unsigned char* reasons, size_t count) {
    if (kernel->text_locked) fail("who owns text is asked for with the text lock held");
    for (size_t i = 0; i < count; ++i) {
        const u64 at = address + i;
        const bool asked = reasons[i];
        reasons[i] = 0;
        for (const Owned& owned : kernel->image.owned)
            if (owned.range.contains(at) && (asked || owned.reason != Reason::JUMP_LABEL))
                reasons[i] = static_cast<unsigned char>(owned.reason);
        if (!reasons[i] && kernel->kprobes.find(at)) reasons[i] = DJPROBE_REASON_FOREIGN_PATCH;
    }
}

djk_kprobe_state djk_kprobe_at(unsigned long address) {
    const Kprobe* kprobe = kernel->kprobes.find(address);
    if (!kprobe) return DJK_KPROBE_NONE;
    return kprobe->queued || kprobe->optimized ? DJK_KPROBE_JUMP : DJK_KPROBE_BYTE;
}

djk_seat* djk_join_kprobe(djk_site* site, unsigned long address, unsigned int* reason) {
    if (kernel->text_locked) fail("%#lx: a kprobe is registered within the text lock", address);
    *reason = DJPROBE_REASON_NO_MEMORY;
    if (!kernel->may_allocate()) return nullptr;
    auto* seat = new djk_seat{address, site};
    kernel->watch.touch(address);
    if (kernel->kprobes.join(*seat)) return seat;
    *reason = DJPROBE_REASON_FOREIGN_PATCH;
    delete seat;
    return nullptr;
}

void djk_leave_kprobe(djk_seat* seat) {
    if (kernel->text_locked) fail("%#lx: a kprobe leaves within the text lock", seat->address);
    kernel->kprobes.leave(*seat);
    delete seat;
}

void djk_give_up_seats() {
    if (kernel->registry_locked) fail("a grace period within the registry lock");
    kernel->kprobes.give_up_left();
}

unsigned int djk_missed_in_kprobe(const djk_seat* seat) {
    return seat->missed;
}

void djk_show_patch(djk_patch* patch) {
    if (!kernel->text_locked) fail("%#lx: a patch is shown without the text lock", patch->address);
    if (!kernel->kprobes.patches.insert(patch).second)
        fail("%#lx: a patch is shown twice", patch->address);
}

void djk_hide_patch(djk_patch* patch) {
    if (!kernel->text_locked) fail("%#lx: a patch is hidden without the text lock", patch->address);
    if (!kernel->kprobes.patches.erase(patch))
        fail("%#lx: a patch is hidden twice", patch->address);
}

bool djk_recover_foreign(unsigned long address, unsigned char bytes[DJK_KPROBE_BYTES]) {
    const Kprobe* kprobe = kernel->kprobes.find(address);
    if (!kprobe || !kprobe->armed) return false;
    memcpy(bytes, kernel->image.text(address), DJK_KPROBE_BYTES);
    memcpy(bytes, kprobe->saved, kprobe->optimized ? DJK_KPROBE_BYTES : 1);
    return true;
}

size_t djk_take_new_kprobes(unsigned long addresses[DJK_NEW_KPROBES]) {
    if (!kernel->text_locked) fail("new kprobes are taken without the text lock");
    std::vector<u64>& came = kernel->kprobes.came;
    const size_t count = came.size();
    std::copy_n(came.begin(), std::min<size_t>(count, DJK_NEW_KPROBES), addresses);
    came.clear();
    return count;
}

size_t djk_list_kprobes(unsigned long* addresses, size_t max) {
    size_t count = 0;
    for (const auto& [address, kprobe] : kernel->kprobes.all()) {
        if (count < max) addresses[count] = address;
        ++count;
    }
    return count + kernel->more_kprobes;
}

bool djk_has_kprobes() {
    return djk_list_kprobes(nullptr, 0) != 0;
}

bool djk_text_extent(unsigned long address, djk_extent* text) {
    const Range core = kernel->image.core(), module = kernel->image.module();
    if (!kernel->is_text(address)) return false;
    const Range range = core.contains(address) ? core : module;
    *text = {range.begin, range.end};
    return true;
}

void djk_core_text_extent(djk_extent* text) {
    *text = {kernel->image.core().begin, kernel->image.core().end};
}

void djk_core_rodata_extent(djk_extent* rodata) {
    *rodata = {kernel->image.rodata().begin, kernel->image.rodata().end};
}

void djk_visit_landings(unsigned long module_address, djk_landing_visit visit, void* context) {
    const Range text = module_address ? kernel->image.module() : kernel->image.core();
    for (const Stated& stated : kernel->image.stated)
        if (text.contains(stated.target))
            visit(context, static_cast<unsigned int>(stated.kind), stated.source, stated.target);
}

bool djk_is_compiled(unsigned long function) {
    const Function* found = live_function(function);
    return found && found->start == function && found->compiled;
}

unsigned int djk_unshadowable(unsigned long) {
    return 0;
}

bool djk_is_part(unsigned long symbol) {
    const Function* found = live_function(symbol);
    return found && found->start == symbol && found->part;
}

bool djk_has_fixups(unsigned long begin, unsigned long end) {
    return begin >= end ? false : !kernel->is_text(begin);
}

void djk_visit_rewritten_flow(unsigned long address, djk_flow_visit visit, void* context) {
    const Range core = kernel->image.core();
    for (const Owned& owned : kernel->image.owned)
        if (owned.reason == Reason::JUMP_LABEL &&
            core.contains(address) == core.contains(owned.range.begin))
            visit(context, DJK_FLOW_LABEL, owned.range.begin, owned.target);
}

size_t djk_list_rewritten(djk_rewrite* list, size_t max) {
    std::vector<djk_rewrite> all;
    for (const Owned& owned : kernel->image.owned)
        if (owned.reason == Reason::JUMP_LABEL && kernel->image.core().contains(owned.range.begin))
            all.push_back({owned.range.begin, owned.target, DJK_FLOW_LABEL});
    std::ranges::sort(all, {}, &djk_rewrite::place);
    std::copy_n(all.begin(), std::min(all.size(), max), list);
    return all.size();
}

void djk_visit_kprobes(djk_flow_visit visit, void* context) {
    for (const auto& [address, kprobe] : kernel->kprobes.all())
        visit(context, DJK_FLOW_UNKNOWN, address, 0);
}

bool djk_read(void* to, unsigned long address, size_t size) {
    if (!kernel->text_locked) fail("%#lx: text is read while others may be changing it", address);
    if (!kernel->is_text(address) || !kernel->is_text(address + size - 1)) return false;
    if (kernel->unreadable.overlaps({address, address + size})) return false;
    ++kernel->reads[address];
    memcpy(to, kernel->image.text(address), size);
    return true;
}

void djk_get_machine(djk_machine* machine) {
    const u64 outside = kernel->image.outside();
    *machine = {};
    machine->cs = 0x10;
    machine->ss = 0x18;
    machine->smap = true;
    machine->lahf = true;
    machine->pad = pad_size;
    machine->hit_handler = outside;
    machine->slow_thunk = outside + 16;
    machine->active = 0x1000;
    machine->preempt_count = 0x1008;
    machine->mark = -128;
    machine->stats = kernel->image.rodata().begin + 1024;
    machine->resched = outside + 32;
    if (change_machine) change_machine(*machine);
}

size_t djk_find_symbols(const char* name, unsigned long* addresses, size_t) {
    // Every name is that of one function; compiler and build have made nothing else of it.
    if (kernel->lacks == name || strchr(name, '.') || strncmp(name, "__pi_", 5) == 0) return 0;
    addresses[0] = kernel->image.functions[0].start;
    return 1;
}

void djk_set_fragile(djk_extent* ranges, size_t count) {
    kernel->fragile = {ranges, ranges + count};
}

void djk_lacks(const char* name, const char*) {
    kernel->told = name;
}

void djk_lacks_call(const char* name, const char* const callees[2]) {
    kernel->told = std::string(name) + " " + callees[0] + " " + callees[1];
}

bool djk_pin_target(unsigned long address) {
    if (!kernel->image.module().contains(address)) return true;
    if (kernel->module != ModuleState::Live) return false;
    ++kernel->pins;
    return true;
}

void djk_unpin_target(unsigned long address) {
    if (!kernel->image.module().contains(address)) return;
    if (--kernel->pins < 0) fail("%#lx: its module is given back too often", address);
}

// ---- Handlers.

djk_handler* djk_make_handler(const djk_source* source, djp_request*) {
    if (kernel->on_make) kernel->on_make();
    if (kernel->more_handlers.empty())
        return reinterpret_cast<djk_handler*>(const_cast<djk_source*>(source));
    Handler* const next = kernel->more_handlers.front();
    kernel->more_handlers.erase(kernel->more_handlers.begin());
    return &next->link;
}

void djk_handler_set_function(djk_handler*, unsigned long) {}

bool djk_handler_program(const djk_handler* handler, djk_program* program) {
    return kernel->describe(handler_of(handler), *program);
}

void djk_handler_set_plain(djk_handler* handler) {
    if (handler_of(handler).needs_context) fail("a program is called plain that needs its context");
}

bool djk_handler_shows_other(const djk_handler*) {
    return false;
}

void djk_handler_show_own(djk_handler*) {}

djk_times djk_handler_times(const djk_handler*) {
    return {};
}

size_t djk_handler_actions(const djk_handler* handler, const djprobe_action** actions) {
    *actions = handler_of(handler).actions.data();
    return handler_of(handler).actions.size();
}

bool djk_handler_is_shadow(const djk_handler*) {
    return false;
}

bool djk_handler_enters_shadow(const djk_handler*) {
    return false;
}

bool djk_needs_run_context(int helper) {
    return helper == 7;
}

bool djk_handler_may_be_at(const djk_handler*, unsigned long, bool) {
    return true;
}

void djk_handler_start(djk_handler*) {}

void djk_handler_stop(djk_handler*) {}

void djk_handler_destroy(djk_handler* handler) {
    kernel->destroy(handler_of(handler));
}

void djk_handler_count(const djk_handler* handler, unsigned long* hits, unsigned long missed[8]) {
    *hits = handler_of(handler).hits;
    memset(missed, 0, 8 * sizeof(*missed));
}

// ---- The rest.

void djk_registry_lock() {
    if (kernel->registry_locked) fail("the registry lock is taken twice");
    if (kernel->text_locked) fail("the registry lock is taken within the text lock");
    kernel->registry_locked = true;
}

void djk_registry_unlock() {
    kernel->watch.look_at_table();
    kernel->registry_locked = false;
}

void djk_portion_begin(djk_portion* portion) {
    portion->size = kernel->portion;
}

void djk_registry_pause(djk_portion*) {
    if (!kernel->registry_locked) fail("a pause without the registry lock");
    djk_registry_unlock();
    kernel->pause();
    djk_registry_lock();
}

bool djk_is_dying() {
    return kernel->dies_after == 0 || (kernel->dies_after > 0 && --kernel->dies_after == 0);
}

void* djk_alloc(size_t size) {
    return kernel->allocate(size, false);
}

void djk_free(void* memory) {
    if (!memory) return;
    kernel->watch.remove_allocation(memory, false);
    free(memory);
}

static size_t size_of(djk_kind kind) {
    return kind == DJK_PROBES ? DJK_PROBE_SIZE : DJK_SITE_SIZE;
}

bool djk_may_take(djk_kind, size_t count) {
    return count <= kernel->most_taken;
}

void* djk_take(djk_kind kind) {
    return djk_alloc(size_of(kind));
}

void* djk_attempt(djk_kind kind) {
    return djk_take(kind);
}

void* djk_insist(djk_kind kind) {
    return kernel->insist(size_of(kind));
}

void djk_give_back(djk_kind, void* memory) {
    djk_free(memory);
}

void* djk_alloc_large(size_t size) {
    return kernel->allocate(size, true);
}

void djk_free_large(void* memory) {
    if (!memory) return;
    kernel->watch.remove_allocation(memory, true);
    free(memory);
}

void djk_breathe() {}

void djk_optimizer_kick() {
    kernel->kicked = true;
}

void djk_optimizer_kick_later() {
    kernel->kicked_later = true;
}

void djk_watch_once() {
    kernel->watches_once = true;
}

void djk_optimizer_done() {}

void djk_keep_module() {
    ++kernel->kept;
}

void djk_release_module() {
    if (--kernel->kept < 0) fail("our module is released too often");
}

void djk_warn(const char* what, unsigned long address) {
    note("warning: %#lx: %s", address, what);
    kernel->watch.leave_board(address);
}
}
