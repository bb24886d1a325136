#!/usr/bin/env python3
"""A shop on a table of items, with SQLAlchemy 1.4 or 2.  examples/shop.sql makes what it needs.

The environment (PGHOST, PGDATABASE, PGUSER …) says which database.
"""
import json
import random
import time
import uuid
from decimal import Decimal

from sqlalchemy import Column, FetchedValue, MetaData, Table, Text, bindparam, create_engine, func, insert, select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import UserDefinedType

from items import from_text, to_text

KETTLE = {"pk": "PRODUCT#kettle", "sk": "PRODUCT"}

# What the server has undone because of others, so that it can be done again.
CONFLICTS = {"40001", "40P01", "YD004"}


class DynItem(UserDefinedType):
    """Items are dicts; Decimals, bytes and sets stay what they are."""
    cache_ok = True

    def get_col_spec(self, **kw):
        return "dyn_item"

    def bind_processor(self, dialect):
        return lambda item: None if item is None else to_text(item)

    def coerce_compared_value(self, op, value):
        """item = {…}, but item ->> 'name' and item ? 'name'."""
        return self if isinstance(value, dict) else Text()

    def result_processor(self, dialect, coltype):
        return lambda item: None if item is None else from_text(item)


# FetchedValue: the server makes the key columns, of the item.
SHOP = Table("shop", MetaData(), Column("item", DynItem), Column("pk", Text, FetchedValue(), primary_key=True),
             Column("sk", Text, FetchedValue(), primary_key=True))

engine = create_engine("postgresql://", future=True, pool_pre_ping=True, connect_args={"options": "-c statement_timeout=90s"},
                       json_deserializer=lambda s: json.loads(s, parse_float=Decimal))


def statement(sql, **types):
    """SQL whose parameters of these names have these types."""
    return text(sql).bindparams(*(bindparam(name, type_=type_) for name, type_ in types.items()))


PUT = statement("SELECT dyn_put('shop', :item)", item=DynItem)

# text() takes :name for its own parameters, so those of the expressions have a backslash.
PAGE = statement(r"""
    SELECT to_jsonb(items) AS items, last_evaluated_key
      FROM dyn_query_page('shop', 'pk = \:pk AND begins_with(sk, \:orders)', vals => :vals, page_size => :size, start_key => :start)""",
                 vals=DynItem, start=DynItem).columns(items=JSONB, last_evaluated_key=DynItem)
RESERVE = statement(r"""
    SELECT dyn_update('shop', :key, 'SET stock = stock - \:n', 'stock >= \:n', vals => :vals, return_values => 'UPDATED_NEW') AS item""",
                    key=DynItem, vals=DynItem).columns(item=DynItem)
SET_STOCK = statement(r"SELECT dyn_update('shop', :key, 'SET stock = \:n', vals => :vals)", key=DynItem, vals=DynItem)


def sqlstate(error):
    """That of the driver's error, psycopg 3 or psycopg2."""
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)


def kettle_of(conn):
    return conn.execute(select(SHOP.c.item).where(SHOP.c.pk == KETTLE["pk"], SHOP.c.sk == KETTLE["sk"])).scalar_one()


def fill():
    """An item with all digits, a set and bytes; and items as rows of the table."""
    with engine.begin() as conn:
        conn.execute(PUT, {"item": dict(KETTLE, stock=5, serial=12345678901234567890123456789012345678, tags={"new", "red"}, photo=b"\1\2\3")})
        conn.execute(insert(SHOP).values(item={"pk": "CUSTOMER#ada", "sk": "ORDER#1", "product": "kettle", "pieces": 1}))
        conn.execute(insert(SHOP), [{"item": {"pk": "CUSTOMER#ada", "sk": "ORDER#%d" % n, "product": "kettle", "pieces": 1}} for n in range(2, 6)])


def show():
    with engine.connect() as conn:
        kettle = kettle_of(conn)
        print("kettle: %s in stock, tags %s, photo of %d bytes" % (kettle["stock"], " ".join(sorted(kettle["tags"])), len(kettle["photo"])))
        print("serial number", kettle["serial"])
        print("items with tags:", conn.execute(select(func.count()).select_from(SHOP).where(SHOP.c.item.op("?")("tags"))).scalar_one())


def order_pages(customer, size):
    """The orders of a customer, a page at a time, each in a transaction of its own."""
    start = None
    while True:
        with engine.connect() as conn:
            items, start = conn.execute(PAGE, {"vals": {":pk": "CUSTOMER#" + customer, ":orders": "ORDER#"}, "size": size, "start": start}).one()
        if items:
            yield items
        if start is None:
            return


