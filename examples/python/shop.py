#!/usr/bin/env python3
"""A shop on a table of items, with psycopg 3.  examples/shop.sql makes what it needs.

The environment (PGHOST, PGDATABASE, PGUSER …) says which database.
"""
import json
import random
import time
import uuid

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.rows import namedtuple_row
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb

from items import Item, from_text, to_text

KETTLE = {"pk": "PRODUCT#kettle", "sk": "PRODUCT"}

# What the server has undone because of others, so that it can be done again.
CONFLICTS = {"40001", "40P01", "YD004"}


def value(conn, query, params=()):
    """The one value that a statement returns."""
    return conn.execute(query, params).fetchone()[0]


class ItemLoader(Loader):
    def load(self, data):
        return from_text(bytes(data))


def connect():
    conn = psycopg.connect(autocommit=True)
    conn.execute("SET statement_timeout = '90 s'")
    info = TypeInfo.fetch(conn, "dyn_item")  # its OID differs from database to database

    class ItemDumper(Dumper):
        oid = info.oid

        def dump(self, obj):
            return to_text(obj).encode()

    info.register(conn)  # for arrays of items
    conn.adapters.register_loader(info.oid, ItemLoader)
    conn.adapters.register_dumper(Item, ItemDumper)
    return conn


def fill(conn):
    """An item with all digits, a set and bytes; and items of plain JSON."""
    conn.execute("SELECT dyn_put('shop', %s)", [Item(
        KETTLE, stock=5, serial=12345678901234567890123456789012345678, tags={"new", "red"}, photo=b"\1\2\3")])
    for n in range(1, 6):
        conn.execute("SELECT dyn_put('shop', %s)", [Jsonb({"pk": "CUSTOMER#ada", "sk": "ORDER#%d" % n, "product": "kettle", "pieces": 1})])


def show(conn):
    kettle = value(conn, "SELECT dyn_get('shop', %s)", [Jsonb(KETTLE)])
    print("kettle: %s in stock, tags %s, photo of %d bytes" % (kettle["stock"], " ".join(sorted(kettle["tags"])), len(kettle["photo"])))
    print("serial number", kettle["serial"])
    print("items with tags:", value(conn, "SELECT count(*) FROM shop WHERE item ? %s", ["tags"]))


def order_pages(conn, customer, size):
    """The orders of a customer, a page at a time."""
    start = None
    while True:
        items, start = conn.execute(
            """SELECT items, last_evaluated_key
                 FROM dyn_query_page('shop', 'pk = :pk AND begins_with(sk, :orders)', vals => %s, page_size => %s, start_key => %s)""",
            [Jsonb({":pk": "CUSTOMER#" + customer, ":orders": "ORDER#"}), size, start and Item(start)]).fetchone()
        if items:
            yield items
        if start is None:
            return


def reserve(conn, pieces):
    """Take pieces from the stock if there are as many: how many are left, or None."""
    try:
        return value(conn, "SELECT dyn_update('shop', %s, 'SET stock = stock - :n', 'stock >= :n', vals => %s, return_values => 'UPDATED_NEW')",
                     [Jsonb(KETTLE), Jsonb({":n": pieces})])["stock"]
    except psycopg.Error as e:
        if e.sqlstate == "YD002":  # an answer, nothing to do again
            return None
        raise


def transaction(conn, work):
    """Do work in a transaction, and all of it again if the transaction was in conflict with another."""
    for attempt in range(5):
        try:
            with conn.transaction():
                conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                return work()
        except psycopg.Error as e:
            if e.sqlstate not in CONFLICTS or attempt == 4:
                raise
            print("once more after", e.sqlstate)
            time.sleep(random.uniform(0, 0.05 * 2 ** attempt))


