"""Recovery codes that were derived from an encrypted seed become hashes. Used codes go."""

import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import migrations


def codes_of(seed, used_mask):
    """The codes that are left, as django-allauth derives ten of eight digits."""
    digest = hmac.new(seed, None, "sha1")
    for i in range(10):
        digest.update(f"{i:3},".encode())
        if not used_mask & (1 << i):
            yield f"{int.from_bytes(digest.digest()[:4], 'big') % 10**8:08}"


def hash_codes(apps, schema_editor):
    info, hasher = b"colloquy:sealed:second factors", PBKDF2PasswordHasher()
    cipher = AESGCM(HKDF(SHA256(), 32, None, info).derive(settings.SECRET_KEY.encode()))
    for row in apps.get_model("mfa", "Authenticator").objects.filter(data__has_key="seed").iterator():
        sealed, salt = bytes.fromhex(row.data["seed"]), hasher.salt()
        try:
            codes = codes_of(cipher.decrypt(sealed[:12], sealed[12:], b""), row.data["used_mask"])
        except InvalidTag:  # of another SECRET_KEY, so nobody could use them
            row.delete()
            continue
        row.data = {"hashes": [hasher.encode(code, salt, 100_000) for code in codes]}
        row.save(update_fields=["data"])


class Migration(migrations.Migration):

    dependencies = [
        ('communities', '0023_let_communities_ask_for_second_factors'),
        ('mfa', '0003_authenticator_type_uniq'),
    ]

    operations = [migrations.RunPython(hash_codes, migrations.RunPython.noop)]
