// SPDX-License-Identifier: GPL-2.0
#include "object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstring>
#include <numeric>
#include <stdexcept>

namespace djprobe::vm {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
    throw std::runtime_error(what + ": " + std::strerror(error < 0 ? -error : error));
}

}  // namespace

Object::Object(const std::string& name) {
    const std::string path = "bpf/" + name + ".bpf.o";
    object_.reset(bpf_object__open_file(path.c_str(), nullptr));
    if (!object_) fail(path, errno);
    if (const int error = bpf_object__load(object_.get())) fail(path, error);
}

void Object::Close::operator()(bpf_object* object) const {
    bpf_object__close(object);
}

void Object::Unlink::operator()(bpf_link* link) const {
    bpf_link__destroy(link);
}

int Object::program(const std::string& name) const {
    const bpf_program* program = bpf_object__find_program_by_name(object_.get(), name.c_str());
    if (!program) fail("program " + name, ENOENT);
    return bpf_program__fd(program);
}

int Object::map(const std::string& name) const {
    const int fd = bpf_object__find_map_fd_by_name(object_.get(), name.c_str());
    if (fd < 0) fail("map " + name, fd);
    return fd;
}

void Object::lookup(const std::string& map_name, const void* key, void* value) const {
    if (bpf_map_lookup_elem(map(map_name), key, value)) fail("lookup in " + map_name, errno);
}

void Object::update(const std::string& map_name, const void* key, const void* value) const {
    if (bpf_map_update_elem(map(map_name), key, value, BPF_ANY))
        fail("update of " + map_name, errno);
}

uint64_t Object::sum(const std::string& map_name, uint32_t key) const {
    std::vector<uint64_t> values(static_cast<size_t>(libbpf_num_possible_cpus()));
    lookup(map_name, &key, values.data());
    return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

Object::Link Object::kernel_kprobe(const std::string& program, const std::string& symbol,
                                   uint64_t offset, uint64_t cookie) const {
    LIBBPF_OPTS(bpf_kprobe_opts, options);
    options.offset = offset;
    options.bpf_cookie = cookie;
    const bpf_program* found = bpf_object__find_program_by_name(object_.get(), program.c_str());
    if (!found) fail("program " + program, ENOENT);
    const libbpf_print_fn_t print = libbpf_set_print(nullptr);  // a refusal may be expected
    Link link(bpf_program__attach_kprobe_opts(found, symbol.c_str(), &options));
    libbpf_set_print(print);
    return link;
}

}  // namespace djprobe::vm
