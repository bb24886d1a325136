"""Distributed tables for the runners of operations.

$DISTRIBUTED, where it is set, says how to connect to the node on which tables are made and distributed:
Citus' coordinator, or the only node, if it is one that only looks like Citus (test/sql/like_citus.sql).
With $INDEXES = key all global indexes are distributed by their own key, which takes Citus.  What is
asked of the tables is asked of the node that libpq's own variables name.
"""

import os

import psycopg2

NODE = os.environ.get("DISTRIBUTED")
INDEXES = os.environ.get("INDEXES", "table")


def maker(cur):
    """Where tables are made, altered and dropped: here, unless they are distributed."""
    if NODE is None:
        return cur
    connection = psycopg2.connect(NODE)
    connection.autocommit = True
    made = connection.cursor()
    made.execute("SELECT set_config('dynamo_table.distribute_new_tables', 'on', false),"
                 " set_config('dynamo_table.distribute_new_indexes', %s, false)", (INDEXES,))
    return made


def fills_indexes(cur):
    """Whether an index can be made for items that there are: shards have them, and one node without Citus has none."""
    if NODE is None:
        return True
    cur.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')")
    return cur.fetchone()[0]
