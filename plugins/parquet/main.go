// Command twg-plugin-parquet is the Parquet sink.
package main

import (
	"github.com/twg-io/twg/plugins/parquet/sink"
	"github.com/twg-io/twg/sdk/serve"
)

func main() { serve.Main(sink.New()) }