def reserve(pieces):
    """Take pieces from the stock if there are as many: how many are left, or None."""
    try:
        with engine.begin() as conn:
            return conn.execute(RESERVE, {"key": KETTLE, "vals": {":n": pieces}}).scalar_one()["stock"]
    except DBAPIError as e:
        if sqlstate(e) == "YD002":  # an answer, nothing to do again
            return None
        raise


def transaction(work):
    """Do work in a transaction, and all of it again if the transaction was in conflict with another."""
    for attempt in range(5):
        try:
            with engine.execution_options(isolation_level="REPEATABLE READ").begin() as conn:
                return work(conn)
        except DBAPIError as e:
            if sqlstate(e) not in CONFLICTS or attempt == 4:
                raise
            print("once more after", sqlstate(e))
            time.sleep(random.uniform(0, 0.05 * 2 ** attempt))


def deliver():
    """Fill the shelf up to 8.  While this is done for the first time, somebody else buys one."""
    customers = ["grace"]

    def work(conn):
        stock = kettle_of(conn)["stock"]
        if customers:
            customers.pop()
            reserve(1)
        conn.execute(text("INSERT INTO deliveries (product, pieces) VALUES ('kettle', :pieces)"), {"pieces": 8 - int(stock)})
        conn.execute(SET_STOCK, {"key": KETTLE, "vals": {":n": 8}})

    transaction(work)
    with engine.connect() as conn:
        print(conn.execute(text("SELECT sum(pieces) FROM deliveries")).scalar_one(), "delivered, 8 in stock")


def order(number, pieces, token):
    """An order, and what it takes from the stock: both or none, and once for a token."""
    actions = [
        {"Put": {"TableName": "shop", "Item": {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": number}, "pieces": {"N": str(pieces)}},
                 "ConditionExpression": "attribute_not_exists(pk)"}},
        {"Update": {"TableName": "shop", "Key": {"pk": {"S": KETTLE["pk"]}, "sk": {"S": KETTLE["sk"]}},
                    "UpdateExpression": "SET stock = stock - :n", "ConditionExpression": "stock >= :n",
                    "ExpressionAttributeValues": {":n": {"N": str(pieces)}}}}]
    try:
        with engine.begin() as conn:
            done = conn.execute(select(func.dyn_transact(json.dumps(actions), token))).scalar_one()
        print("%s: %s" % (number, "ordered" if done else "ordered before"))
    except DBAPIError as e:
        if sqlstate(e) != "YD003":
            raise
        reasons = json.loads(e.orig.diag.message_detail)["CancellationReasons"]
        print("%s: %s" % (number, " ".join(reason["Code"] for reason in reasons)))


def follow():
    """Count open orders by the stream, until the first order is removed.  (Others go on for ever.)"""
    read = text("""SELECT sequence_number, event_name, keys AS key
                     FROM dyn_read_stream('shop', :position, max_records => 100, max_wait => '1 min')""").columns(key=DynItem)
    count = text("""INSERT INTO open_orders AS o VALUES (:customer, :change)
                      ON CONFLICT (customer) DO UPDATE SET orders = o.orders + EXCLUDED.orders""")
    removed = False
    while not removed:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            position = conn.execute(text("SELECT position FROM stream_positions WHERE consumer = 'open orders'")).scalar_one()
            records = conn.execute(read, {"position": position}).all()
        if not records:
            continue
        with engine.begin() as conn:
            # effects and position are one transaction, so each record counts once, also if two programs do this
            moved = conn.execute(text("UPDATE stream_positions SET position = :next WHERE consumer = 'open orders' AND position = :position"),
                                 {"next": records[-1].sequence_number, "position": position})
            if moved.rowcount == 0:
                continue
            for r in records:
                change = {"INSERT": 1, "REMOVE": -1}.get(r.event_name, 0)
                if change and r.key["sk"].startswith("ORDER#"):
                    conn.execute(count, {"customer": r.key["pk"][len("CUSTOMER#"):], "change": change})
        removed = any(r.event_name == "REMOVE" for r in records)
    with engine.connect() as conn:
        print("ada has", conn.execute(text("SELECT orders FROM open_orders WHERE customer = 'ada'")).scalar_one(), "open orders")


def main():
    fill()
    show()
    for page in order_pages("ada", 2):
        print("page:", " ".join(item["sk"] for item in page))
    print("2 reserved,", reserve(2), "left")
    print("there are not 4" if reserve(4) is None else "4 reserved")
    deliver()
    token = str(uuid.uuid4())
    order("ORDER#6", 1, token)
    order("ORDER#6", 1, token)  # as after an answer that did not arrive
    order("ORDER#7", 100, str(uuid.uuid4()))
    with engine.begin() as conn:
        conn.execute(statement("SELECT dyn_delete('shop', :key)", key=DynItem), {"key": {"pk": "CUSTOMER#ada", "sk": "ORDER#1"}})
    follow()


if __name__ == "__main__":
    main()
