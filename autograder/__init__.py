"""What an author and an instructor run: build labs, prove their checks, grade submissions, write feedback."""

import sys

# jsonschema, and so nbformat, builds a grammar of internationalised addresses with it at import: a third of the start
# of every command. No notebook holds such an address, and jsonschema does without where the module is not there.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
