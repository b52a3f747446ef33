#!/usr/bin/python3
"""oci.py OUT.tar REFERENCE COMMAND_JSON PATH=FILE... [@LINK=TARGET...]

An image of one layer as an OCI layout in a tar, as containerd and podman import it. Needs no network and no engine; the
same input gives the same bytes. (image-spec: image-layout.md, manifest.md, config.md)"""
import hashlib
import io
import json
import os
import sys
import tarfile

OCI = "application/vnd.oci.image."


def entry(tar, name, data=b"", mode=0o755, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.mode, info.type, info.linkname, info.size = mode, kind, link, len(data)
    tar.addfile(info, io.BytesIO(data))


def layer(items):
    out, made = io.BytesIO(), set()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:

        def parents(name):
            for i, c in enumerate(name):
                if c == "/" and name[:i] not in made:
                    made.add(name[:i])
                    entry(tar, name[:i], mode=0o1777 if name[:i] == "tmp" else 0o755, kind=tarfile.DIRTYPE)

        for d in ("dev/", "etc/", "proc/", "root/", "sys/", "tmp/"):
            parents(d)
        for item in items:
            name, value = item.lstrip("@").split("=", 1)
            parents(name)
            if item[0] == "@":
                entry(tar, name, mode=0o777, kind=tarfile.SYMTYPE, link=value)
            else:
                with open(value, "rb") as f:
                    entry(tar, name, f.read(), os.stat(value).st_mode & 0o7777)
    return out.getvalue()


def described(kind, blob, **more):
    digest = "sha256:" + hashlib.sha256(blob).hexdigest()
    return {"mediaType": OCI + kind, "digest": digest, "size": len(blob), **more}


def main(out, reference, command, *items):
    data = layer(items)
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": json.loads(command), "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest()]}}).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": described("config.v1+json", config),
        "layers": [described("layer.v1.tar", data)]}).encode()
    index = json.dumps({"schemaVersion": 2, "manifests": [
        described("manifest.v1+json", manifest, annotations={
            "io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference})]}).encode()
    with tarfile.open(out, "w") as tar:
        entry(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}', 0o644)
        entry(tar, "index.json", index, 0o644)
        for blob in (data, config, manifest):
            entry(tar, "blobs/sha256/" + hashlib.sha256(blob).hexdigest(), blob, 0o644)


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
