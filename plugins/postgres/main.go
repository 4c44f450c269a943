// Command twg-plugin-postgres is the PostgreSQL sink.
package main

import (
	"github.com/twg-io/twg/plugins/postgres/sink"
	"github.com/twg-io/twg/sdk/serve"
)

func main() { serve.Main(sink.New()) }
