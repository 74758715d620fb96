"""How settings that are missing or wrong are told: by name, with what each is for, and never with their values."""

from pydantic import BaseModel, ValidationError


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line for each environment variable that has to be set or changed.

    Args:
        error: What reading the environment raised.
        model: The class that was read, for the descriptions of its fields.
    """
    found = error.errors(include_url=False, include_context=False, include_input=False)
    missing = [str(each["loc"][0]) for each in found if each["type"] == "missing"]
    wrong = [(str(each["loc"][0]), each["msg"]) for each in found if each["type"] != "missing" and each["loc"]]
    lines = ["These settings are missing in the environment:"] if missing else []
    lines += [f"  {name.upper()}: {_purpose(model, name)}" for name in missing]
    lines += ["These settings cannot be used:"] if wrong else []
    lines += [f"  {name.upper()} ({_purpose(model, name)}) {_sentence(message)}" for name, message in wrong]
    return "\n".join(lines)


def _purpose(model: type[BaseModel], name: str) -> str:
    field = model.model_fields.get(name)
    return (field.description if field else None) or "no description"


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ").rstrip(".") + "."
