# Orders from Kafka into a PostgreSQL table, each record once, whatever
# crashes. The DSN comes from the environment, where its password may stand.

pipeline "orders" {
  source "kafka-source" {
    config {
      brokers = [env("TWG_BROKERS", "127.0.0.1:9092")]
      topics  = ["orders"]
      group   = "twg-orders"
    }
  }

  sink "postgres" "raw" {
    durable = true
    config {
      dsn   = env("TWG_PG_DSN", "postgres://twg@127.0.0.1:5432/twg?sslmode=disable")
      table = "orders_raw"
    }
  }
}
