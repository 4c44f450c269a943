# Lines of JSON from files that grow, plain and compressed, and the records of
# CSV files, each in Parquet files of their own.
#
# No server keeps a position: reading goes on with the first line that the
# Parquet files do not hold.

pipeline "events" {
  source "file-source" {
    config {
      # A name for this machine. It is part of every record's identity.
      cluster = env("TWG_MACHINE", "web-1")
      path    = "/var/log/shop"
      pattern = "**/events*.ndjson*"
      format  = "ndjson"
      key     = "/order/id"
    }
  }
  sink "parquet" "events" {
    config { dir = "./out/events" }
  }
}

pipeline "prices" {
  source "file-source" {
    config {
      cluster = env("TWG_MACHINE", "web-1")
      path    = "./prices"
      pattern = "*.csv.gz"
      format  = "csv"
      key     = "article"
      csv_as  = "json"

      # Read what is there, once; "twg run --until-caught-up" then ends.
      follow = false
    }
  }
  sink "parquet" "prices" {
    config { dir = "./out/prices" }
  }
}
