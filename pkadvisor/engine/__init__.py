"""The embedded service, built small after the Windows Azure Storage paper (Calder et al., SOSP 2011).

It knows nothing of key design. It stores entities as the Table service does, on files or in virtual time, and loses
nothing that it acknowledged. Three layers, each knowing only the one below::

    front-end layer    tables/table_service.py    entities, ETags, group transactions, filters, continuation
                       partition/partition_map.py which server has the key: a copy of the partition map
    partition layer    partition/                 ranges of keys, servers, their manager; lsm/ keeps a range's rows
    stream layer       stream/                    blocks in extents in streams, three copies of each, append only

**A write**, as it walks through the rooms:

1. ``TableService`` checks names, sizes and properties, makes a row key of account, table, PartitionKey and RowKey whose
   bytes order as the service orders (``row_keys``), and asks for its range. ``FrontEnd`` finds the server in its copy
   of the map; a server that does not serve the range any more says so, and the map is asked for again.
2. ``PartitionServer`` answers only while it holds its lease from the ``LockService``, for the epoch of ownership that
   the request names. A request that arrives twice is carried out once. ``Capacity``, where there is one, says 503.
3. ``carry_out`` (``table_requests``) decides on the rows as they are: precondition, new properties, new ETag. Writers
   of one key wait for one another (``latches``); an entity group transaction is one decision.
4. ``RangePartition`` gives the change the next sequence number and hands it to its commit log. What waits meanwhile
   goes with the next append (group commit); a group transaction is one record.
5. ``StreamClient`` appends the block to the last extent of the log's stream. The primary extent node chooses the
   offset; the three nodes, in different fault and upgrade domains, check the sum and write it to the journal, later to
   the data device. Acknowledged means: on all three.
   If one fails, the ``StreamManager`` *seals* the extent at the shortest length that a reachable node tells. Whatever
   was acknowledged lies before it, and no node that was asked takes another append: that fences late writers. The
   append goes on in a new extent at once; a record that comes twice by that is known by its sequence number.
6. The row is now in the memory table; the client has its answer. Later the memory table becomes a *checkpoint* in the
   row-data stream (pages, index, Bloom filter), the new root goes to the metadata stream, and only then the log before
   it may go. Checkpoints are combined; extents that no stream holds are collected after a grace.

**A read** takes step 1 and 2 and then looks into the memory table, and into the pages of each checkpoint whose Bloom
filter says *maybe*; the newest version up to the sequence number of its snapshot counts. A query is answered page by
page, each at one such number, in key order, from one server at a time: at most 1,000 entities, 4 MiB, 5 s, and a page
ends where the range does, so pages may be empty and still go on. Blocks are read from any of the copies that answers
in time, and a block whose sum is wrong is never returned: another copy is, and the bad one is mended.

**When something dies.** A server without its lease serves nothing; the ``PartitionManager`` gives its ranges to others
under later epochs. To *load* a range is to seal its streams, to read the root from the metadata stream and to replay
the log. Split, merge and hand-over each have one durable step before which nothing and after which everything happened
(``split_merge``). Sealed extents with too few copies get new ones.

**How to open it.** ``open_store.open_directory(path)`` and ``open_store.open_virtual(seed, limits=…)`` give an
``EmbeddedStore``: one operation after the other, or many under way at once.

**How it is proved.** Nothing here touches clock, chance or disk but through ``worlds/world.py``. The ``Simulator`` is
such a world in virtual time, where messages are lost, nodes die and disks rot as a seed says; the ``Machine`` is the
real one. The same code runs in both. ``tests/simulate`` is the judge.

What it is not: one process, so one machine's memory and disks bound it; the lock service and the stream manager are one
durable node each where the paper has groups of them, so while one is down what needs it waits.
"""
