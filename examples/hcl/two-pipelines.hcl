# Two pipelines of one file run beside each other. If one must halt, the other
# stops gracefully too, and twg ends with the reason.

locals {
  brokers = [nonsensitive(env("TWG_BROKERS", "127.0.0.1:9092"))]
}

pipeline "orders" {
  memory_budget = "32MiB"

  source "kafka-source" {
    config {
      brokers = local.brokers
      topics  = ["orders"]
      group   = "twg-orders"
    }
  }

  sink "parquet" "lake" {
    config { dir = "./out/orders" }
  }
}

pipeline "clicks" {
  memory_budget = "256MiB"

  source "kafka-source" {
    config {
      brokers = local.brokers
      topics  = ["clicks"]
      group   = "twg-clicks"
    }
  }

  sink "parquet" "lake" {
    config {
      dir           = "./out/clicks"
      compression   = "snappy"
      max_file_rows = 1000000
    }
  }
}
