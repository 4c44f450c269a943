# Four partitions of a topic, without a consumer group: the sink keeps the
# position, and the brokers are left as they were found.

pipeline "orders" {
  source "kafka-source" {
    config {
      brokers    = [nonsensitive(env("TWG_BROKERS", "127.0.0.1:9092"))]
      topics     = ["orders"]
      partitions = ["0-2", "7"]
    }
  }

  sink "parquet" "lake" {
    config { dir = "./out/orders" }
  }
}
