"""dynamo_table copy, follow, compare and switch: leaving a DynamoDB endpoint without a stop.

    __main__.py   arguments
    endpoint.py   the source: a DynamoDB endpoint by boto3, or our own tables by dyn_request
    book.py       connections, and what the commands remember in tables of their own
    copying.py    copy: the table and its items
    following.py  follow: the records of a stream, in both directions
    comparing.py  compare
    switching.py  switch: the check list of a cut-over
    common.py     messages, progress, refused items

Why a copy and records give the source's table.  There are three claims: every item has all of its records applied
in their order; the copy writes only items of which no record has been applied; and each of both happens once.

1. The book of shards is written before the first page of the scan is read.  A write that the scan, which is strongly
   consistent, does not see comes after that.  So its record is in a shard that was open then, or in a descendant of one.
   Those are read from their beginning.  Older records may be among them: they do no harm, since the last record of an
   item is applied last, and has the whole item.
2. All records of an item are in one lineage of shards.  A shard is read by one thread, from its position on, and
   a child not before its parent has been read to its end.  So records of an item come in their order.
3. A page of records is applied in one transaction with the new position of its shard, and the number of the last record
   of each item in it.  The update of the position has the old position in its condition: of two programs that read the
   same page one fails, and what a crash leaves is both or neither.
4. A record is applied only if its number is larger than that of the last one of its item.  So records that a source
   repeats, in whatever page, change nothing.  Numbers are compared within the records of one item, hence within one
   lineage.  They stay when an item is deleted.
5. A page of the copy is written in one transaction with the position of its segment, without items that have a number.
   A lock keeps transactions of copies and of records apart (SHARE against ROW EXCLUSIVE on a table that has no rows), so
   there is no number that is not yet visible.  An item of the copy that is older than a record which comes later is
   overwritten by it, and one that is newer becomes older for a while, until its further records have come.
6. What would break 1 or 2 is an error and not a guess: a position that has been trimmed, a shard that is gone before it
   was read, a shard whose parent nobody has seen, another stream.
"""
