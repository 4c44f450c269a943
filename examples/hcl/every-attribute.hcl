# Every attribute of the host, each with its default, and what the two plugins
# offer besides. docs/config.md explains them.

plugin_dir = "./bin"

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
