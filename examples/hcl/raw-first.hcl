# Orders from Kafka into a PostgreSQL table that alone decides how far Kafka's
# offsets may be committed, and from there into Parquet files and a second
# database. Either of these may be slow or down for a day: the source does not
# wait, and what they miss is rebuilt from the table. docs/recovery.md explains.
#
# TWG_ROLE=ingest and TWG_ROLE=recovery let one file serve hosts that share the
# work.

pipeline "orders" {
  role = env("TWG_ROLE", "both")

  source "kafka-source" {
    config {
      brokers = [env("TWG_BROKERS", "127.0.0.1:9092")]
      topics  = ["orders"]
      group   = "twg-orders"
    }
  }

  sink "postgres" "raw" {
    role    = "primary-raw"
    durable = true
    config {
      dsn   = env("TWG_PG_DSN", "postgres://twg@127.0.0.1:5432/twg?sslmode=disable")
      table = "orders_raw"
    }
  }

  sink "parquet" "lake" {
    role   = "secondary"
    buffer = "64MiB"
    config { dir = env("TWG_LAKE", "./out/orders-lake") }
  }

  sink "postgres" "copy" {
    role = "secondary"
    config {
      dsn   = env("TWG_PG_COPY_DSN", "postgres://twg@127.0.0.1:5433/twg?sslmode=disable")
      table = "orders"
    }
  }

  # What is read from the table at a time, how long one piece is claimed, and
  # what may be under way. These are the defaults.
  recovery {
    window_rows     = 100000
    window_duration = "5m"
    lease_ttl       = "30s"
    budget          = "16MiB"
    interval        = "5s"
  }
}
