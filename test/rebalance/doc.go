// Package rebalance tests the pipeline and kafka-source together while members
// come and go, against a real broker.
package rebalance
