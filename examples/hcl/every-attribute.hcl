# Every attribute of the host, most with their default, and what three plugins
# offer besides. docs/config.md explains them.

plugin_dir   = "./bin"
memory_limit = "2GiB"

# Health, metrics and twg top.
admin {
  listen            = "127.0.0.1:9464"
  token             = env("TWG_ADMIN_TOKEN", "only-for-trying-it-out")
  unreachable_after = "30s"
  max_commit_age    = "2m"
}

locals {
  brokers = ["127.0.0.1:9092", "127.0.0.1:9093"]
  lake    = "./out/lake"
}

pipeline "orders" {
  role             = "both"
  granularity      = "batch"
  memory_budget    = "128MiB"
  max_record_bytes = "64MiB"
  max_ack_delay    = "10s"
  shutdown_timeout = "30s"
  on_gap           = "fail"
  on_divergence    = "fail"
  accept_loss      = []

  # Payments are few and should be committed one by one.
  topic "payments" {
    granularity = "record"
  }

  source "kafka-source" {
    config {
      brokers         = local.brokers
      topics          = ["orders", "payments"]
      group           = "twg-orders"
      start           = "earliest"
      client_id       = "twg"
      session_timeout = "45s"
      fetch_max_bytes = "4MiB"
    }
  }

  sink "parquet" "lake" {
    durable = true
    config {
      dir            = "${local.lake}/orders"
      compression    = "zstd"
      max_file_bytes = "128MiB"
      max_file_rows  = 500000
      max_file_age   = "30s"
    }
  }
}

# What only a pipeline with several sinks has, and how its budget is used.
pipeline "clicks" {
  source "kafka-source" {
    config {
      brokers = local.brokers
      topics  = ["clicks"]
      group   = "twg-clicks"
    }
  }

  sink "parquet" "raw" {
    role    = "primary-raw"
    durable = true
    config { dir = "${local.lake}/clicks" }
  }

  sink "postgres" "search" {
    role     = "secondary"
    durable  = true
    buffer   = "32MiB"
    attempts = 5
    config {
      dsn   = env("TWG_PG_DSN", "postgres://twg@127.0.0.1:5432/twg?sslmode=disable")
      table = "clicks"
    }
  }

  recovery {
    window_rows     = 100000
    window_duration = "5m"
    lease_ttl       = "30s"
    budget          = "16MiB"
    interval        = "5s"
  }

  flow {
    record_size_est_bytes    = "1KiB"
    warm_up_percent          = 25
    warm_up_acks             = 32
    warm_up_timeout          = "30s"
    memory_degraded_percent  = 80
    memory_critical_percent  = 90
    channel_degraded_percent = 70
    channel_critical_percent = 90
    recover_after            = "30s"
    recover_for              = "1m"
    stuck_warn               = "5m"
    stuck_unhealthy          = "10m"
    stuck_exit               = "20m"
    stuck_clear              = "30s"
    hang_warn                = "15s"
    hang_unhealthy           = "1m"
    hang_exit                = "5m"
  }
}