def deliver(conn, other):
    """Fill the shelf up to 8.  While this is done for the first time, somebody else buys one."""
    customers = [other]

    def work():
        stock = value(conn, "SELECT dyn_get('shop', %s)", [Jsonb(KETTLE)])["stock"]
        if customers:
            reserve(customers.pop(), 1)
        conn.execute("INSERT INTO deliveries (product, pieces) VALUES ('kettle', %s)", [8 - stock])
        conn.execute("SELECT dyn_update('shop', %s, 'SET stock = :all', vals => %s)", [Jsonb(KETTLE), Jsonb({":all": 8})])

    transaction(conn, work)
    print(value(conn, "SELECT sum(pieces) FROM deliveries"), "delivered, 8 in stock")


def order(conn, number, pieces, token):
    """An order, and what it takes from the stock: both or none, and once for a token."""
    actions = [
        {"Put": {"TableName": "shop", "Item": {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": number}, "pieces": {"N": str(pieces)}},
                 "ConditionExpression": "attribute_not_exists(pk)"}},
        {"Update": {"TableName": "shop", "Key": {"pk": {"S": KETTLE["pk"]}, "sk": {"S": KETTLE["sk"]}},
                    "UpdateExpression": "SET stock = stock - :n", "ConditionExpression": "stock >= :n",
                    "ExpressionAttributeValues": {":n": {"N": str(pieces)}}}}]
    try:
        done = value(conn, "SELECT dyn_transact(%s, %s)", [json.dumps(actions), token])
        print("%s: %s" % (number, "ordered" if done else "ordered before"))
    except psycopg.Error as e:
        if e.sqlstate != "YD003":
            raise
        reasons = json.loads(e.diag.message_detail)["CancellationReasons"]
        print("%s: %s" % (number, " ".join(reason["Code"] for reason in reasons)))


def follow(conn):
    """Count open orders by the stream, until the first order is removed.  (Others go on for ever.)"""
    removed = False
    while not removed:
        position = value(conn, "SELECT position FROM stream_positions WHERE consumer = 'open orders'")
        records = conn.cursor(row_factory=namedtuple_row).execute(
            "SELECT sequence_number, event_name, keys FROM dyn_read_stream('shop', %s, max_records => 100, max_wait => '1 min')",
            [position]).fetchall()
        if not records:
            continue
        with conn.transaction():
            # effects and position are one transaction, so each record counts once, also if two programs do this
            if conn.execute("UPDATE stream_positions SET position = %s WHERE consumer = 'open orders' AND position = %s",
                            [records[-1].sequence_number, position]).rowcount == 0:
                continue
            for r in records:
                change = {"INSERT": 1, "REMOVE": -1}.get(r.event_name, 0)
                if change and r.keys["sk"].startswith("ORDER#"):
                    conn.execute("""INSERT INTO open_orders AS o VALUES (%s, %s)
                                      ON CONFLICT (customer) DO UPDATE SET orders = o.orders + EXCLUDED.orders""",
                                 [r.keys["pk"].removeprefix("CUSTOMER#"), change])
        removed = any(r.event_name == "REMOVE" for r in records)
    print("ada has", value(conn, "SELECT orders FROM open_orders WHERE customer = 'ada'"), "open orders")


def main():
    with connect() as conn, connect() as other:
        fill(conn)
        show(conn)
        for page in order_pages(conn, "ada", 2):
            print("page:", " ".join(item["sk"] for item in page))
        print("2 reserved,", reserve(conn, 2), "left")
        print("there are not 4" if reserve(conn, 4) is None else "4 reserved")
        deliver(conn, other)
        token = str(uuid.uuid4())
        order(conn, "ORDER#6", 1, token)
        order(conn, "ORDER#6", 1, token)  # as after an answer that did not arrive
        order(conn, "ORDER#7", 100, str(uuid.uuid4()))
        conn.execute("SELECT dyn_delete('shop', %s)", [Jsonb({"pk": "CUSTOMER#ada", "sk": "ORDER#1"})])
        follow(conn)


if __name__ == "__main__":
    main()
