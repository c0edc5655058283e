#!/usr/bin/env python3
"""Verifies the mock signed data of Apple's App Store Server Library for Python with `receipt-bridge decode`.

    python3 Tests/Scripts/check/apple_mock_data.py --tool .build/release/receipt-bridge
    … --library …/app-store-server-library-python     a copy of the library instead of a download

- Every JWS that Apple's tests expect to verify under Apple's test root must verify under it, and under no other root.
- Every JWS or receipt that Apple's tests expect to be refused, or that is not signed by the App Store, must be refused.
- Apple's tests sign the JSON documents in `models` with a key of their own, and skip the verification. Here they are
  signed with a chain like Apple's, and must verify. Their environment is replaced: `LocalTesting` is for signatures
  that are not checked. Placeholders of nested JWS are replaced with the matching documents.
- Everything that verifies is changed in one character of the header, the payload and the signature, and must be refused.

Nothing is written outside a temporary folder. Needs PyPI, and git for the download.
"""
import argparse
import base64
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import packages

packages.use("cryptography", packages.CRYPTOGRAPHY)

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID, ObjectIdentifier

LIBRARY = "https://github.com/apple/app-store-server-library-python"
COMMIT = "8b5ccdc"
# What must be refused, with the code of the failure.
REFUSED = {
    "mock_signed_data/missingX5CHeaderClaim": "malformedCertificate",
    "mock_signed_data/legacyTransaction": "unsigned",
    "xcode/xcode-signed-app-transaction": "xcodeReceipt",
    "xcode/xcode-signed-renewal-info": "xcodeReceipt",
    "xcode/xcode-signed-transaction": "xcodeReceipt",
    "xcode/xcode-app-receipt-empty": "xcodeReceipt",
    "xcode/xcode-app-receipt-with-transaction": "xcodeReceipt",
}
# The documents that stand for the placeholders of nested JWS.
NESTED = {"signedTransactionInfo": "signedTransaction", "signedRenewalInfo": "signedRenewalInfo",
          "signedAppTransactionInfo": "appTransaction"}
# Apple's markers of the intermediate and of the leaf certificate.
INTERMEDIATE, LEAF = ObjectIdentifier("1.2.840.113635.100.6.2.1"), ObjectIdentifier("1.2.840.113635.100.6.11.1")


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """A root, an intermediate and a leaf certificate with Apple's markers, and the key of the leaf."""

    def __init__(self):
        keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(3)]
        names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("Root", "Intermediate", "Leaf")]
        self.certificates = []
        for index, marker in enumerate((None, INTERMEDIATE, LEAF)):
            issuer = max(index - 1, 0)
            builder = (
                x509.CertificateBuilder().subject_name(names[index]).issuer_name(names[issuer])
                .public_key(keys[index].public_key()).serial_number(index + 1)
                .not_valid_before(datetime.datetime(2020, 1, 1)).not_valid_after(datetime.datetime(2040, 1, 1))
                .add_extension(x509.BasicConstraints(ca=index < 2, path_length=None), critical=True)
                .add_extension(x509.KeyUsage(
                    digital_signature=index == 2, key_cert_sign=index < 2, crl_sign=index < 2, content_commitment=False,
                    key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
                    decipher_only=False), critical=True))
            if marker:
                builder = builder.add_extension(x509.UnrecognizedExtension(marker, b"\x05\x00"), critical=False)
            self.certificates.append(builder.sign(keys[issuer], hashes.SHA256()).public_bytes(serialization.Encoding.DER))
        self.key = keys[2]

    def sign(self, payload):
        header = {"alg": "ES256", "x5c": [base64.b64encode(der).decode() for der in reversed(self.certificates)]}
        text = encoded(json.dumps(header).encode()) + "." + encoded(json.dumps(payload).encode())
        r, s = utils.decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return text + "." + encoded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


