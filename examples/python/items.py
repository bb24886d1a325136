"""Items as dicts of Python: the text form of the type dyn_item, there and back.

Decimals, bytes and sets stay what they are.  (boto3.dynamodb.types does the same.)
"""
import base64
import json
from decimal import Decimal


class Item(dict):
    """A dict that is sent as an item."""


def to_text(item):
    """What dyn_item takes as its input, DynamoDB JSON."""
    return json.dumps({name: typed(value) for name, value in item.items()})


def from_text(text):
    """A dict of what dyn_item prints."""
    return {name: plain(value) for name, value in json.loads(text).items()}


def typed(value):
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, (int, float, Decimal)):
        return {"N": str(value)}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"M": {name: typed(v) for name, v in value.items()}}
    if isinstance(value, list):
        return {"L": [typed(v) for v in value]}
    if isinstance(value, (set, frozenset)):
        pairs = [pair for v in value for pair in typed(v).items()]
        codes = {code for code, _ in pairs}
        if codes in ({"S"}, {"N"}, {"B"}):  # a set is of one type, and never empty
            return {codes.pop() + "S": [v for _, v in pairs]}
    raise TypeError("no value of an item: %r" % (value,))


def plain(value):
    [(code, v)] = value.items()
    if code == "NULL":
        return None
    if code == "N":
        return Decimal(v)
    if code == "B":
        return base64.b64decode(v)
    if code == "M":
        return {name: plain(element) for name, element in v.items()}
    if code == "L":
        return [plain(element) for element in v]
    if code in ("SS", "NS", "BS"):
        return {plain({code[0]: element}) for element in v}
    return v
