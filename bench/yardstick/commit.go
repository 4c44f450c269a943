package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type (
	commitRequest  = kmsg.OffsetCommitRequest
	commitResponse = kmsg.OffsetCommitResponse
)

// commitError is the first thing that went wrong in a commit.
func commitError(resp *commitResponse, err error) error {
	if err != nil {
		return fmt.Errorf("commit offsets: %w", err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("commit offset of %s/%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return nil
}
