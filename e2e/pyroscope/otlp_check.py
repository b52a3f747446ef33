#!/usr/bin/env python3
"""Compares an ExportProfilesServiceRequest, read by OpenTelemetry's own definition, with the pprof profile that it was
made from, read by a small reader of our own.   otlp_check.py REQUEST PPROF_GZ"""
import collections
import gzip
import sys

from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service


def fields(data):
    """The fields of a message: (number, value or bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            assert tag & 7 == 2, tag
            size = varint()
            at += size
            yield tag >> 3, data[at - size : at]


def numbers(data):
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift = shift + 7 if byte & 0x80 else 0
        if not byte & 0x80:
            out.append(value)
            value = 0
    return out


def read_pprof(data):
    """{(type, unit): {((function, line), ...) leaf first: value}} and the sum of samples without a value."""
    tables = collections.defaultdict(list)
    for number, value in fields(data):
        tables[number].append(value)
    text = [s.decode() for s in tables[6]]
    functions = {dict(fields(f))[1]: text[dict(fields(f)).get(2, 0)] for f in tables[5]}
    lines = {}
    for location in tables[4]:
        of = [dict(fields(v)) for n, v in fields(location) if n == 4]
        lines[dict(fields(location))[1]] = tuple((functions[x[1]], x.get(2, 0)) for x in of)
    types = [tuple(text[dict(fields(t)).get(i, 0)] for i in (1, 2)) for t in tables[1]]
    out = {t: collections.Counter() for t in types}
    for sample in tables[2]:
        parts = dict((n, v) for n, v in fields(sample) if n in (1, 2))
        stack = tuple(line for i in numbers(parts[1]) for line in lines[i])
        for kind, value in zip(types, numbers(parts[2])):
            out[kind][stack] += value
    return out, tables[9][0], tables[10][0]


def read_otlp(data):
    request = service.ExportProfilesServiceRequest()
    request.ParseFromString(data)
    size = request.ByteSize()
    request.DiscardUnknownFields()
    assert request.ByteSize() == size, "there are fields that nobody knows"
    d = request.dictionary
    for table in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table):
        assert len(table) and table[0] == type(table[0])(), "element 0 is the zero value"
    assert d.string_table[0] == ""
    (resource,) = request.resource_profiles
    (scope,) = resource.scope_profiles
    out = {}
    for profile in scope.profiles:
        kind = (d.string_table[profile.sample_type.type_strindex], d.string_table[profile.sample_type.unit_strindex])
        out[kind] = collections.Counter()
        for sample in profile.samples:
            stack = []
            for index in d.stack_table[sample.stack_index].location_indices:
                location = d.location_table[index]
                assert 0 <= location.mapping_index < len(d.mapping_table)
                for line in location.lines:
                    function = d.function_table[line.function_index]
                    stack.append((d.string_table[function.name_strindex], line.line))
            (value,) = sample.values
            out[kind][tuple(stack)] += value
    return request, scope, out


wanted, time_ns, duration_ns = read_pprof(gzip.decompress(open(sys.argv[2], "rb").read()))
request, scope, got = read_otlp(open(sys.argv[1], "rb").read())
d = request.dictionary
assert got == wanted, (got, wanted)
assert sum(len(v) for v in got.values()) > 0
for profile in scope.profiles:
    assert profile.time_unix_nano == time_ns, profile.time_unix_nano
    assert profile.duration_nano == duration_ns
    assert d.string_table[profile.period_type.type_strindex] == "cpu" and profile.period > 0
    assert len(profile.profile_id) == 16
attributes = {a.key: a.value.string_value for a in request.resource_profiles[0].resource.attributes}
assert attributes == {
    "service.name": "shop",
    "k8s.namespace.name": "market",
    "k8s.pod.name": "cart-0",
    "k8s.container.name": "app",
}, attributes
build_ids = 0
for mapping in d.mapping_table:
    for index in mapping.attribute_indices:
        assert d.string_table[d.attribute_table[index].key_strindex] == "process.executable.build_id.gnu"
        assert len(d.attribute_table[index].value.string_value) >= 16
        build_ids += 1
assert build_ids > 0
assert any(name == "burn" for stack in got["cpu", "nanoseconds"] for name, _ in stack)
print(f"{len(scope.profiles)} profiles, {sum(len(v) for v in got.values())} stacks, {build_ids} build ids")
