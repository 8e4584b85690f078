"""The bill of materials of a wheel, in CycloneDX: what it holds that others made, and what it needs."""

import email
import hashlib
import json
import os
import re
import uuid
from datetime import UTC, datetime
from typing import Any

from tools.release import licences
from tools.release.wheel import Files, dist_info


def of_wheel(files: Files) -> bytes:
    """Return the bill of materials of a wheel's files."""
    metadata = email.message_from_bytes(files[f"{dist_info(files)}/METADATA"][0])
    name, version = metadata["Name"], metadata["Version"]
    whole = f"pkg:pypi/{name}@{version}"
    needed = [_requirement(text) for text in metadata.get_all("Requires-Dist") or () if "extra ==" not in text]
    contained = [*_data(files), *_cython(files)]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, whole + _digest_of_all(files))}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC).isoformat(),
            "component": {
                "type": "library",
                "bom-ref": whole,
                "name": name,
                "version": version,
                "purl": whole,
                "licenses": [{"expression": metadata["License-Expression"]}],
                "components": contained,
            },
        },
        "components": needed,
        "dependencies": [{"ref": whole, "dependsOn": [each["bom-ref"] for each in needed]}],
    }
    return (json.dumps(bill, indent=1) + "\n").encode()


def _data(files: Files) -> list[dict[str, Any]]:
    """Describe the files that are not code, with their licences."""
    known, found = licences.annotations(), []
    for path in licences.not_code(name for name in files if ".dist-info/" not in name):
        licence = licences.of_file(f"src/{path}", known)
        if licence is not None:
            found.append(
                {
                    "type": "data" if "/datasets/" in path else "file",
                    "bom-ref": path,
                    "name": path,
                    "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(files[path][0]).hexdigest()}],
                    "licenses": [{"expression": licence.expression}],
                    "copyright": licence.copyright,
                }
            )
    return found


def _cython(files: Files) -> list[dict[str, Any]]:
    """Describe Cython, whose C code for arrays is compiled into the extension modules; they name its version."""
    versions = {
        match.decode().replace("_", ".")
        for name, (content, _) in files.items()
        if name.endswith((".so", ".pyd"))
        for match in re.findall(rb"_cython_(\d+_\d+_\d+(?:(?:a|b|rc)\d+)?)", content)
    }
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/cython@{version}",
            "name": "Cython",
            "version": version,
            "purl": f"pkg:pypi/cython@{version}",
            "description": "wrote the C code of the extension modules",
            "licenses": [{"expression": "Apache-2.0"}],
        }
        for version in sorted(versions)
    ]


def _requirement(text: str) -> dict[str, Any]:
    """Describe a package that is needed at run time: which versions, in its description."""
    name = re.match(r"[A-Za-z0-9._-]+", text)[0].lower()  # type: ignore[index]
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "description": f"needed at run time, not contained: {text}",
        "scope": "required",
    }


def _digest_of_all(files: Files) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + hashlib.sha256(files[name][0]).digest())
    return digest.hexdigest()
