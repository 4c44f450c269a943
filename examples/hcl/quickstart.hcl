# A week of earthquakes from a Kafka topic into Parquet files.
# "make run" starts a broker that holds them and runs this file.

pipeline "earthquakes" {
  source "kafka-source" {
    config {
      brokers = [nonsensitive(env("TWG_BROKERS", "127.0.0.1:9092"))]
      topics  = ["earthquakes"]
      group   = "twg-quickstart"
    }
  }

  sink "parquet" "lake" {
    config { dir = "./out/earthquakes" }
  }
}
