# Two sockets: one whose peer can send again, and one whose peers cannot.

pipeline "sensors" {
  source "socket-source" {
    config {
      cluster = "plant-7"
      stream  = "sensors"
      listen  = "127.0.0.1:9400"
      framing = "length"

      # The peer keeps what it has sent until it is durable, and answers RESUME
      # (docs/plugins/socket-source.md). Nothing is lost.
      resume = true
    }
  }
  sink "parquet" "lake" {
    config { dir = "./out/sensors" }
  }
}

pipeline "syslog" {
  # What is on its way when a process dies cannot be had again. Without this
  # line the pipeline is refused.
  accept_loss = ["socket-source"]

  source "socket-source" {
    config {
      cluster = "plant-7"
      stream  = "syslog"
      listen  = "unix:/run/twg/syslog.sock"
    }
  }
  sink "parquet" "lake" {
    config { dir = "./out/syslog" }
  }
}
