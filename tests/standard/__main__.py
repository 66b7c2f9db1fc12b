"""Says how many functions of the Array API standard are as it says, as the tests have found."""

from __future__ import annotations

from tests.standard.exceptions import EXCEPTIONS
from tests.standard.functions import FUNCTIONS

print(f"{len(FUNCTIONS) - len(EXCEPTIONS)} of {len(FUNCTIONS)} functions of the standard")
for name, reason in sorted(EXCEPTIONS.items()):
    print(f"    {name} {reason}")