def signed_models(folder, signer):
    """Signs the documents that Apple's tests sign: those with the date of a signature."""
    def document(name):
        values = json.loads((folder / f"{name}.json").read_text())
        for part in [values] + [value for value in values.values() if isinstance(value, dict)]:
            for key in ("environment", "receiptType"):
                if part.get(key) == "LocalTesting":
                    part[key] = "Sandbox"
            for key, other in NESTED.items():
                if key in part:
                    part[key] = signer.sign(document(other))
        return values
    found = {}
    for file in sorted(folder.glob("*.json")):
        values = json.loads(file.read_text())
        # A request of Retention Messaging is addressed to another server.
        if ("signedDate" in values or "receiptCreationDate" in values) and "userLocale" not in values:
            found[f"models/{file.name}"] = signer.sign(document(file.stem))
    return found


def changes(text):
    """Returns the JWS with one character changed in the header, the payload and the signature."""
    parts = text.split(".")
    for index, part in enumerate(parts):
        place = len(part) // 2
        other = "A" if part[place] != "A" else "B"
        changed = part[:place] + other + part[place + 1:]
        yield ["header", "payload", "signature"][index], ".".join(parts[:index] + [changed] + parts[index + 1:])


def decode(tool, folder, roots, items):
    """Decodes named texts, and returns the result of each."""
    names = []
    for index, text in enumerate(items.values()):
        name = folder / f"item-{index}"
        name.write_text(text)
        names.append(str(name))
    command = [tool, "decode"] + (["--roots", str(roots)] if roots else []) + names
    output = subprocess.run(command, capture_output=True, text=True).stdout
    return dict(zip(items, (json.loads(line) for line in output.splitlines()), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--library", help="folder with Apple's library; downloaded if absent")
    arguments = parser.parse_args()
    problems = []

    def check(name, result, code=None):
        """Expects that an item verifies or, with a code, that it is refused for that reason."""
        failure = (result["failure"] or {}).get("code")
        is_expected = result["verified"] if code is None else not result["verified"] and code in (failure, "any")
        if not is_expected:
            problems.append(f"{name}: verified {result['verified']}, {result['failure']}")

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        library = Path(arguments.library) if arguments.library else folder / "library"
        if not arguments.library:
            subprocess.run(["git", "clone", "--quiet", LIBRARY, library], check=True)
            subprocess.run(["git", "-C", library, "checkout", "--quiet", COMMIT], check=True)
        resources = library / "tests/resources"
        signer = Signer()
        for name, certificate in [("apple", (resources / "certs/testCA.der").read_bytes()), ("own", signer.certificates[0])]:
            (folder / name).mkdir()
            (folder / name / "root.cer").write_bytes(certificate)
        files = sorted(file for name in ("mock_signed_data", "xcode") for file in (resources / name).iterdir())
        mocks = {f"{file.parent.name}/{file.name}": file.read_text().strip() for file in files}
        missing = REFUSED.keys() - mocks.keys()
        if missing:
            problems.append(f"absent from the library: {', '.join(sorted(missing))}")
        refused = {name: text for name, text in mocks.items() if name in REFUSED}
        for name, result in decode(arguments.tool, folder, folder / "apple", refused).items():
            check(name, result, REFUSED[name])
        genuine = {name: text for name, text in mocks.items() if name not in REFUSED}
        models = signed_models(resources / "models", signer)
        if not genuine or not models:
            problems.append(f"{len(genuine)} signed mocks and {len(models)} documents to sign in the library")
        count = 0
        for root, other, items in [("apple", "own", genuine), ("own", "apple", models)]:
            for name, result in decode(arguments.tool, folder, folder / root, items).items():
                check(name, result)
            for stranger in (folder / other, None):
                for name, result in decode(arguments.tool, folder, stranger, items).items():
                    check(f"{name} under another root", result, "untrustedChain")
            changed = {f"{name} with a changed {part}": text for name, item in items.items() for part, text in changes(item)}
            for name, result in decode(arguments.tool, folder, folder / root, changed).items():
                check(name, result, "any")
            count += len(changed)
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{len(genuine)} mocks of Apple's verify: {', '.join(genuine)}")
    print(f"{len(models)} documents signed here verify: {', '.join(models)}")
    print(f"{len(refused)} mocks are refused: {', '.join(f'{name} ({REFUSED[name]})' for name in refused)}")
    print(f"{count} changed JWS are refused, and all {len(genuine) + len(models)} under other roots")


if __name__ == "__main__":
    main()
