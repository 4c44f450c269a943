package frame

import (
	"fmt"
	"strconv"
)

// Stream names one ordered sequence of records. The incarnation (Kafka's
// topic id, a file's identity) keeps a topic that was deleted and created
// again from being taken for the old one. Cluster, Topic and Incarnation are
// any bytes; Cluster and Incarnation may be empty.
type Stream struct {
	Cluster     string
	Topic       string
	Incarnation string
	Partition   int32
}

// String is for people: topic/partition, with the other parts only where
// they are set.
func (s Stream) String() string {
	t := s.Topic + "/" + strconv.Itoa(int(s.Partition))
	if s.Incarnation != "" {
		t += fmt.Sprintf(" (incarnation %s)", s.Incarnation)
	}
	return t
}
