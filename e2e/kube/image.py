#!/usr/bin/env python3
"""An OCI image of one layer, as a tar that `ctr images import` takes:
    image.py OUT.tar NAME COMMAND_AS_JSON PATH_IN_IMAGE=FILE... [@LINK=TARGET...]"""
import hashlib
import io
import json
import os
import sys
import tarfile


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def entry(tar, name, mode, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.mode, info.size = mode, len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))


def layer(paths):
    out, folders = io.BytesIO(), set()
    with tarfile.open(fileobj=out, mode="w") as tar:
        def folder(path):
            parts = path.split("/")
            for i in range(1, len(parts) + 1):
                name = "/".join(parts[:i])
                if name and name not in folders:
                    folders.add(name)
                    entry(tar, name, 0o1777 if name == "tmp" else 0o755, type=tarfile.DIRTYPE)

        for name in ("proc", "sys", "dev", "tmp", "etc"):
            folder(name)
        for path in paths:
            name, source = path.lstrip("@").split("=", 1)
            folder(os.path.dirname(name))
            if path[0] == "@":
                entry(tar, name, 0o777, type=tarfile.SYMTYPE, linkname=source)
            else:
                with open(source, "rb") as f:
                    entry(tar, name, os.stat(source).st_mode & 0o777, f.read())
    return out.getvalue()


def main(out, name, command, *paths):
    oci = "application/vnd.oci.image."
    data = layer(paths)
    config = json.dumps({"architecture": "amd64", "os": "linux",
                         "config": {"Env": ["PATH=/usr/bin:/bin"], "Entrypoint": json.loads(command)},
                         "rootfs": {"type": "layers", "diff_ids": [digest(data)]}}).encode()

    def blob(kind, content, **more):
        return {"mediaType": oci + kind, "digest": digest(content), "size": len(content), **more}

    manifest = json.dumps({"schemaVersion": 2, "mediaType": oci + "manifest.v1+json",
                           "config": blob("config.v1+json", config),
                           "layers": [blob("layer.v1.tar", data)]}).encode()
    index = json.dumps({"schemaVersion": 2, "manifests": [
        blob("manifest.v1+json", manifest, platform={"architecture": "amd64", "os": "linux"},
             annotations={"io.containerd.image.name": name})]}).encode()
    with tarfile.open(out, "w") as tar:
        entry(tar, "oci-layout", 0o644, b'{"imageLayoutVersion": "1.0.0"}')
        entry(tar, "index.json", 0o644, index)
        for content in (data, config, manifest):
            entry(tar, "blobs/sha256/" + digest(content)[7:], 0o644, content)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
