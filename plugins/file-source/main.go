// Command twg-plugin-file-source is the twg plugin that reads the records of
// files: lines of text or JSON, and CSV, compressed or not.
package main

import (
	"github.com/twg-io/twg/plugins/file-source/source"
	"github.com/twg-io/twg/sdk/serve"
)

func main() { serve.Main(source.New(nil)) }
