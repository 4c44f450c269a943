// Package devkafka is a Kafka-protocol broker inside the process, with topics
// loaded from files, for trying twg out and for its tests and benchmarks.
//
// It is franz-go's fake cluster: the real wire protocol with groups and
// transactions, but one process, no replication and no promise of
// durability. It is no product broker.
package devkafka

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
)

// Options say what the broker serves. The command line that fits:
//
//	type kafkaCmd struct {
//		Listen    string   `default:"127.0.0.1:9092" help:"Address to serve; port 0 takes a free one."`
//		DataDir   string   `help:"Keep topics and groups in this directory; empty: in memory."`
//		Topic     []string `help:"name:partitions of a topic to create; may be repeated."`
//		Load      []string `help:"topic=file.ndjson to load, one record a line; may be repeated."`
//		Key       string   `help:"JSON pointer (/id) or field name of a record's key in the loaded lines."`
//		Timestamp string   `help:"JSON pointer or field name of a record's timestamp: milliseconds or RFC 3339."`
//	}
//
// with ParseTopic and ParseLoad for the lists.
type Options struct {
	// Listen is the address to serve; empty: 127.0.0.1:9092. Clients are told
	// the same address, so its host must be one that they can dial.
	Listen string
	// DataDir keeps topics, records and groups; empty: they end with the
	// process.
	DataDir string
	// ClusterID names the cluster; empty: twg-dev. It is part of every
	// record's identity.
	ClusterID string
	// Topics are created unless they exist.
	Topics []Topic
	// Load is loaded in order, each into a topic that holds nothing yet.
	Load []Load
	// Log takes the broker's own messages; nil: none.
	Log *slog.Logger
}

// Topic is a topic to create.
type Topic struct {
	Name string
	// Partitions, 0: DefaultPartitions.
	Partitions int32
}

// DefaultPartitions is how many partitions a topic has unless it is said.
const DefaultPartitions = 4

// Load is a file of records: a line is a value.
type Load struct {
	Topic string
	File  string
	// Key and Timestamp point into a line that is a JSON object, as a JSON
	// pointer ("/properties/time") or a field's name; empty: no key, the time
	// of loading. A timestamp is a number of milliseconds since 1970 or an
	// RFC 3339 text.
	Key       string
	Timestamp string
}

// ParseTopic reads "name" or "name:partitions".
func ParseTopic(s string) (Topic, error) {
	name, count, found := strings.Cut(s, ":")
	t := Topic{Name: name, Partitions: DefaultPartitions}
	if found {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 || n > 10_000 {
			return Topic{}, fmt.Errorf("topic %q: %q is not a number of partitions from 1 to 10000", s, count)
		}
		t.Partitions = int32(n)
	}
	if name == "" {
		return Topic{}, fmt.Errorf("topic %q: the name is missing; write name:partitions", s)
	}
	return t, nil
}

// ParseLoad reads "topic=file".
func ParseLoad(s string) (Load, error) {
	topic, file, found := strings.Cut(s, "=")
	if !found || topic == "" || file == "" {
		return Load{}, fmt.Errorf("load %q: write topic=file.ndjson", s)
	}
	return Load{Topic: topic, File: file}, nil
}

// address checks where to listen: what is listened on is what clients dial.
func (o *Options) address() (host string, port int, err error) {
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:9092"
	}
	host, text, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("listen on %q: it is not host:port, for example 127.0.0.1:9092", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "", 0, fmt.Errorf("listen on %q: name one address, because clients are told to dial it", listen)
	}
	return host, port, nil
}
