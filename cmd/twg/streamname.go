package main

import (
	"fmt"

	"github.com/twg-io/twg/sdk"
)

// streamName is a stream in JSON.
type streamName struct {
	Cluster     string `json:"cluster"`
	Topic       string `json:"topic"`
	Incarnation string `json:"incarnation"`
	Partition   int32  `json:"partition"`
}

func nameOf(s sdk.Stream) streamName {
	return streamName{s.Cluster, s.Topic, s.Incarnation, s.Partition}
}

// namer shortens names of streams for people: an incarnation, which is long, is
// told only where it tells streams apart.
type namer map[streamName]int

func (n namer) add(s streamName) { n[s.short()]++ }

func (n namer) text(s streamName) string {
	out := fmt.Sprintf("%s/%d", s.Topic, s.Partition)
	if n[s.short()] > 1 {
		out += fmt.Sprintf(" (incarnation %s)", s.Incarnation)
	}
	return out
}

func (s streamName) short() streamName { return streamName{Topic: s.Topic, Partition: s.Partition} }
