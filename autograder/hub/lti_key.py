"""The hub's key pair as an LTI tool: it signs requests for scores and rosters, and the LMS checks them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

KEY, PUBLIC_KEYS = "key.pem", "jwks.json"
BITS = 2048


def create_key(folder: Path) -> None:
    """Create the key in this folder if there is none. Only this process's user may read it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if (folder / KEY).exists():
        return
    key = rsa.generate_private_key(65537, BITS)
    public = key.public_key()
    digest = hashes.Hash(hashes.SHA256())
    digest.update(public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))
    name = digest.finalize().hex()[:16]
    entry = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public)) | {"kid": name, "alg": "RS256", "use": "sig"}
    (folder / PUBLIC_KEYS).write_text(json.dumps({"keys": [entry]}), encoding="utf-8")
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with open(os.open(folder / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)


def read_public_keys(folder: Path) -> str:
    """Read the public key as a JSON web key set."""
    return (folder / PUBLIC_KEYS).read_text(encoding="utf-8")


def read_key_name(folder: Path) -> str:
    """Read the key's `kid`."""
    return str(json.loads(read_public_keys(folder))["keys"][0]["kid"])
