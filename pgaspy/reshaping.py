from typing import Any


def reshaped(base: Any, view: Any, shape: Any) -> Any:
    raise NotImplementedError
