"""JSON schemas of what tools take. The library that reads them is loaded with the first: that takes a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """What checks values by a schema; it fetches nothing that the schema refers to."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    return Draft202012Validator(schema, registry=Registry())


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is what a schema asks for; none is, if the schema refers to what is not there."""
    from referencing.exceptions import Unresolvable

    try:
        return bool(validator(schema).is_valid(value))
    except Unresolvable:
        return False


def fault_in(schema: Mapping[str, Any]) -> str:
    """Where a schema is wrong, and how; empty if nowhere."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = ".".join(str(part) for part in list(error.absolute_path)[1:])
        return f"{where}: {error.message[:120]}"
    return ""
