// Command twg-plugin-socket-source is the twg plugin that takes records from
// whoever connects to it, over TCP or a unix socket.
package main

import (
	"github.com/twg-io/twg/plugins/socket-source/source"
	"github.com/twg-io/twg/sdk/serve"
)

func main() { serve.Main(source.New(nil)) }
