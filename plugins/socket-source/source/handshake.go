package source

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twg-io/twg/sdk"
)

// maxAnswer bounds the line that answers RESUME.
const maxAnswer = 64

// resumeLine asks the peer to go on with record next.
func resumeLine(stream string, next int64) string { return fmt.Sprintf("RESUME %s %d\n", stream, next) }

// durableLine tells the peer that all records below next are durable.
func durableLine(next int64) string { return fmt.Sprintf("DURABLE %d\n", next) }

// answer is what a peer says to RESUME.
type answer struct {
	// position is the number of the first record that it sends.
	position int64
	// acks: it wants DURABLE lines.
	acks bool
}

// parseAnswer reads a line without its newline: OK, a position, and perhaps
// ACK.
func parseAnswer(line string) (answer, error) {
	words := strings.Split(strings.TrimSuffix(line, "\r"), " ")
	if words[0] != "OK" || len(words) < 2 || len(words) > 3 || len(words) == 3 && words[2] != "ACK" {
		return answer{}, fmt.Errorf("the peer did not answer RESUME with OK, a position and perhaps ACK")
	}
	n, err := strconv.ParseUint(words[1], 10, 63)
	if err != nil || int64(n) >= sdk.MaxPosition {
		return answer{}, fmt.Errorf("the peer answered RESUME with a position that is none")
	}
	return answer{position: int64(n), acks: len(words) == 3}, nil
}
