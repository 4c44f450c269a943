"""Reads directories that the Parquet sink wrote, with pyarrow and with DuckDB,
and compares every row with what was sent. Usage: readback.py expected.json dir...
"""

import glob
import json
import os
import sys
import uuid

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

COLUMNS = ["_twg_record_id", "cluster", "topic", "incarnation", "partition", "position",
           "timestamp_ms", "key", "value", "headers"]


def hexed(b):
    return None if b is None else bytes(b).hex()


def plain(row):
    """A row of either reader in the form of the expected file."""
    rid = row["_twg_record_id"]
    return {
        "id": rid.hex if isinstance(rid, uuid.UUID) else bytes(rid).hex(),
        "cluster": row["cluster"],
        "topic": row["topic"],
        "incarnation": row["incarnation"],
        "partition": row["partition"],
        "position": row["position"],
        "timestamp_ms": row["timestamp_ms"],
        "key": hexed(row["key"]),
        "value": hexed(row["value"]),
        "headers": [{"name": hexed(h["name"]), "value": hexed(h["value"])} for h in row["headers"]],
    }


def by_dataset(directory):
    table = pa.dataset.dataset(directory, format="parquet").to_table()
    assert table.column_names == COLUMNS, table.schema
    return table.to_pylist()


def by_file(directory):
    rows = []
    for path in sorted(glob.glob(os.path.join(directory, "*.parquet"))):
        table = pa.parquet.read_table(path, page_checksum_verification=True, partitioning=None)
        assert table.schema.field("timestamp_ms").type == pa.int64(), table.schema
        assert table.schema.field("value").type == pa.binary(), table.schema
        assert table.schema.field("topic").type in (pa.string(), pa.dictionary(pa.int32(), pa.string())), table.schema
        assert table.schema.field("headers").nullable is False, table.schema
        rows += table.to_pylist()
    return rows


def by_duckdb(directory):
    con = duckdb.connect()
    rel = con.sql(f"select * from read_parquet('{directory}/*.parquet')")
    assert rel.columns == COLUMNS, rel.columns
    types = dict(zip(rel.columns, map(str, rel.types)))
    assert types["_twg_record_id"] == "UUID", types
    assert types["timestamp_ms"] == "BIGINT", types
    assert types["headers"] == 'STRUCT("name" BLOB, "value" BLOB)[]', types
    return [dict(zip(rel.columns, r)) for r in rel.fetchall()]


def duckdb_prunes(directory, expected):
    """Statistics must not hide rows."""
    con = duckdb.connect()
    for want in expected:
        n = con.execute(f"select count(*) from read_parquet('{directory}/*.parquet') "
                        "where topic = ? and partition = ? and position = ? and timestamp_ms = ?",
                        [want["topic"], want["partition"], want["position"], want["timestamp_ms"]]).fetchone()[0]
        assert n == 1, (n, want)


def order(row):
    return (row["topic"], row["partition"], row["position"])


def main():
    with open(sys.argv[1]) as f:
        expected = sorted(json.load(f), key=order)
    for directory in sys.argv[2:]:
        for read in by_dataset, by_file, by_duckdb:
            got = sorted(map(plain, read(directory)), key=order)
            assert len(got) == len(expected), f"{directory}: {read.__name__} reads {len(got)} rows, not {len(expected)}"
            for g, w in zip(got, expected):
                assert g == w, f"{directory}: {read.__name__} reads\n{g}, not\n{w}"
        duckdb_prunes(directory, expected[:50])
    print(f"{len(expected)} rows, {len(sys.argv) - 2} directories, pyarrow {pa.__version__}, duckdb {duckdb.__version__}: equal")


main()
