# A broker behind TLS and a password. Nothing secret stands in the file: env()
# and file() bring it in, and twg never prints what they return. A dollar sign
# in a password needs no care, here or there.

pipeline "audit" {
  # The topic keeps records for a short time only; what is gone is gone, with
  # an alarm, and the pipeline goes on.
  on_gap = "continue"

  source "kafka-source" {
    config {
      brokers = [env("TWG_BROKERS", "kafka.internal:9093")]
      topics  = ["audit"]
      group   = "twg-audit"
      start   = "latest"
      tls     = {}
      sasl = {
        mechanism = "scram-sha-512"
        user      = env("TWG_KAFKA_USER", "twg")
        password  = env("TWG_KAFKA_PASSWORD", "")
      }
    }
  }

  sink "parquet" "archive" {
    config {
      dir          = "./out/audit"
      max_file_age = "5m"
    }
  }
}
