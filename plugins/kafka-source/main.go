// Command twg-plugin-kafka-source is the twg plugin that reads topics of a
// Kafka-protocol broker.
package main

import (
	"github.com/twg-io/twg/plugins/kafka-source/source"
	"github.com/twg-io/twg/sdk/serve"
)

func main() { serve.Main(source.New(nil)) }
